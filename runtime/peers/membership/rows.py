"""A row of the table of members, which a member makes anew with each alive signal."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import PeerError
from runtime.peers.model import Member

_MOST = 1 << 53
_LONGEST = 1e9


class MemberState(StrEnum):
    """Whether a member is there."""

    ALIVE = "alive"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class Row:
    """A version of a member's row.

    `incarnation` counts the lives of the member, `beat` the alive signals of this life. Only the
    member itself makes new versions, so that the larger one is the newer one everywhere. That a
    member is gone is said of a version: a newer one is alive again.
    """

    peer: Member
    incarnation: int
    beat: int
    state: MemberState = MemberState.ALIVE

    @property
    def name(self) -> str:
        """Whose row it is."""
        return str(self.peer.principal)

    @property
    def version(self) -> tuple[int, int, bool]:
        """What is compared; at the same beat, gone is newer."""
        return self.incarnation, self.beat, self.state is MemberState.GONE

    @property
    def is_alive(self) -> bool:
        """Whether the member is there."""
        return self.state is MemberState.ALIVE

    def plain(self, age: float = 0.0) -> list[Any]:
        """Return the plain form, with how many seconds ago the member said so."""
        return [self.peer.plain(), self.incarnation, self.beat, str(self.state), round(age, 3)]

    @classmethod
    def of(cls, plain: Any) -> tuple[Row, float]:
        """Read the plain form; return the row and its age. Raises PeerError."""
        match plain:
            case [peer, int(incarnation), int(beat), str(state), int() | float() as age] if (
                0 <= incarnation < _MOST
                and 0 <= beat < _MOST
                and state in set(MemberState)
                and 0 <= age < _LONGEST
            ):
                return cls(Member.of(peer), incarnation, beat, MemberState(state)), float(age)
        raise PeerError(f"{plain!r:.200} is not a row of a table of members")


MOST_DISPUTES = 1
"""A member that has lost its memory, and its address, finds itself known by another one once."""


class OwnRow:
    """The row of this very member.

    `incarnation` is one more than that of its last life. A member that has lost its memory learns
    from a supernode what is known of it, and goes on above that.
    """

    def __init__(self, peer: Member, incarnation: int = 1) -> None:
        self.peer = peer
        """May be replaced: what is said from now on."""
        self.incarnation = incarnation
        self._beat = 0
        self._disputes = 0

    def beat(self) -> Row:
        """Return the next alive signal."""
        self._beat += 1
        return Row(self.peer, self.incarnation, self._beat)

    def last(self) -> Row:
        """Return the row with which this life ends."""
        return Row(self.peer, self.incarnation, self._beat, MemberState.GONE)

    def take(self, row: Row) -> str:
        """Take what others know about this member; return what is wrong, if anything is.

        Where they know something newer, the next signal is newer than that. Where that goes on,
        two members use the same name.
        """
        is_mine = row.peer.addresses == self.peer.addresses
        if row.version < (self.incarnation, self._beat, False) or (
            is_mine and row.version == (self.incarnation, self._beat, False)
        ):
            return ""
        self._disputes += not is_mine
        self.incarnation, self._beat = row.incarnation + 1, 0
        if self._disputes <= MOST_DISPUTES:
            return ""
        where = ", ".join(map(str, row.peer.addresses)) or "an unknown address"
        return (
            f"somebody else uses the credential of {row.name} too, at {where}: invite each machine"
            " by a name of its own (gcm-peer lab invite)"
        )
