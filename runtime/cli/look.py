"""`gcm-deploy ps`, `stacks` and `waits`: what runs are doing, from another terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from gcm.cli.common_options import Option
from gcm.cli.output import columns_of, counted
from runtime.cli.errors import UsageError
from runtime.cli.inspection import inspected, running_deployments, unanswered
from runtime.cli.line.options import FORMAT, Format, deploy_command
from runtime.cli.streams import write
from runtime.shown_text import shown, shown_lines, shown_table

NOTHING_RUNS = 1
"""The exit code where there is nothing to look at."""

_AT_ONCE = 16
_LONGEST_LINE = 400

_EPILOG = """\
examples:
  gcm-deploy {command}                   all your runs on this machine
  gcm-deploy {command} 4711              the run whose gcm-deploy is process 4711
  gcm-deploy {command} --format json     for programs"""

_PROCESSES = Option(
    "processes", metavar="PID", type=int, nargs="*",
    help="process numbers of gcm-deploy; by default all",
)  # fmt: skip
LOOKS = {
    name: deploy_command(
        f"gcm-deploy {name}", text, _PROCESSES, FORMAT, epilog=_EPILOG.format(command=name)
    )
    for name, text in (
        ("ps", "Show your runs on this machine, and what each rank is doing."),
        ("waits", "Show which ranks wait for which others, and which can never continue."),
        ("stacks", "Show the Python stacks of all ranks."),
    )
}
"""The commands that look at runs."""


def look(command: str, words: Sequence[str]) -> int:
    """Show what runs are doing; return the exit code.

    Raises:
        UsageError: a given process is not a run.
    """
    found = LOOKS[command].parser().parse_args(words)
    runs = _asked(command, found.processes)
    if found.format == Format.JSON:
        import json

        write(json.dumps([run for run, _ in runs], indent=2, ensure_ascii=False) + "\n")
    else:
        write("".join(f"{line}\n" for _, lines in runs for line in lines))
    if not runs:
        print("gcm-deploy: you have no runs on this machine", file=sys.stderr)
        return NOTHING_RUNS
    return 0


def _asked(command: str, processes: Sequence[int]) -> list[tuple[dict[str, Any], list[str]]]:
    """Ask runs, all at once, and return what each answers, with its lines.

    One that was not named is left out if it does not answer as a run: it may have just ended, or
    another user may have taken its name. Root, who sees the runs of all, is told.
    """
    from concurrent.futures import ThreadPoolExecutor

    def ask(process: int) -> tuple[dict[str, Any], list[str]] | UsageError:
        try:
            run = _cleaned(inspected(process, stacks=command == "stacks"))
            return run, list(_LINES[command](run))
        except UsageError as fault:
            return fault
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            return unanswered(process, f"{type(fault).__name__}: {fault}")

    found = []
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        for one in pool.map(ask, processes or running_deployments()):
            if not isinstance(one, UsageError):
                found.append(one)
            elif processes:
                raise one
            elif os.getuid() == 0:
                print(f"gcm-deploy: {shown_lines(str(one))}", file=sys.stderr)
    return found


def _cleaned(value: Any) -> Any:
    """Return an answer with all its texts as they may be shown: anybody can pretend to be a run."""
    if isinstance(value, str):
        lines = value.split("\n")
        return "\n".join(shown(line, _LONGEST_LINE) for line in lines)
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    if isinstance(value, dict):
        return {shown(str(name)): _cleaned(one) for name, one in value.items()}
    return value


def _heading(run: dict[str, Any]) -> str:
    many = counted(len(run["ranks"]), "rank")
    return f"{run['deployment']} (process {run['process']}): {run['state']}, {many}"


def _ps(run: dict[str, Any]) -> Iterator[str]:
    yield _heading(run)
    rows = [
        (one["name"], one["host"], str(one["process"] or ""), *_process(one), one["doing"])
        for one in run["ranks"]
    ]
    filled = [at for at in range(5) if any(row[at] for row in rows)]
    cells = [[row[at] for at in filled] for row in rows]
    width = max(0, columns_of(sys.stdout) - 2)
    for line in shown_table([""] * len(filled), cells, width=width).splitlines():
        yield f"  {line}"
    comms: dict[tuple[str, str, str], list[str]] = {}
    for one in run["ranks"]:
        for comm in one["communicators"]:
            known = comm["name"] or "a communicator", comm["modes"], comm["state"]
            comms.setdefault(known, []).append(one["name"])
    for (name, modes, state), ranks in comms.items():
        yield f"  {name} ({modes}): {state} at {', '.join(ranks)}"


def _process(rank: dict[str, Any]) -> tuple[str]:
    """Return the state of the process of a rank where losses are survived, and which one it is."""
    state, number = rank["process_state"], rank["incarnation"]
    return (f"{state} (process {number} in its place)" if number > 1 else state or "",)


def _waits(run: dict[str, Any]) -> Iterator[str]:
    yield _heading(run)
    for rank in run["ranks"]:
        for call in rank["calls"]:
            yield f"  {rank['name']} has waited for {call['seconds']:.0f} s in {call['text']}"
    if run["findings"]:
        heading = ""
        for one in run["findings"]:
            if one["heading"] != heading:
                heading = one["heading"]
                yield heading
            yield f"  {one['text']}"
    elif not any(rank["calls"] for rank in run["ranks"]):
        yield "  no rank waits"


def _stacks(run: dict[str, Any]) -> Iterator[str]:
    yield _heading(run)
    stacks: dict[tuple[str, str], list[str]] = {}
    for rank in run["ranks"]:
        for one in rank["stacks"]:
            stacks.setdefault((one["thread"], one["stack"]), []).append(rank["name"])
        if not rank["stacks"]:
            yield f"  {rank['name']}: {rank['doing']}"
    for (thread, stack), ranks in stacks.items():
        yield f"  {thread} of {', '.join(ranks)}:"
        yield from (f"  {line}" for line in stack.rstrip().splitlines())


_LINES = {"ps": _ps, "waits": _waits, "stacks": _stacks}
