"""What a member says about itself: its lives and its alive signals are counted here."""

from __future__ import annotations

from runtime.peers.membership.rows import MemberState, Row
from runtime.peers.model import Member

MOST_DISPUTES = 3


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

    def hear(self, row: Row) -> str:
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
        return f"somebody else uses the credential of {row.name} too, at {where}"
