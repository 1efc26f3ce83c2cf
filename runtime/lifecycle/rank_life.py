"""The life of a rank within a run: its stages, what changes them, and how it died.

A rank that was lost may be started again; a replica is a process of its own, with a life of its
own.
"""

from __future__ import annotations

from enum import StrEnum

from gcm.records import dataclass
from runtime.machine.deaths import RankDeath, Witness
from runtime.rank_name import RankName
from runtime.transitions import change


class RankStage(StrEnum):
    """Where the process of a rank is; the last four are ends."""

    PLANNED = "planned"
    HERE = "here"
    """It has found its front-end; its MPI may not have started yet."""
    READY = "ready"
    """Its MPI has started, and it waits for all others."""
    RUNNING = "running"
    """Its program runs."""
    CONDEMNED = "condemned"
    """It lives and is to end: others of its cluster cannot reach it."""
    DONE = "done"
    """Its program has ended well."""
    FAILED = "failed"
    """It has died by itself, or because it missed another rank."""
    ENDED = "ended"
    """Something else has ended it, which says nothing about the rank."""
    LOST = "lost"
    """Nobody can tell how it died, or what it has made is lost."""


class RankEvent(StrEnum):
    """What happens to a rank; `end_of` says which of these a death is."""

    FOUND = "it has found its front-end"
    PREPARED = "its MPI has started"
    RELEASED = "its program may run"
    RESTARTED = "it was started while the others run"
    CONDEMNED = "others cannot reach it"
    SUCCEEDED = "it ended well"
    FAILED = "it failed"
    TAKEN_ALONG = "something else has ended it"
    VANISHED = "it is lost"


_S, _E = RankStage, RankEvent
ENDS = frozenset({_S.DONE, _S.FAILED, _S.ENDED, _S.LOST})
_DEATHS = {
    _E.SUCCEEDED: _S.DONE,
    _E.FAILED: _S.FAILED,
    _E.TAKEN_ALONG: _S.ENDED,
    _E.VANISHED: _S.LOST,
}
TRANSITIONS: dict[tuple[RankStage, RankEvent], RankStage] = {
    (_S.PLANNED, _E.FOUND): _S.HERE,
    **{(one, _E.PREPARED): _S.READY for one in (_S.PLANNED, _S.HERE)},
    **{(one, _E.RELEASED): _S.RUNNING for one in (_S.PLANNED, _S.HERE, _S.READY)},
    **{(one, _E.RESTARTED): _S.RUNNING for one in _S},
    (_S.RUNNING, _E.CONDEMNED): _S.CONDEMNED,
    # Of the dead, too: later evidence, such as how a process ended behind its program.
    **{(one, death): end for one in _S for death, end in _DEATHS.items()},
}
"""What each event leads to in each stage."""


def end_of(death: RankDeath) -> RankEvent:
    """Return the event that a death is."""
    if death.after:
        return RankEvent.TAKEN_ALONG
    if not death.code:
        return RankEvent.SUCCEEDED
    is_lost = death.observed.by is Witness.LAUNCHER
    return RankEvent.VANISHED if is_lost else RankEvent.FAILED


@dataclass(slots=True)
class RankLife:
    """One rank: its stage, and the record of its death while it is dead."""

    rank: RankName
    name: str
    """How messages name it."""
    stage: RankStage = RankStage.PLANNED
    death: RankDeath | None = None
    """How it died; None while it lives, and where something else has ended it."""
    announced: RankDeath | None = None
    """The death that the other ranks were told of."""
    was_restarted: bool = False
    """Whether its process began while the others ran: it has not made all results."""
    was_lost: bool = False
    """Whether a process of it has ended badly, in whose place another one may be started."""

    @property
    def is_over(self) -> bool:
        """Whether its process has ended, and no other one was started since."""
        return self.stage in ENDS

    @property
    def has_ended_well(self) -> bool:
        """Whether its program has ended with code 0, and what it made is not lost."""
        return self.death is not None and self.death.code == 0

    def advance(self, event: RankEvent, why: str = "") -> None:
        """Let something happen to it."""
        self.stage = change(TRANSITIONS, self.stage, event, self.name, why)

    def restart(self) -> None:
        """Let another process have the rank, or the first one while the others run."""
        self.advance(RankEvent.RESTARTED)
        self.death = self.announced = None
        self.was_restarted = True

    def die(self, death: RankDeath, *, is_kept: bool) -> None:
        """Let it die, or record what has become known of its death since.

        Where the death `is_kept` it is part of the outcome of the run.
        """
        again = "as more is known: " if death.supersedes else ""
        self.advance(end_of(death), f"{again}{death.how}")
        self.death = death if is_kept else None
        self.was_lost |= bool(death.code)
