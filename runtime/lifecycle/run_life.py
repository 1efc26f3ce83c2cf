"""The life of a run: its stages, and what changes them.

Between the start of the application and its end a run may settle, because something has failed and
the others get a while to end; its time may be over; somebody may have pressed Ctrl-C; or two of
these, one after the other. Its end has degrees: in order, at once, or killed.
"""

from __future__ import annotations

from enum import StrEnum

from gcm.records import dataclass
from runtime.transitions import change


class RunPhase(StrEnum):
    """The life of a run as others see it, in order; DONE and FAILED are final."""

    PLANNED = "planned"
    STARTING = "starting"
    """Front-ends and ranks are starting."""
    HANDSHAKING = "handshaking"
    """The ranks of all clusters were started, and are waited for."""
    RUNNING = "running"
    """The application runs."""
    ENDING = "ending"
    """What is left is asked to end, then results come home."""
    DONE = "done"
    FAILED = "failed"


class RunStage(StrEnum):
    """The life of a run in all its stages."""

    PLANNED = "planned"
    STARTING = "starting"
    HANDSHAKING = "handshaking"
    RUNNING = "running"
    SETTLING = "settling"
    """Something has failed: the others get a while to end by themselves."""
    OVERDUE = "overdue"
    """Its time is over: ranks say what they are doing, then the run is ended."""
    OVERDUE_SETTLING = "overdue, settling"
    """Its time was over, and then something has failed."""
    INTERRUPTED = "interrupted"
    """Somebody has pressed Ctrl-C: ranks say what they wait for, then the run is ended."""
    ENDING = "ending"
    """Everything ends in order, and whoever reads output sets the pace."""
    HURRYING = "hurrying"
    """Everything ends in order, and nobody waits for readers: somebody wants the end."""
    KILLED = "killed"
    """Everything was ended at once."""
    DONE = "done"
    FAILED = "failed"


class RunEvent(StrEnum):
    """What changes the stage of a run."""

    BEGUN = "it begins"
    RANKS_BEGUN = "the ranks of all clusters are started"
    RELEASED = "all are ready"
    FAILURE = "something has failed"
    SPARED = "what has been lost is needed again"
    TIME_OVER = "its time is over"
    CTRL_C = "somebody has pressed Ctrl-C"
    STOPPED = "it is ended"
    HALTED = "its end is wanted now"
    KILLED = "what is left is killed"
    ENDED_WELL = "all has ended well"
    ENDED_BADLY = "all has ended"


_S, _E = RunStage, RunEvent
_STARTING = (_S.STARTING, _S.HANDSHAKING)
RUNNING = frozenset({_S.RUNNING, _S.SETTLING, _S.OVERDUE, _S.OVERDUE_SETTLING, _S.INTERRUPTED})
ENDING = frozenset({_S.ENDING, _S.HURRYING, _S.KILLED})
TRANSITIONS: dict[tuple[RunStage, RunEvent], RunStage] = {
    (_S.PLANNED, _E.BEGUN): _S.STARTING,
    (_S.STARTING, _E.RANKS_BEGUN): _S.HANDSHAKING,
    **{(one, _E.RELEASED): _S.RUNNING for one in _STARTING},
    (_S.RUNNING, _E.FAILURE): _S.SETTLING,
    (_S.SETTLING, _E.SPARED): _S.RUNNING,
    (_S.RUNNING, _E.TIME_OVER): _S.OVERDUE,
    (_S.OVERDUE, _E.FAILURE): _S.OVERDUE_SETTLING,
    (_S.OVERDUE_SETTLING, _E.SPARED): _S.OVERDUE,
    (_S.RUNNING, _E.CTRL_C): _S.INTERRUPTED,
    **{(one, _E.STOPPED): _S.ENDING for one in (*_STARTING, *RUNNING)},
    (_S.INTERRUPTED, _E.STOPPED): _S.HURRYING,
    **{(one, _E.HALTED): _S.HURRYING for one in (*_STARTING, *RUNNING, _S.ENDING)},
    **{(one, _E.KILLED): _S.KILLED for one in (_S.ENDING, _S.HURRYING)},
    **{(one, _E.ENDED_WELL): _S.DONE for one in ENDING},
    **{(one, _E.ENDED_BADLY): _S.FAILED for one in (_S.PLANNED, *ENDING)},
}
"""What each event leads to in each stage; a pair that has no row changes nothing."""


@dataclass(slots=True)
class RunLife:
    """One run."""

    stage: RunStage = RunStage.PLANNED

    @property
    def phase(self) -> RunPhase:
        """The stage as others see it."""
        if self.stage in RUNNING:
            return RunPhase.RUNNING
        return RunPhase.ENDING if self.stage in ENDING else RunPhase(self.stage)

    @property
    def is_settling(self) -> bool:
        """Whether something has failed, and the others have a while."""
        return self.stage in (RunStage.SETTLING, RunStage.OVERDUE_SETTLING)

    def advance(self, event: RunEvent, why: str = "") -> bool:
        """Let something happen to it; return whether that changes its stage."""
        before = self.stage
        self.stage = change(TRANSITIONS, before, event, "the run", why)
        return self.stage is not before
