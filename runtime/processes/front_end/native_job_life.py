"""The life of the job of a cluster as its front-end sees it: its stages, and what changes them.

The launcher has a coarser life of it (`runtime.lifecycle.cluster_life`). Each incarnation of a code
is another job.
"""

from __future__ import annotations

from enum import StrEnum

from gcm.records import dataclass
from runtime.transitions import change


class NativeJobStage(StrEnum):
    """Where a job is, in order; the last one is an end."""

    OPEN = "open"
    """Its ranks may report, and are not asked for yet."""
    STARTED = "started"
    """Its native MPI starts or runs, and nobody wants its end."""
    DRAINING = "draining"
    """Its native MPI has ended by itself, and output is left that the launcher has not taken."""
    STOPPING = "stopping"
    """Its end is wanted: what is seen of ranks from now on says nothing about them."""
    DISMISSED = "dismissed"
    """All ranks have ended. Their parents wait for `mpiexec` and it for them, so both are ended."""
    OVER = "over"
    """Nothing of it is left, and the launcher knows that."""


class NativeJobEvent(StrEnum):
    """What happens to a job."""

    STARTED = "its ranks are asked for"
    OUTPUT_LEFT = "only output is left"
    STOPPED = "its end is wanted"
    ALL_ENDED = "all of its ranks have ended"
    ENDED = "all has been passed on"


_S, _E = NativeJobStage, NativeJobEvent
TRANSITIONS: dict[tuple[NativeJobStage, NativeJobEvent], NativeJobStage] = {
    (_S.OPEN, _E.STARTED): _S.STARTED,
    (_S.STARTED, _E.OUTPUT_LEFT): _S.DRAINING,
    **{(one, _E.STOPPED): _S.STOPPING for one in (_S.OPEN, _S.STARTED, _S.DRAINING)},
    **{(one, _E.ALL_ENDED): _S.DISMISSED for one in (_S.STARTED, _S.DRAINING, _S.STOPPING)},
    **{(one, _E.ENDED): _S.OVER for one in _S if one is not _S.OVER},
}
"""What each event leads to in each stage; a pair that has no row changes nothing."""


@dataclass(slots=True)
class NativeJobLife:
    """One job."""

    stage: NativeJobStage = NativeJobStage.OPEN

    @property
    def is_wanted(self) -> bool:
        """Whether it goes on, as far as anybody wants."""
        return self.stage in (NativeJobStage.OPEN, NativeJobStage.STARTED, NativeJobStage.DRAINING)

    @property
    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self.stage is NativeJobStage.OVER

    def advance(self, event: NativeJobEvent, why: str = "") -> None:
        """Let something happen to it."""
        self.stage = change(TRANSITIONS, self.stage, event, "the native MPI", why)
