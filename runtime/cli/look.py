"""`gcm-deploy ps`, `stacks` and `waits`: what runs are doing, from another terminal."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress

from gcm.cli.common_options import Option
from gcm.cli.output import columns_of
from runtime.cli.errors import UsageError
from runtime.cli.inspection import (
    NOTHING_RUNS,
    NotARun,
    followed,
    inspected,
    only_run,
    running_deployments,
    unanswered,
)
from runtime.cli.line.options import FORMAT, Format, deploy_command
from runtime.cli.streams import write
from runtime.shown_text import shown_lines
from runtime.views.facts import Fact, OutputWritten, RunSeen
from runtime.views.inspection import RunInspection
from runtime.views.picture import HIGHEST, picture, plain
from runtime.views.progress_tree import ProgressTree

_AT_ONCE = 16

_EPILOG = """\
examples:
  {command}                   all your runs on this machine
  {command} 4711              the run whose gcm-deploy is process 4711
  {command} --format json     for programs"""

_PROCESSES = Option("processes", metavar="PID", type=int, nargs="*",
                    help="process numbers of gcm-deploy; by default all")  # fmt: skip
_looking = deploy_command(_PROCESSES, FORMAT, epilog=_EPILOG)


@deploy_command(
    Option("process", metavar="PID", type=int, nargs="?",
           help="the process number of gcm-deploy; by default that of your only run"),
    Option("--once", action="store_true", help="show the run once; so without a terminal"),
    epilog="""\
examples:
  gcm-deploy top                  your only run on this machine, until it ends or Ctrl-C
  gcm-deploy top 4711             the run whose gcm-deploy is process 4711
  gcm-deploy top --once | cat     once""",
)  # fmt: skip
def top(found: argparse.Namespace) -> int:
    """Show a run that goes on as a tree, which is erased at the end; return the exit code.

    Raises:
        UsageError: the process is not a run, or there are several.
    """
    process = found.process or only_run("top")
    if process is None:
        return NOTHING_RUNS
    facts = (one for one in followed(process) if not isinstance(one.record, OutputWritten))
    if found.once or not sys.stdout.isatty():
        _show_once(facts)
        return 0
    from rich.console import Console

    from runtime.cli.screens.live import LiveScreen
    from runtime.cli.screens.printer import Printer

    console = Console(highlight=False)
    failures: list[Exception] = []
    begun = time.monotonic()

    def seconds() -> float:
        return time.monotonic() - begun

    printer = Printer(LiveScreen(sys.stdout.buffer, console, seconds), failures.append)
    try:
        with suppress(KeyboardInterrupt):
            for fact in facts:
                begun = min(begun, time.monotonic() - fact.time)  # the run began before
                printer.hear(fact)
    finally:
        printer.close()
    return 0


def _show_once(facts: Iterator[Fact]) -> None:
    """Show the run as it is at the end of the second look; `RunSeen` begins each.

    At the first one a rank that loads its MPI just now may not have told of its calls.
    """
    tree, last, looks = ProgressTree(), 0.0, 0
    for fact in facts:
        looks += isinstance(fact.record, RunSeen)
        if looks > 2:
            break
        tree.take(fact)
        last = fact.time
    lines = picture(tree, last, width=columns_of(sys.stdout) or 100, height=HIGHEST)
    write("".join(f"{plain(line)}\n" for line in lines))


@_looking
def ps(found: argparse.Namespace) -> int:
    """Show what each rank is doing."""
    return _look(found, lambda run: run.ps(columns_of(sys.stdout)))


@_looking
def waits(found: argparse.Namespace) -> int:
    """Show who waits for whom."""
    return _look(found, RunInspection.waits)


@_looking
def stacks(found: argparse.Namespace) -> int:
    """Show the stacks of ranks."""
    return _look(found, RunInspection.stacks, with_stacks=True)


def _look(
    found: argparse.Namespace,
    show: Callable[[RunInspection], Iterator[str]],
    *,
    with_stacks: bool = False,
) -> int:
    """Show what runs are doing; return the exit code.

    Raises:
        UsageError: a given process is not a run.
    """
    runs = _asked(found.processes, with_stacks=with_stacks)
    if found.format == Format.JSON:
        import json

        plain = [run.as_dict() for run in runs]
        write(json.dumps(plain, indent=2, ensure_ascii=False) + "\n")
    else:
        write("".join(f"{line}\n" for run in runs for line in show(run)))
    if not runs:
        print("gcm-deploy: you have no runs on this machine", file=sys.stderr)
        return NOTHING_RUNS
    return 0


def _asked(processes: Sequence[int], *, with_stacks: bool) -> list[RunInspection]:
    """Ask runs, all at once, and return what each answers.

    One that was not named is left out if it does not answer as a run: it may have just ended, or
    another user may have taken its name. Root, who sees the runs of all, is told of what answers
    something else.
    """
    from concurrent.futures import ThreadPoolExecutor

    def ask(process: int) -> RunInspection | UsageError:
        run = RunInspection(process)
        try:
            for fact in inspected(process, stacks=with_stacks):
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
            elif os.getuid() == 0 and not isinstance(one, NotARun):
                print(f"gcm-deploy: {shown_lines(str(one))}", file=sys.stderr)
    return found
