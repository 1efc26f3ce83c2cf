"""What goes between the processes in the world of a run: calls of contracts, and ends."""

from __future__ import annotations

from typing import Any

from gcm.records import dataclass
from runtime.testing.world.engine import Effect, Event


@dataclass(frozen=True, slots=True)
class ContractCalled(Event):
    """An operation of a contract is called; `by` is who calls, `to` the part that is meant."""

    by: str
    to: str
    interface: str
    operation: str
    args: tuple[Any, ...]

    def __str__(self) -> str:
        """Return what a tape has of it: of output its size."""
        words = f"{self.by} calls {self.to} {self.interface}.{self.operation}"
        if self.operation == "lines":
            return f"{words} {[(rank, len(block)) for rank, _, block in self.args[1]]}"
        return f"{words} {self.args}"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class RankCalled(Event):
    """A process of a rank calls its front-end; nothing as `operation` means that it is there."""

    rank: str
    incarnation: int
    interface: str = ""
    operation: str = ""
    args: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class RankHungUp(Event):
    """The connection of a process of a rank has ended, or its host does not answer any more."""

    rank: str
    incarnation: int
    is_silence: bool = False


@dataclass(frozen=True, slots=True)
class RankGone(Event):
    """The parent of a process of a rank has seen its end."""

    rank: str
    incarnation: int
    status: int
    at: float
    """By the clock of the front-end's host, or `IN_TIME` where it was seen on another one."""


@dataclass(frozen=True, slots=True)
class RankVanished(Event):
    """All processes of the job are gone, or those of one host, which does not answer any more."""

    host: str = ""


@dataclass(frozen=True, slots=True)
class FrontEndGone(Event):
    """The connection of the launcher to the front-end in a job of a cluster has ended."""

    cluster: str
    words: str
    job: int = 1


@dataclass(frozen=True, slots=True)
class PlacePrepared(Event):
    """A queue has something to say of a cluster: of a grant also how many seconds it is for."""

    cluster: str
    what: str
    left: float | None = None


@dataclass(frozen=True, slots=True)
class RankMayEnd(Event):
    """A rank is told to end, or others have to tell it something: a call of its contracts."""

    interface: str
    operation: str
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class DoubtFelt(Event):
    """A rank cannot reach another one, or can again."""

    rank: str
    ends: bool = False


@dataclass(frozen=True, slots=True)
class LossSeen(Event):
    """A rank sees by itself that another one is gone, before anybody tells it."""

    rank: str


@dataclass(frozen=True, slots=True)
class CtrlCPressed(Event):
    """The user presses it."""


@dataclass(frozen=True, slots=True)
class SpawnRank(Effect):
    """A process of a rank is started on a host; "" is that of the front-end."""

    rank: str
    incarnation: int
    host: str


@dataclass(frozen=True, slots=True)
class KillRanks(Effect):
    """Processes of ranks are killed; `pid` says which one, 0 all of the cluster."""

    cluster: str
    pid: int = 0


@dataclass(frozen=True, slots=True)
class OpenFrontEnd(Effect):
    """The front-end of a cluster is wanted; `job` counts those in which it was."""

    cluster: str
    job: int = 1


@dataclass(frozen=True, slots=True)
class KillFrontEnd(Effect):
    """A front-end is killed with all below it, unless the one of a later job is there."""

    cluster: str
    job: int = 1


@dataclass(frozen=True, slots=True)
class ProcessEnded(Effect):
    """A process ends by itself; that of a rank with an exit code, or a signal."""

    name: str
    status: int = 0
