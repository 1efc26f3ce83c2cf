"""`gcm-deploy list`, `attach`, `logs` and `stop`: what a user does with runs that go on."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from typing import BinaryIO

from gcm.cli.common_options import Option
from gcm.cli.output import Paint, columns_of
from runtime.cli.detached import KEPT_DAYS, LOOK, DetachedRun, detached_runs
from runtime.cli.errors import UsageError
from runtime.cli.inspection import running_deployments
from runtime.cli.line.options import FORMAT, Format, deploy_command
from runtime.cli.moving import MovedRun, moved_runs
from runtime.cli.run import complain
from runtime.cli.screens.plain import PlainScreen
from runtime.cli.screens.rank_output import OutputChoice
from runtime.cli.streams import write
from runtime.exit_codes import INTERRUPTED, LOST, NEVER_STARTED
from runtime.launchers.errors import LaunchError
from runtime.shown_text import shown_table
from runtime.views.account import RunAccount
from runtime.views.fact_lines import UnreadableFacts, read_facts
from runtime.views.facts import CommandEnded, Fact, RunPlanned, RunStarted, StateChanged
from runtime.views.plain_lines import MinuteLines
from runtime.views.summary import as_json, as_text

STOP_TIMEOUT = 20.0
"""Seconds in which a run has to end in order; then it is ended at once."""

_RUN = Option("run", nargs="?", default="", metavar="RUN",
              help="its name or the beginning of it; may be left out where there is only "
              "one")  # fmt: skip
_TAGS = Option("--tag-output", action="store_true",
               help="begin each line of the application with the number of its rank")  # fmt: skip


@deploy_command(
    FORMAT,
    epilog=f"""\
A run that has ended is listed until somebody has attached to it, {KEPT_DAYS} days at most.
gcm-deploy ps shows the runs of other terminals.""",
)  # fmt: skip
def list_(found: argparse.Namespace) -> int:
    """List detached runs; return the exit code."""
    runs = sorted(_runs(), key=lambda run: run.started)
    rows = [
        (run.name, _state(run), datetime.fromtimestamp(run.started).isoformat(" ", "seconds"), run)
        for run in runs
    ]
    if found.format == Format.JSON:
        import json

        described = [
            {"name": name, "state": state, "started": run.started,
             "process": None if isinstance(run, MovedRun) else run.process, "folder": run.work}
            for name, state, _, run in rows
        ]  # fmt: skip
        write(json.dumps(described, indent=2) + "\n")
    elif rows:
        shown = tuple((name, state, started, run.work) for name, state, started, run in rows)
        heading = ("run", "state", "started", "in")
        write(shown_table(heading, shown, numbers=frozenset(), width=columns_of(sys.stdout)))
    else:
        print("gcm-deploy: you have no detached runs on this machine", file=sys.stderr)
    return 0


@deploy_command(
    _RUN, _TAGS,
    Option("--summary", action="store_true", help="at the end show what ran where, and how long"),
    FORMAT,
    more="Ctrl-C leaves the run as it is. The exit code is that of the run; with that, the run is "
    "no more listed, and gcm-deploy logs shows its output again.",
    epilog="""\
