"""Runs a plan: connects screen, signals and engine, and prints the summary."""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcm.cli.output import Paint, columns_of, forget_output
from runtime.cli.errors import COMMAND
from runtime.cli.inspection import open_to_inspection
from runtime.cli.line.options import Format, Options, ProgressMode
from runtime.cli.line.words import without_values
from runtime.cli.missing import hints
from runtime.cli.screens.plain import PlainScreen
from runtime.cli.screens.printer import Printer, Screen
from runtime.cli.screens.rank_output import OutputChoice, RankFiles
from runtime.cli.screens.run_log import RunLog
from runtime.cli.screens.watch import EndSignals, LogLines
from runtime.cli.streams import write
from runtime.deployment import DeploymentPlan
from runtime.exit_codes import FAULTS_FOUND, NEVER_STARTED, OUTPUT_FAILED, READER_LEFT
from runtime.lifecycle.failures import THE_ASSEMBLY
from runtime.lifecycle.outcome import Outcome
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.samples import UNSAMPLED, Sampling
from runtime.processes.launcher.warm_start import WarmStart
from runtime.shown_text import shown_lines
from runtime.views.facts import MACHINE, CommandEnded, Fact, Logged, Record, RunPlanned, RunSeen
from runtime.views.plain_lines import MinuteLines, PlainLines
from runtime.views.stream import FactListener, FactListeners, cleaned
from runtime.views.summary import Summary, as_json, as_text, headline

if TYPE_CHECKING:
    from runtime.cli.screens.recording import Recording

_log = logging.getLogger(__name__)

SAMPLES = 2.0
"""How many seconds lie between two looks at a run that somebody observes."""

SNAPSHOT_TIMEOUT = 6.0
"""How many seconds ranks have to say what they are doing."""


def run_plan(
    plan: DeploymentPlan,
    options: Options,
    warm: WarmStart | None = None,
    *,
    reach: Reach = usual_launcher,
    through: Callable[[FactListener], FactListener] = lambda listener: listener,
    is_repeated: Callable[[Outcome], bool] = lambda _: False,
) -> int:
    """Run a plan to its end; return the exit code. Raises `OutputFailed`.

    It is recorded too where that is asked for. `reach` connects to clusters on other hosts. Facts
    pass `through` another listener. `is_repeated` is asked about a run in which no rank has begun;
    one that will be repeated has no summary.
    """
    run_log = RunLog(options.log, options.log_level)
    with _recorded(options, run_log) as recorders:
        failures: list[Exception] = []

        def output_failed(error: Exception) -> None:
            failures.append(error)
            ending.end()

        begun = time.monotonic()
        printers = [Printer(one, output_failed) for one in _screens(plan, options)]
        listeners = FactListeners(*printers, *recorders)

        def tell(record: Logged | CommandEnded) -> None:
            listeners.hear(Fact(time.monotonic() - begun, MACHINE, cleaned(record)))

        def say(text: str) -> None:
            tell(Logged(text))

        machine = Machine(
            plan, through(listeners), warm=warm, stdin=0, reach=reach,
            samples=_sampling(options, is_recorded=bool(recorders)),
        )  # fmt: skip
        ending = EndSignals(say, machine.interrupt, explain=lambda *_: machine.explain())
        try:
            followed = _SampledWhileFollowed(
                listeners, machine, is_sampled=bool(recorders) or _shows_tree(options)
            )
            with (
                run_log.attached(),
                LogLines(say, options.log_level).attached(),
                ending.awaited(),
                open_to_inspection(
                    partial(_seen, machine, begun), followed, partial(_added, machine)
                ),
            ):
                _log.info("process %d: %s", os.getpid(), shlex.join(without_values(sys.argv)))
                outcome = machine.run()
        finally:
            for printer in printers:
                printer.close()
            ending.over()
        if failures:
            # what is left in the buffer could not be written either
            forget_output()
        has_begun = outcome.started_after is not None or outcome.exit_code != NEVER_STARTED
        if not (has_begun or failures or ending.code) and is_repeated(outcome):
            return NEVER_STARTED
        errors = (*map(_why, failures), *outcome.errors)
        _tell_faults(plan, outcome, errors, options, is_whole=ending.code is None)
        code = _code(outcome, ending, failures)
        run_log.stays = bool(code) and not failures and _needs_log(outcome, ending)
        tell(CommandEnded(code, errors))
        _tell(listeners.account.summary(), options)
        return code


