"""The mailbox of collectives: what members tell of refused calls, and what cannot be in step."""

from __future__ import annotations

from runtime.matching import ANY, Pattern
from runtime.mpi.mailboxes import Mailbox

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

    from runtime.mpi.receives import Receive
    from runtime.wire import Incoming

TAGS = 32_768
"""Collectives use lower tags than this: so many MPI promises. Negative ones are for words."""


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
        self.stray: tuple[int, int, int] | None = None
        """Who was first to send what nobody asks for, with which tag; which one is waited for."""

    def post(self, receive: Receive) -> None:
        """Ask for a message."""
        super().post(receive)
        asked = receive.asked
        rank, tag = asked.pattern.rank, asked.pattern.tag
        if asked.envelope is None and asked.far and not (asked.near or rank is ANY or tag is ANY):
            found = self.matcher.find(Pattern("", rank, ANY))
            if found is not None and found[0].tag < TAGS > tag:
                self._part(rank, found[0].tag, tag)

    def arrive(self, rank: int, tag: int, incoming: Incoming) -> bool:
        """Match a message of another process, or keep it."""
        if tag < 0:
            incoming.take()
            self.words.append((rank, tag, bytes(incoming.payload or b"")))
            return True
        is_matched = super().arrive(rank, tag, incoming)
        if not is_matched and tag < TAGS:
            for asked in self.matcher.pending():
                wanted = asked.pattern
                if wanted.rank == rank and wanted.tag is not ANY and wanted.tag < TAGS:
                    self._part(rank, tag, wanted.tag)
        return is_matched

    def _part(self, rank: int, came: int, wanted: int) -> None:
        self.stray = self.stray or (rank, came, wanted)
