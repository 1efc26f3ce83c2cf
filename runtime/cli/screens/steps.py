"""Shows the steps of a submission: on a terminal a small tree, which does not stay; else lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from runtime.peers.submission.steps import Steps, StepState, SubmissionStep
from runtime.shown_text import LONGEST_CELL, shown
from runtime.views.facts import Fact, RunPlanned, StateChanged
from runtime.views.picture import GLYPHS
from runtime.views.plain_lines import MINUTE
from runtime.views.stream import FactListener, nothing

if TYPE_CHECKING:
    from rich.live import Live
    from rich.text import Text

_STYLES: Mapping[str, str] = {
    StepState.PLANNED: "dim",
    StepState.RUNNING: "yellow",
    StepState.DONE: "green",
    StepState.FAILED: "bold red",
}


Hears = Callable[[SubmissionStep], None]
"""Called with each step before it begins."""


class StepsScreen:
    """Folds the states of the steps; on a terminal it shows them until the run has its own tree.

    Elsewhere each step is a line if it is to be `verbose`; if not, nothing is told in the first
    minute, and then a line a minute at most.
    """

    def __init__(self, *, is_live: bool, is_quiet: bool, is_verbose: bool = False) -> None:
        self.steps = Steps(self._show)
        self._states = {str(one): StateChanged(StepState.PLANNED) for one in SubmissionStep}
        self._is_quiet = is_quiet
        self._pause = 0.0 if is_verbose else MINUTE
        self._next = time.monotonic() + self._pause
        self._live: Live | None = None
        if is_live and not is_quiet:
            from rich.console import Console
            from rich.live import Live

            console = Console(stderr=True, highlight=False, force_terminal=True)
            self._live = Live(
                console=console, refresh_per_second=10, auto_refresh=False, transient=True
            )
            self._live.start()

    def close(self) -> None:
        """Erase the tree."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _show(self, step: str, change: StateChanged) -> None:
        detail = change.detail or self._states[step].detail
        self._states[step] = StateChanged(change.state, detail)
        if self._is_quiet:
            return
        with suppress(OSError):  # nobody may read it any more
            if self._live is not None:
                self._live.update(self._drawn(), refresh=True)
            elif (change.detail or change.state == StepState.RUNNING) and self._is_time():
                detail = f": {shown(change.detail, LONGEST_CELL)}" if change.detail else ""
                print(f"gcm-peer: {step}{detail}", file=sys.stderr, flush=True)

    def _is_time(self) -> bool:
        """Return whether a line may be told now."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + self._pause
        return True

    def _drawn(self) -> Text:
        from rich.text import Text

        drawn = Text()
        for step, change in zip(SubmissionStep, self._states.values(), strict=True):
            fork = "└─ " if step is SubmissionStep.WATCH else "├─ "
            detail, _, _ = change.detail.partition("\n")
            words = f"{step.value}{f': {shown(detail, LONGEST_CELL)}' if detail else ''}"
            drawn.append(fork)
            drawn.append(f"{GLYPHS[change.state]} {words}\n", _STYLES[change.state])
        drawn.rstrip()
        return drawn


class StepListener:
    """Adds to the facts of a run which step it is in, as a part of the machine.

    The launch ends when all front-ends are up, the handshake when ranks run.
    """

    def __init__(self, inner: FactListener, clusters: int, hears: Hears) -> None:
        self._inner = inner
        self._clusters = clusters
        self._hears = hears
        self._now = 0.0
        self._reached: set[str] = set()
        self._steps = Steps(self._tell)
        self._steps.states |= {one: StepState.DONE for one in SubmissionStep if one.number < _FIRST}

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Pass a fact on, and then the step that begins with it."""
        self._now = fact.time
        self._inner.hear(fact, taken)
        match fact.record:
            case RunPlanned():
                self._steps.enter(SubmissionStep.LAUNCH)
            case StateChanged("up", "front-end"):
                self._reached.add(fact.name)
                if len(self._reached) == self._clusters:
                    self._enter(SubmissionStep.TABLE)
            case StateChanged("running") if self._steps.current is SubmissionStep.TABLE:
                self._enter(SubmissionStep.WATCH)

    def _enter(self, step: SubmissionStep) -> None:
        self._hears(step)
        self._steps.enter(step)

    def _tell(self, step: str, change: StateChanged) -> None:
        self._inner.hear(Fact(self._now, step, change))


_FIRST = SubmissionStep.LAUNCH.number