def _added(machine: Machine, order: Mapping[str, Any]) -> str:
    bindings = tuple((client, server) for client, server in order["bindings"])
    return machine.add(order["file"], order["node"], bindings=bindings)


def _tell_faults(
    plan: DeploymentPlan,
    outcome: Outcome,
    errors: Sequence[str],
    options: Options,
    *,
    is_whole: bool,
) -> None:
    """Write the errors of a run, with hints; or that a check of a `whole` run has found nothing."""
    for message in (*errors, *hints(plan, outcome.exceptions)):
        complain(message)
    if outcome.checked is None or outcome.faults or errors or options.quiet:
        return
    if is_whole:
        note(f"no fault found in {outcome.checked:,} calls")
    else:
        note("the check is not complete: the run was ended before all ranks had told")


@contextmanager
def _recorded(options: Options, run_log: RunLog) -> Iterator[list[Recording]]:
    """Yield what records a run; at the end of the block it is closed, as is the log."""
    recorders = list(_recorders(options))
    if recorders:
        from runtime.cli.description import description

        begun = Fact(0.0, MACHINE, description(options))
        for one in recorders:
            one.hear(begun)
    try:
        yield recorders
    finally:
        for one in recorders:
            if fault := one.close():
                complain(fault)
            elif one.path in (options.record, options.report, options.trace) and not options.quiet:
                note(f"wrote {one.path}")
        if kept := run_log.close():
            complain(f"the log of this run: {kept}")


def _recorders(options: Options) -> Iterator[Recording]:
    """Yield what records a run, for what is asked for; what a run does not need is not loaded."""
    if not any((options.record, options.spool, options.report, options.trace, options.web)):
        return
    from runtime.cli.screens import recording, report

    for file in filter(None, (options.record, options.spool)):
        yield recording.Recording(file, recording.FactFile(file))
    if options.report:
        yield recording.Recording(options.report, report.report_file(options.report))
    if options.trace:
        yield recording.Recording(options.trace, report.trace_file(options.trace))
    if options.web:
        page = report.LivingPage()
        yield recording.Recording(page.server.url, page)
        print(f"{COMMAND}: the run is shown at {page.server.url}", file=sys.stderr, flush=True)


class _SampledWhileFollowed:
    """Lets a run be looked at from time to time while somebody follows it."""

    def __init__(self, listeners: FactListeners, machine: Machine, *, is_sampled: bool) -> None:
        self._listeners = listeners
        self._machine = machine
        self._is_sampled = is_sampled

    def follow(self, hear: Callable[[Fact], None]) -> list[Fact]:
        past = self._listeners.follow(hear)
        self._machine.sample(SAMPLES)
        return past

    def leave(self, hear: Callable[[Fact], None]) -> int:
        left = self._listeners.leave(hear)
        if not left and not self._is_sampled:
            self._machine.sample(0.0)
        return left


def _needs_log(outcome: Outcome, ending: EndSignals) -> bool:
    """Tell whether a run has failed in a way that its messages may not explain.

    They do where its program or assembly has told how it ends, and where the run was ended because
    it could not go on or its time was over: then nothing has failed first.
    """
    cause = outcome.first_cause
    if cause is None:
        return ending.code is None and outcome.exit_code == NEVER_STARTED
    is_explained = (
        cause.death.is_stated if cause.death is not None else cause.failure.who == THE_ASSEMBLY
    )
    return ending.code is None and not is_explained


