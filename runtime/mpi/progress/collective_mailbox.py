"""The mailbox of collectives: brief messages, notices about calls, and mismatched messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from runtime.matching import ANY, Pattern
from runtime.mpi.progress.mailboxes import REVOKED, Mailbox

if TYPE_CHECKING:
    from runtime.collectives.port import Data
    from runtime.mpi.progress.losses import LossHandler
    from runtime.mpi.progress.mailboxes import Receive
    from runtime.wire import Incoming

TAGS = 32_768
"""Collectives use lower tags than this, which MPI guarantees. Negative ones are for notices."""

BRIEF = 1 << 30
"""The tags of brief collectives begin here; native MPI never sees them."""

SIZED = 1 << 31
"""Tags between processes are lower than this; above it they have the size of each member's data."""

LITTLE = 128 * 1024
"""The most bytes in one message of a brief collective."""

BUNDLED = 16 * 1024
"""The most bytes of all members' data in brief collectives that join them instead of folding."""


class CollectiveBox(Mailbox):
    """The messages of the collectives of one communicator.

    Collectives run one after the other, and each receives all that it is sent. So a message of
    another cluster is never kept here while another one of its sender is expected, unless the two
    are in different collectives. Senders of this cluster also use native MPI, which may be slower
    than their brief messages.
    """

    def __init__(self, name_of: Callable[[int], str]) -> None:
        super().__init__(name_of)
        self._words: list[tuple[int, int, Incoming]] = []  # sender and tag
        self.stray: tuple[int, int, int] | None = None
        """The first sender of an unexpected message, its tag, and the tag that is expected."""
        self.listen: Callable[[], None] | None = None
        """Takes note of what `has_news` tells of."""
        self.is_broken = self._is_shut = False
        """Whether calls were mismatched, so that messages are left which nobody will receive."""
        self.recovery: LossHandler | None = None
        self._of_recovery: list[
            tuple[int, int, bytes]
        ] = []  # for a collective that this process has not begun
        self._brief: dict[tuple[int, int], Incoming] = {}  # by the rank of the sender and the tag
        self._expected: dict[int, int] = {}  # the tag expected of each rank by a brief collective
        self._ahead: set[int] = set()  # ranks that may have sent kept messages
        self._failed: set[int] = set()  # the tags of brief collectives that have failed

    @property
    def has_news(self) -> bool:
        """Whether members have sent notices, or are in another call."""
        words = self._words
        return self.stray is not None or (bool(words) and any(one[2].done for one in words))

    def words(self) -> list[tuple[int, int, bytes]]:
        """Return and forget the notices of members about calls: their rank, the tag, the text."""
        known, self._words = self._words, []
        drain = []
        for rank, tag, incoming in known:
            if incoming.done:
                drain.append((rank, tag, bytes(incoming.payload or b"")))
            else:  # its sender may be gone
                self._words.append((rank, tag, incoming))
        return drain

    def post(self, receive: Receive) -> None:
        """Post a receive."""
        super().post(receive)
        asked = receive.asked
        rank, tag = asked.pattern.rank, asked.pattern.tag
        if rank in self._ahead and asked.envelope is None and asked.far and not asked.near:
            self._check_behind(rank, tag)

    def arrive(self, rank: int, tag: int, incoming: Incoming) -> bool:
        """Match a message of another process, or keep it; return whether it was matched."""
        if tag in self._failed or (self._is_shut and tag >= 0):
            incoming.take()
            return True
        if tag <= REVOKED:
            incoming.take()
            self._handle_recovery_notice(rank, tag, bytes(incoming.payload or b""))
            return True
        if tag < 0:
            incoming.take()
            self._words.append((rank, tag, incoming))
            return True
        expected = self._expected.get(rank)
        if tag & BRIEF and incoming.size <= LITTLE:
            self._brief[rank, tag] = incoming
            is_matched = tag == expected
            if is_matched:
                del self._expected[rank]
        else:
            is_matched = super().arrive(rank, tag, incoming)
        if not is_matched and _is_of_a_call(tag):
            self._ahead.add(rank)
            if expected is not None:
                self._part(rank, tag, expected)
            for asked in self.matcher.pending():
                if asked.pattern.rank == rank and not asked.near:
                    self._part(rank, tag, asked.pattern.tag)
        return is_matched

    def recover_with(self, recovery: LossHandler) -> None:
        """Pass on members' notices about losses from now on, and those received so far."""
        self.recovery = recovery
        early, self._of_recovery = self._of_recovery, []
        for one in early:
            recovery.handle_notice(*one)

    def _handle_recovery_notice(self, sender: int, tag: int, data: bytes) -> None:
        if self.recovery is None:
            self._of_recovery.append((sender, tag, data))
        else:
            self.recovery.handle_notice(sender, tag, data)

    def drain(self) -> list[Incoming]:
        """Return and forget all unexpected messages."""
        kept = [*super().drain(), *(one for one in self._brief.values() if not one.is_matched)]
        self._brief.clear()
        return kept

    def shut(self) -> None:
        """Drop what nobody will receive: else two that part wait for each other to take it."""
        if self.is_broken:
            self._is_shut = True
            for incoming in self.drain():
                incoming.take()

    # --- brief collectives ------------------------------------------------------------------------

    def expect(self, ranks: Sequence[int], tag: int) -> None:
        """Set from whom a brief collective expects a message now."""
        self._expected = {rank: tag for rank in ranks if (rank, tag) not in self._brief}
        for rank in self._ahead.intersection(ranks):
            if rank in self._expected:
                self._check_behind(rank, tag)
            else:
                self._check_before(rank, tag)

    def take_all(self, ranks: Sequence[int], tag: int) -> list[Data] | None:
        """Take expected messages once all are here, and return them.

        They are not taken before: senders that are far ahead are held up, and send the rest then.
        """
        brief = self._brief
        is_here = True
        for rank in ranks:
            incoming = brief.get((rank, tag))
            if incoming is None:
                is_here = False
            else:
                if not incoming.is_matched:
                    incoming.take()
                is_here = is_here and incoming.done
        return [brief[rank, tag].payload or b"" for rank in ranks] if is_here else None

    def let_go(self, ranks: Sequence[int], tag: int) -> None:
        """Forget received brief messages."""
        for rank in ranks:
            self._brief.pop((rank, tag), None)

    def is_here(self, rank: int, tag: int) -> bool:
        """Return whether an expected message is completely received."""
        incoming = self._brief.get((rank, tag))
        return incoming is not None and incoming.done

    def fail(self, tag: int) -> None:
        """Record that a brief collective has failed; its later messages are dropped."""
        self._failed.add(tag)
        self._expected = {}
        for key in [one for one in self._brief if one[1] == tag]:
            incoming = self._brief.pop(key)
            if not incoming.is_matched:
                incoming.take()

    # --- mismatches -------------------------------------------------------------------------------

    def _check_behind(self, rank: int, wanted: Any) -> None:
        """Check whether another message of a sender is kept than the one that is expected now."""
        kept = [tag for sender, tag in self._brief if sender == rank and tag != wanted]
        found = self.matcher.find(Pattern("", rank, ANY))
        if found is not None and _is_of_a_call(found[0].tag):
            kept.append(found[0].tag)
        if kept:
            self._part(rank, kept[0], wanted)
        else:
            self._ahead.discard(rank)

    def _check_before(self, rank: int, wanted: int) -> None:
        """Check whether a sender sent another message before the one that is expected now."""
        first = next(tag for sender, tag in self._brief if sender == rank)
        if first != wanted:
            self._part(rank, first, wanted)

    def _part(self, rank: int, came: int, wanted: Any) -> None:
        is_of_calls = wanted is not ANY and _is_of_a_call(came) and _is_of_a_call(wanted)
        if is_of_calls and self.stray is None:
            self.stray = rank, came, wanted


def _is_of_a_call(tag: int) -> bool:
    return tag % SIZED < TAGS or bool(tag & BRIEF)
