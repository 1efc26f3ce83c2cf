"""The mailbox of collectives: what members tell of refused calls, and what cannot be in step."""

from __future__ import annotations

from runtime.matching import ANY, Pattern
from runtime.mpi.mailboxes import Mailbox

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from runtime.mpi.receives import Receive
    from runtime.wire import Incoming

TAGS = 32_768
"""Collectives use lower tags than this: so many MPI promises. Negative ones are for words."""

BRIEF = 1 << 30
"""The tags of brief collectives begin here; native MPI never sees them."""


class CollectiveBox(Mailbox):
    """The messages of the collectives of one communicator.

    These come one after the other, and each asks for all that it is sent. So what one sender has
    sent is never kept here while something else of that sender is asked for, unless the two are in
    different collectives.
    """

    def __init__(self, name_of: Callable[[int], str]) -> None:
        super().__init__(name_of)
        self.words: list[tuple[int, int, bytes]] = []
        """What members have said about calls: their rank, the tag, the words."""
        self.brief: dict[tuple[int, int], Incoming] = {}
        """What has come for brief collectives, by the rank of the sender and the tag.

        Whoever uses it takes it, so that senders who are ahead are held up."""
        self.stray: tuple[int, int, int] | None = None
        """Who was first to send what nobody asks for, with which tag; which one is waited for."""
        self._expected: dict[int, int] = {}  # which tag of which rank a brief collective waits for
        self._ahead: set[int] = set()  # who may have sent what is kept here

    @property
    def has_news(self) -> bool:
        """Whether members have said something, or are in another call."""
        return bool(self.words or self.stray)

    def post(self, receive: Receive) -> None:
        """Ask for a message."""
        super().post(receive)
        asked = receive.asked
        rank, tag = asked.pattern.rank, asked.pattern.tag
        if rank in self._ahead and asked.envelope is None and asked.far and not asked.near:
            self._look_behind(rank, tag)

    def expect(self, ranks: Sequence[int], tag: int) -> None:
        """Know what a brief collective waits for now."""
        self._expected = {rank: tag for rank in ranks if (rank, tag) not in self.brief}
        for rank in self._ahead.intersection(self._expected):
            self._look_behind(rank, tag)

    def arrive(self, rank: int, tag: int, incoming: Incoming) -> bool:
        """Match a message of another process, or keep it."""
        if tag < 0:
            incoming.take()
            self.words.append((rank, tag, bytes(incoming.payload or b"")))
            return True
        expected = self._expected.get(rank)
        if tag >= BRIEF:
            self.brief[rank, tag] = incoming
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
                if asked.pattern.rank == rank:
                    self._part(rank, tag, asked.pattern.tag)
        return is_matched

    def drain(self) -> list[Incoming]:
        """Return and forget what has come and nobody asked for."""
        kept = [*super().drain(), *self.brief.values()]
        self.brief.clear()
        return kept

    def _look_behind(self, rank: int, wanted: Any) -> None:
        """Look whether something else of a sender is kept here than what is waited for now."""
        kept = [tag for sender, tag in self.brief if sender == rank and tag != wanted]
        found = self.matcher.find(Pattern("", rank, ANY))
        if found is not None and _is_of_a_call(found[0].tag):
            kept.append(found[0].tag)
        if kept:
            self._part(rank, kept[0], wanted)
        else:
            self._ahead.discard(rank)

    def _part(self, rank: int, came: int, wanted: Any) -> None:
        if (
            self.stray is None
            and wanted is not ANY
            and _is_of_a_call(came)
            and _is_of_a_call(wanted)
        ):
            self.stray = rank, came % TAGS, wanted % TAGS


def _is_of_a_call(tag: int) -> bool:
    return tag < TAGS or tag >= BRIEF
