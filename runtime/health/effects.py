"""What a detector wants done or known."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.health.messages import Message


@dataclass(frozen=True, slots=True)
class Send:
    """Send a message to a member; it may get lost."""

    to: str
    message: Message


@dataclass(frozen=True, slots=True)
class Suspect:
    """A member has been silent for that many seconds; it is pinged now."""

    member: str
    silence: float


@dataclass(frozen=True, slots=True)
class Trust:
    """A suspected member has been heard of."""

    member: str


@dataclass(frozen=True, slots=True)
class Declare:
    """A member is dead in this incarnation; that is final. `why` is what shows it."""

    member: str
    incarnation: int
    why: str


@dataclass(frozen=True, slots=True)
class Join:
    """A member is there in a new incarnation."""

    member: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Expelled:
    """The others have declared this very member dead: it must not go on as if it were not."""

    by: str


Effect = Send | Suspect | Trust | Declare | Join | Expelled
