"""Pieces of a block as one operation, whatever its sender has to say."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from runtime.mpi.collectives.in_pieces import InPieces
from runtime.mpi.progress.landings import Landing
from runtime.mpi.progress.operations import Operation

SIZE = 3
LENGTHS = st.integers(0, 12)
MORE = b"of another call"


class Asked(Operation):
    """A message that is asked for."""

    def __init__(self, landing: Landing | None) -> None:
        super().__init__()
        self.landing = landing
        self.is_matched = False

    def cancel(self) -> None:
        if not (self.done or self.is_matched):
            self.cancelled = True
            self.finish()


class Sender:
    """What comes from one sender: the pieces of a block, and then another message."""

    def __init__(self, length: int) -> None:
        data = bytes(range(1, length + 1))
        self.coming = [data[at : at + SIZE] for at in range(0, length + 1, SIZE)]
        self.kept: list[bytes] = []
        self.asked: list[Asked] = []
        self.strays = 0

    def receive(self, landing: Landing | None) -> Asked:
        asked = Asked(landing)
        if self.kept:
            self._land(asked, self.kept.pop(0))
        else:
            self.asked.append(asked)
        return asked

    def send(self) -> None:
        """Let the next piece come."""
        self._arrive(self.coming.pop(0))

    def send_more(self) -> None:
        """Send what belongs to another call: nothing of this one may be asked for then."""
        self.strays = len(self._open())
        self.kept.append(MORE)

    def _open(self) -> list[Asked]:
        return [one for one in self.asked if not one.done]

    def _arrive(self, piece: bytes) -> None:
        waiting = self._open()
        if waiting:
            self._land(waiting[0], piece)
        else:
            self.kept.append(piece)

    @staticmethod
    def _land(asked: Asked, piece: bytes) -> None:
        asked.is_matched, asked.nbytes = True, len(piece)
        room = None if asked.landing is None else asked.landing.room(len(piece))
        if room is not None:
            room[:] = piece
        wrong = asked.landing is not None and room is None
        asked.finish(MPI.Exception(MPI.ERR_TRUNCATE) if wrong else None)


def rooms(into: bytearray) -> list[memoryview]:
    return [memoryview(into)[at : at + SIZE] for at in range(0, len(into) + 1, SIZE)]


@given(sent=LENGTHS, room=LENGTHS, early=st.integers(0, 5), data=st.data())
def test_it_ends_with_the_senders_last_piece_and_fails_where_sizes_differ(
    sent: int, room: int, early: int, data: Any
) -> None:
    sender, into = Sender(sent), bytearray(room)
    for _ in range(min(early, len(sender.coming))):
        sender.send()
    block = InPieces(rooms(into), SIZE, sender.receive)
    while sender.coming:
        assert not block.done
        sender.send()
        if data.draw(st.booleans()):
            block.test()
    sender.send_more()
    assert block.test()
    assert (sender.strays, sender.kept, sender._open()) == (0, [MORE], [])
    if sent == room:
        assert block.error is None
        assert into == bytes(range(1, sent + 1))
    else:
        assert isinstance(block.error, MPI.Exception)


def test_memory_of_the_program_is_held_no_longer_than_it_takes() -> None:
    class Memory(bytearray):
        """Memory to which there can be a weak reference."""

    sender, memory = Sender(8), Memory(8)
    block = InPieces(rooms(memory), SIZE, sender.receive)
    gone = weakref.ref(memory)
    del memory
    sender.asked, asked = [], sender.asked
    for _ in range(3):
        sender.asked = [asked.pop(0)]
        sender.send()
    sender.asked = []
    assert gone() is not None
    gc.disable()
    try:
        assert block.test()
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("came", range(3))
def test_a_sender_that_is_lost_ends_it(came: int) -> None:
    sender, lost = Sender(8), LookupError("lost")
    block = InPieces(rooms(bytearray(8)), SIZE, sender.receive)
    for _ in range(came):
        sender.send()
    for asked in sender._open():
        asked.finish(lost)
    assert block.test()
    assert block.error is lost