examples:
  gcm-deploy --detach heat.xml       start a run that goes on without this terminal
  gcm-deploy attach                  its output, and its exit code""",
)  # fmt: skip
def attach(found: argparse.Namespace) -> int:
    """Follow a run to its end and return its exit code; with Ctrl-C the run goes on."""
    run = run_named(found.run)
    try:
        with run.following() as file:
            choice = OutputChoice(all_tracebacks=False)  # the end has that of the first cause
            account = _shown(file, run.name, tags=found.tag_output, choice=choice)
        came = run.fetch_results() if isinstance(run, MovedRun) else ""
    except KeyboardInterrupt:
        complain(f"{run.name} goes on; gcm-deploy attach {run.name} comes back to it")
        return INTERRUPTED
    except LaunchError as fault:
        complain(str(fault))
        return NEVER_STARTED
    except UnreadableFacts as fault:
        complain(str(fault))
        return LOST
    if came:
        complain(f"what its ranks wrote is in {came}")
    summary = account.summary()
    for message in summary.errors:
        complain(message)
    if not account.has_ended or summary.code is None:
        complain(
            f"{run.name} has ended without a word: it was killed, or its machine was. "
            f"{run.log} may say more"
        )
        return LOST
    if found.format == Format.JSON:
        write(as_json(summary))
    elif found.summary:
        shown = as_text(summary, Paint.on(sys.stderr), columns_of(sys.stderr), is_whole=False)
        print(shown, end="", file=sys.stderr)
    if isinstance(run, MovedRun):
        run.remove()  # its output and its results are not ours to keep there
    else:
        run.settle()
    return summary.code


def run_named(name: str, *, or_last: bool = False) -> DetachedRun | MovedRun:
    """Return the run of a name, or of the beginning of one; without a name, the only one.

    A run whose end was seen has to be named; `or_last` takes the last of them where no other is.

    Raises:
        UsageError: there is none, or more than one.
    """
    found = [run for run in _runs() if run.name.startswith(name)]
    if not found:
        seen = [run for run in detached_runs(with_seen=True) if run.name.startswith(name)]
        found = [*(seen if name else seen[-1:] if or_last else [])]
    exact = [run for run in found if run.name == name]
    if len(exact or found) == 1:
        return (exact or found)[0]
    if not found:
        what = f"no detached run is called '{name}'" if name else "you have no detached runs here"
        others = f"; of other terminals: {_pids()}, see gcm-deploy ps" if _pids() else ""
        raise UsageError(what, cure=f"gcm-deploy list shows them; --detach starts one{others}")
    names = ", ".join(run.name for run in found)
    raise UsageError(f"more than one run is meant: {names}", cure="Give the whole name of one")


def _runs() -> Iterator[DetachedRun | MovedRun]:
    yield from detached_runs()
    yield from moved_runs()


@deploy_command(
    _RUN, _TAGS,
    Option("-f", "--follow", action="store_true",
           help="go on with what it prints until it has ended"),
)  # fmt: skip
def logs(found: argparse.Namespace) -> int:
    """Show what a run has printed; return the exit code."""
    run = run_named(found.run, or_last=True)
    if isinstance(run, MovedRun) and not found.follow:
        return run.call("logs", run.name, *(["--tag-output"] if found.tag_output else []))
    try:
        with (
            run.following()
            if found.follow or isinstance(run, MovedRun)
            else run.facts.open("rb") as file
        ):
            account = _shown(file, run.name, tags=found.tag_output)
    except LaunchError as fault:
        complain(str(fault))
        return NEVER_STARTED
    except KeyboardInterrupt:
        return INTERRUPTED
    except UnreadableFacts as fault:
        complain(str(fault))
        return LOST
    if not account.is_planned:
        complain(f"{run.name} has printed nothing until now: {_state(run)}")
    return 0


@deploy_command(
    Option("run", nargs="?", default="", metavar="RUN|PID",
           help="a detached run, which may be left out where there is only one; or the process "
           "of any run of yours, as gcm-deploy ps shows it"),
)  # fmt: skip
def stop(found: argparse.Namespace) -> int:
    """End a run and return once it has gone; return the exit code."""
    if found.run.isdecimal() and found.run.isascii():
        return _stop_process(int(found.run))
    run = run_named(found.run)
    if isinstance(run, MovedRun):
        return run.call("stop", run.name)
    if not _ends(run.interrupt, run.is_alive):
        complain(f"{run.name} does not end; process {run.process} is still there")
        return LOST
    write(f"{run.name} has ended; gcm-deploy logs {run.name} shows its output\n")
    return 0


def _stop_process(process: int) -> int:
    """End the run of a process, which shows its end in its own terminal."""
    try:
        held = os.pidfd_open(process)  # before it is known to be a run, so it stays this process
    except (OSError, OverflowError, AttributeError):  # it has gone, or this system has no such call
        held = -1
    if held == -1 or process not in running_deployments():
        others = f"these are processes {_pids()}" if _pids() else "there is none on this machine"
        if process in running_deployments():
            raise UsageError(f"process {process} cannot be held here", cure=f"kill -TERM {process}")
        raise UsageError(f"process {process} is no run of yours", cure=f"Of your runs {others}")
    try:
        if not _ends(
            lambda: signal.pidfd_send_signal(held, signal.SIGTERM),
            lambda: not select.select([held], [], [], 0)[0],
        ):
            complain(f"process {process} does not end")
            return LOST
    finally:
        os.close(held)
    write(f"the run of process {process} has ended\n")
    return 0


def _ends(interrupt: Callable[[], None], is_alive: Callable[[], bool]) -> bool:
    """End something in order, at once if that takes too long; return whether it has ended."""
    for _ in range(2):
        with suppress(ProcessLookupError):
            interrupt()
        until = time.monotonic() + STOP_TIMEOUT
        while is_alive() and time.monotonic() < until:
            time.sleep(LOOK)
    return not is_alive()


def _pids() -> str:
    """Return the processes of this user's runs."""
    return ", ".join(map(str, running_deployments()))


def _shown(
    file: BinaryIO, name: str, *, tags: bool, choice: OutputChoice | None = None
) -> RunAccount:
    """Print the output of a run, until it has ended or there is no more; return what is known."""
    account = RunAccount()
    with ExitStack() as stack:
        screen = None
        for fact in read_facts(file, name, may_be_empty=True):
            account.take(fact)
            if isinstance(fact.record, RunPlanned):
                at_once = MinuteLines(lambda: 0.0)  # no minute passes
                made = PlainScreen(
                    sys.stdout.buffer, sys.stderr.buffer,
                    news=at_once, tags=tags, names=fact.record.names(), choice=choice,
                )  # fmt: skip
                screen = stack.enter_context(closing(made))
            if screen is not None:
                screen.show([fact])
            if isinstance(fact.record, CommandEnded):
                break
    return account


def _state(run: DetachedRun | MovedRun) -> str:
    if isinstance(run, MovedRun):
        return f"at {run.host}"
    try:
        with run.facts.open("rb") as file:
            facts = read_facts(file, str(run.facts), may_be_empty=True)
            return _state_of_living(facts) if run.is_alive() else _end_in(facts)
    except FileNotFoundError:  # somebody has attached to it just now
        return "ended"
    except UnreadableFacts:
        return "ended, its record is damaged"


def _state_of_living(facts: Iterable[Fact]) -> str:
    """Return in words how far a run has come; all that follows its start is not read."""
    names, queued = dict[str, str](), dict[str, str]()
    for fact in facts:
        match fact.record:
            case RunStarted():
                return "running"
            case RunPlanned() as planned:
                names = {name: one.known.path for name, one in planned.clusters().items()}
            case StateChanged("queued", words) if fact.name in names:
                queued[fact.name] = words
            case StateChanged():
                queued.pop(fact.name, None)
    if not queued:
        return "starting"
    if len(queued) == 1:
        return f"queued: {next(iter(queued.values()))}"
    return "queued: " + "; ".join(f"{names[one]}: {words}" for one, words in queued.items())


def _end_in(facts: Iterable[Fact]) -> str:
    """Return in words how a run has ended."""
    account = RunAccount()
    for fact in facts:
        account.take(fact)
    code = account.summary().code
    return "ended without a word" if code is None else f"ended, exit code {code}"
