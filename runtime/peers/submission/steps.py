"""The steps of a submission, from the request to the run, told as facts. Pure."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, StrEnum

from runtime.views.facts import StateChanged


class SubmissionStep(Enum):
    """What is done one after the other, in the words of people."""

    REQUEST = "read the request"
    LAB = "reach the lab"
    HOSTS = "measure the way to its peers"
    BOOK = "book places"
    ASSIGN = "give ranks and keys to peers"
    MACHINE = "make sites of near peers"
    STAGE = "bring the program"
    STAGED = "have the program everywhere"
    LAUNCH = "launch, with each key checked"
    TABLE = "tell all ranks where the others are"
    WATCH = "run, and watch for failures"

    @property
    def number(self) -> int:
        """Its place in the order, from 1 on."""
        return list(SubmissionStep).index(self) + 1

    def __str__(self) -> str:
        """Return the number and the words."""
        return f"{self.number}/{len(SubmissionStep)} {self.value}"


class StepState(StrEnum):
    """How far a step is."""

    PLANNED = "planned"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


Tell = Callable[[str, StateChanged], None]
"""Takes the name of a step and its new state, the record of a fact."""


class Steps:
    """How far a submission is; each change is told.

    >>> steps = Steps()
    >>> steps.enter(SubmissionStep.LAB)
    >>> steps.enter(SubmissionStep.BOOK)
    >>> steps.fail("too few")
    >>> [str(state) for state in steps.states.values()][:5]
    ['done', 'done', 'done', 'failed', 'planned']
    """

    def __init__(self, tell: Tell = lambda *_: None) -> None:
        self.states = dict.fromkeys(SubmissionStep, StepState.PLANNED)
        self._tell = tell

    @property
    def current(self) -> SubmissionStep | None:
        """The step that is being done, None where none is."""
        running = [one for one, state in self.states.items() if state is StepState.RUNNING]
        return running[-1] if running else None

    def enter(self, step: SubmissionStep, detail: str = "") -> None:
        """Begin a step: those before it are done. One that was done may be done again."""
        for one in SubmissionStep:
            if one.number < step.number and self.states[one] is not StepState.DONE:
                self._change(one, StepState.DONE)
            elif one.number > step.number and self.states[one] is not StepState.PLANNED:
                self._change(one, StepState.PLANNED)
        self._change(step, StepState.RUNNING, detail)

    def note(self, detail: str) -> None:
        """Something has happened in the step that is being done."""
        if self.current is not None:
            self._change(self.current, StepState.RUNNING, detail)

    def fail(self, why: str) -> None:
        """The step that is being done has failed."""
        if self.current is not None:
            self._change(self.current, StepState.FAILED, why)

    def _change(self, step: SubmissionStep, state: StepState, detail: str = "") -> None:
        self.states[step] = state
        self._tell(str(step), StateChanged(str(state), detail))
