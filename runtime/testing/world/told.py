"""What goes between the launcher, the front-ends and the ranks of a simulated world."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.lifecycle import events as run
from runtime.machine.deaths import Observation, RankDeath
from runtime.testing.world.engine import Effect, Event

LAUNCHER = "launcher"


def front_end_of(cluster: str) -> str:
    """Return the name of the front-end of a cluster.

    >>> front_end_of("0:1")
    'fe 0:1'
    """
    return f"fe {cluster}"


@dataclass(frozen=True, slots=True)
class RunTold(Event):
    """Something has happened to the run."""

    what: run.Event


@dataclass(frozen=True, slots=True)
class SuspicionTold(Event):
    """A rank cannot reach another one, or can again: then there is no reason."""

    by: str
    rank: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class EndAsked(Event):
    """A rank that ends asks to be told once another one has ended."""

    by: str
    rank: str


@dataclass(frozen=True, slots=True)
class StillnessTold(Event):
    """A rank stands still, or goes on."""

    rank: str
    goes_on: bool


@dataclass(frozen=True, slots=True)
class Ordered(Event):
    """The launcher wants something of a front-end: `start`, `go`, `stop`, or `end` a rank."""

    what: str
    rank: str = ""


@dataclass(frozen=True, slots=True)
class RankSaid(Event):
    """What a rank tells of itself: that it is `here`, `ready`, that it has `left`, or its end."""

    rank: str
    what: str
    end: Observation | None = None


@dataclass(frozen=True, slots=True)
class RankExited(Event):
    """The parent of a rank has seen its end."""

    rank: str
    at: float
    code: int
    signal: int = 0


@dataclass(frozen=True, slots=True)
class Spawned(Effect):
    """The ranks of a cluster are started."""

    cluster: str


@dataclass(frozen=True, slots=True)
class Killed(Effect):
    """Processes are ended by SIGKILL."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrontEndEnded(Effect):
    """A front-end has ended in order."""

    cluster: str


@dataclass(frozen=True, slots=True)
class TellActor(Effect):
    """Something is told to another process over the front-ends, which the launcher joins."""

    to: str
    told: Event


@dataclass(frozen=True, slots=True)
class Come(Event):
    """A rank that cannot dial this one asks to be dialled."""

    by: str


@dataclass(frozen=True, slots=True)
class Released(Event):
    """The application may run."""


@dataclass(frozen=True, slots=True)
class EndsTold(Event):
    """A rank has ended, or is lost to one rank alone, or has ended and only one has asked."""

    death: RankDeath
    lost_to: str = ""
    told_to: str = ""