def _seen(machine: Machine, begun: float, with_stacks: bool) -> Iterator[Fact]:
    """Yield what the run shows to other terminals."""
    yield Fact(0.0, MACHINE, RunPlanned.of(machine.plan))
    state = machine.state
    seen: list[tuple[str, Record]] = [(MACHINE, RunSeen(str(state))), *machine.jobs().items()]
    if state is RunPhase.RUNNING:
        with suppress(TimeoutError):
            seen += machine.snapshot(SNAPSHOT_TIMEOUT, with_stacks=with_stacks)
    for name, record in seen:
        yield Fact(time.monotonic() - begun, name, record)


def _why(failure: Exception) -> str:
    if isinstance(failure, BrokenPipeError):
        return "nothing reads the output any more, so the run was ended"
    if isinstance(failure, OSError):
        return f"the output could not be written: {failure.strerror}"
    return str(failure)


def _screens(plan: DeploymentPlan, options: Options) -> list[Screen]:
    files = [RankFiles(Path(options.output_dir))] if options.output_dir else []
    return [_screen(plan, options), *files]


def _screen(plan: DeploymentPlan, options: Options) -> Screen:
    out, err, tags = sys.stdout.buffer, sys.stderr.buffer, options.tag_output
    # where something of ours may follow it
    ends = sys.stdout.isatty() or options.format is Format.JSON
    names, clock = plan.deployment.rank_names(), time.monotonic
    choice = OutputChoice(all_tracebacks=options.all_tracebacks, quiet=options.quiet)
    if not _shows_tree(options):
        away = {one.identifier for one in plan.deployment.clusters() if not one.is_local}
        lines = PlainLines() if options.verbose else MinuteLines(clock, away)
        news = None if options.quiet else lines
        return PlainScreen(
            out, err, news=news, tags=tags, ends_lines=ends, names=names, choice=choice
        )
    # rich is slow to load, so it is imported only for a live tree
    from rich.console import Console

    from runtime.cli.screens.live import LiveScreen

    console = Console(stderr=True, highlight=False, force_terminal=True)
    output = None if sys.stdout.isatty() else out
    return LiveScreen(
        err, console, clock,
        output=output, tags=tags, ends_output=ends, names=names, choice=choice,
    )  # fmt: skip


def _shows_tree(options: Options) -> bool:
    return not options.quiet and wants_tree(options)


def _sampling(options: Options, *, is_recorded: bool) -> Sampling:
    """Return how often a run is looked at; one that only a tree shows begins without a look."""
    if is_recorded:
        return Sampling(SAMPLES)
    return Sampling(SAMPLES, SAMPLES) if _shows_tree(options) else UNSAMPLED


def wants_tree(options: Options) -> bool:
    """Return whether the progress is shown as a live tree."""
    if options.progress is ProgressMode.AUTO and not options.verbose:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return options.progress is ProgressMode.ALWAYS


def _tell(summary: Summary, options: Options) -> None:
    if options.format is Format.JSON:
        write(as_json(summary))
    elif options.summary or options.verbose:
        shown = as_text(
            summary, Paint.on(sys.stderr), columns_of(sys.stderr), is_whole=options.verbose
        )
        print(shown, end="", file=sys.stderr)
    elif sys.stderr.isatty() and not options.quiet:
        style = "red" if summary.code else "green"
        print(Paint.on(sys.stderr)(headline(summary), "bold", style), file=sys.stderr)


def _code(outcome: Outcome, ending: EndSignals, failures: list[Exception]) -> int:
    """Return the exit code: what ended the run from outside takes precedence over its own."""
    if ending.code is not None:
        return ending.code
    if not failures:
        return FAULTS_FOUND if outcome.faults else outcome.exit_code
    return READER_LEFT if isinstance(failures[0], BrokenPipeError) else OUTPUT_FAILED


def note(text: str) -> None:
    """Write what a command has done, and nobody sees."""
    print(f"{COMMAND}: {shown_lines(text)}", file=sys.stderr)


def complain(text: str) -> None:
    """Write an error, in which words of ranks and far ends cannot steer the terminal."""
    paint = Paint.on(sys.stderr)
    head = paint(f"{COMMAND}:", "bold", "red")
    print(f"{head} {shown_lines(text)}", file=sys.stderr)
