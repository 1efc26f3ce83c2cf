"""Accesses to a file on their way to its home: in which order, and how much of them at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from runtime.files.accesses import requests_of
from runtime.files.faults import FileFault
from runtime.files.requests import AT_ONCE, FAILED, LAST, FileHeader, FileRequestKind
from runtime.mpi.files.access import MOST_UNDER_WAY, AccessQueue, AskedHome, FileAccess
from runtime.windows.runs import block

READ, WRITE = FileRequestKind.READ, FileRequestKind.WRITE


class Way:
    """A way to a home that answers when it is told to."""

    path, home, home_in_words, is_here = "data", 0, "rank 0", False

    def __init__(self) -> None:
        self.sent: list[FileHeader] = []
        self.trouble: Exception | None = None
        self.queue = AccessQueue()
        self._asked: deque[tuple[int, FileHeader, AskedHome]] = deque()

    def ask(self, header: FileHeader, asked: AskedHome, body: Sequence[memoryview] = ()) -> int:
        self.send(header, body)
        self._asked.append((len(self.sent), header, asked))
        return len(self.sent)

    def send(self, header: FileHeader, body: Sequence[memoryview]) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.sent.append(header)

    @property
    def owed(self) -> int:
        """How many bytes the answers that are to come have."""
        return sum(header.length for _, header, _ in self._asked)

    def answer(self, fault: FileFault | None = None) -> None:
        token, header, asked = self._asked.popleft()
        if fault is not None:
            asked.answer(token, FileHeader(0x81, FAILED), memoryview(fault.packed()))
            return
        told = FileHeader(0x81, length=header.length)
        asked.answer(token, told, memoryview(bytes([header.access]) * header.length))

    def begin(
        self, size: int, number: int, *, atomic: bool = False
    ) -> tuple[FileAccess, bytearray]:
        memory = bytearray(size)
        access = FileAccess(self, memoryview(memory))
        runs = [block(0, size)] if size else []
        access.begin(requests_of(READ, runs, number, atomic=atomic), self.queue)
        return access, memory


def test_all_reads_of_a_process_together_let_the_home_read_no_more_than_a_limit_ahead() -> None:
    way = Way()
    begun = [way.begin(2 * AT_ONCE + 1, number) for number in range(10)]
    most = way.owed
    while way.owed:
        way.answer()
        most = max(most, way.owed)
    assert MOST_UNDER_WAY <= most < MOST_UNDER_WAY + AT_ONCE
    assert all(access.done and access.error is None for access, _ in begun)
    assert [set(memory) for _, memory in begun] == [{number} for number in range(10)]


def test_small_accesses_are_all_on_their_way_at_once() -> None:
    way = Way()
    for number in range(1000):
        way.begin(8, number)
    assert len(way.sent) == 1000


def test_nothing_comes_between_the_requests_of_an_atomic_access() -> None:
    way = Way()
    begun = [way.begin(5 * AT_ONCE, number, atomic=True) for number in range(3)]
    begun.append(way.begin(0, 9, atomic=True))
    while way.owed:
        way.answer()
    assert [header.access for header in way.sent] == [0] * 6 + [1] * 6 + [2] * 6
    assert [number for number, one in enumerate(way.sent) if one.flags & LAST] == [5, 11, 17]
    assert all(access.done for access, _ in begun)


def test_an_access_that_fails_lets_those_behind_it_begin_however_many() -> None:
    way = Way()
    begun = [way.begin(5 * AT_ONCE, 0)[0], *(way.begin(1, 1)[0] for _ in range(3000))]
    way.answer(FileFault("ERR_IO", "the disk is gone"))
    while way.owed:
        way.answer()
    assert begun[0].error is not None
    assert begun[0].nbytes == 0
    assert all(one.done and one.error is None for one in begun[1:])
    late = [way.begin(5 * AT_ONCE, 2)[0], *(way.begin(1, 3)[0] for _ in range(3000))]
    way.trouble = RuntimeError("gone")
    way.answer()
    assert late[0].error is way.trouble
    assert all(one.error is way.trouble for one in late[1:])
