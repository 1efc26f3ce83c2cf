"""`gcm-deploy ps`, `stacks` and `waits`: what runs are doing, from another terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from gcm.cli.common_options import Option
from gcm.cli.output import columns_of
from runtime.cli.errors import UsageError
from runtime.cli.inspection import inspected, running_deployments, unanswered
from runtime.cli.line.options import FORMAT, Format, deploy_command
from runtime.cli.streams import write
from runtime.shown_text import shown_lines
from runtime.views.inspection import RunInspection

NOTHING_RUNS = 1
"""The exit code where there is nothing to look at."""

_AT_ONCE = 16

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

        plain = [run.as_dict() for run in runs]
        write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    else:
        write("".join(f"{line}\n" for run in runs for line in _lines(command, run)))
    if not runs:
        print("gcm-deploy: you have no runs on this machine", file=sys.stderr)
        return NOTHING_RUNS
    return 0


def _asked(command: str, processes: Sequence[int]) -> list[RunInspection]:
    """Ask runs, all at once, and return what each answers.

    One that was not named is left out if it does not answer as a run: it may have just ended, or
    another user may have taken its name. Root, who sees the runs of all, is told.
    """
    from concurrent.futures import ThreadPoolExecutor

    def ask(process: int) -> RunInspection | UsageError:
        run = RunInspection(process)
        try:
            for fact in inspected(process, stacks=command == "stacks"):
                run.take(fact)
        except UsageError as fault:
            return fault
        return run if run.is_answered else unanswered(process, "its answer is cut")

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


def _lines(command: str, run: RunInspection) -> Iterator[str]:
    if command == "ps":
        return run.ps(columns_of(sys.stdout))
    return run.waits() if command == "waits" else run.stacks()
