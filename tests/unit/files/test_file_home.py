"""The home of a file: requests in any order of processes beside a file of bytes in one of them."""

from __future__ import annotations

import errno
from collections import deque
from collections.abc import Iterable
from random import Random

import pytest

from runtime.files.accesses import requests_of
from runtime.files.faults import FileFault
from runtime.files.home import MOST_KEPT, DiskJob, FileHome, FileWork
from runtime.files.requests import AT_ONCE, FAILED, LAST, FileHeader, FileRequestKind
from runtime.services import BodyHere, SendRequest, ServicePort
from runtime.windows.runs import Run, block, packed, size_of

READ, WRITE = FileRequestKind.READ, FileRequestKind.WRITE
KEY = b"file"


class Bytes:
    """A disk of so many bytes at most."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.data, self.most = bytearray(), most

    def read(self, start: int, size: int) -> bytes:
        return bytes(self.data[start : start + size])

    def write(self, start: int, data: memoryview) -> int:
        count = min(len(data), self.most - start)
        if count <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.data.extend(bytes(max(0, start + count - len(self.data))))
        self.data[start : start + count] = data[:count]
        return count

    def size(self) -> int:
        return len(self.data)

    def resize(self, size: int) -> None:
        self.data = self.data[:size] + bytes(max(0, size - len(self.data)))

    def reserve(self, size: int) -> None:
        self.resize(max(size, len(self.data)))

    def sync(self) -> None:
        pass


class Home:
    """A home with its port, whose disk does something when `work` is called."""

    def __init__(self, disk: Bytes) -> None:
        self.jobs: deque[DiskJob] = deque()
        self.answers: dict[int, tuple[FileHeader, bytes]] = {}
        self.part = FileHome(self.jobs.append)
        self.disk = FileWork(disk)
        self.port = ServicePort(self._answered)
        self.port.open(KEY, self)
        self._tokens = 0

    def _answered(self, key: bytes, send: SendRequest) -> None:
        header = FileHeader.of(send.header)
        self.answers[header.token] = header, b"".join(send.body)

    def admits(self, source: int) -> bool:
        return self.part.admits(source)

    def may_wait(self, header: bytes) -> bool:
        return self.part.may_wait(FileHeader.of(header))

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:
        self.part.begins(source, size)
        return None

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[SendRequest]:
        return self.part.handle(source, FileHeader.of(header), body)  # type: ignore[return-value]  # it only sends here

    def lost(self, source: int) -> Iterable[SendRequest]:
        return self.part.lost(source)  # type: ignore[return-value]  # as above

    def broken(self, source: int, fault: Exception) -> Iterable[SendRequest]:
        raise fault

    def ask(self, source: int, header: FileHeader, body: bytes = b"") -> int:
        self._tokens += 1
        packed = header._replace(token=self._tokens).packed()
        self.port.arrived(KEY, packed, BodyHere(source, body))
        return self._tokens

    def access(
        self, source: int, kind: FileRequestKind, runs: list[Run], data: bytes = b"",
        *, atomic: bool = False, number: int = 1,
    ) -> list[tuple[int, FileHeader, bytes]]:  # fmt: skip
        """Return the requests of an access, which are to be asked one by one."""
        pieces = requests_of(kind, runs, number, atomic=atomic)
        return [(source, one.header, one.runs + data[one.at : one.at + one.size]) for one in pieces]

    def work(self) -> None:
        job = self.jobs.popleft()
        self.port.carry_out(KEY, self.part.finished(job, self.disk.done(job)))

    def work_all(self) -> None:
        while self.jobs:
            self.work()


def random_runs(random: Random) -> list[Run]:
    runs, end = [], 0
    for _ in range(random.randint(1, 3)):
        start, length, times = end + random.randint(0, 40), random.randint(1, 30), 1
        stride = length
        if random.random() < 0.5:
            times, stride = random.randint(2, 6), length + random.randint(0, 9)
        runs.append(Run(start, length, stride, times))
        end = runs[-1].bounds[1]
    return runs


Access = tuple[FileRequestKind, list[Run], bytes]


class RandomProgram:
    """Processes whose requests come in any order, while the disk works now and then."""

    def __init__(self, random: Random, home: Home) -> None:
        self._random, self._home = random, home
        self._left: dict[int, deque[tuple[int, FileHeader, bytes]]] = {
            one: deque() for one in range(3)
        }
        self.accesses: dict[int, Access] = {}
        self.heard: list[FileHeader] = []
        """The headers of jobs in the order in which the home has begun them."""
        begin = home.part._begin

        def note(job: DiskJob) -> None:
            self.heard.append(job.header)
            begin(job)

        home.part._begin = note

    def _begin(self, source: int) -> None:
        random, number = self._random, len(self.accesses) + 1
        runs, kind = random_runs(random), random.choice([READ, WRITE])
        data = random.randbytes(size_of(runs)) if kind == WRITE else b""
        self.accesses[number] = kind, runs, data
        self._left[source].extend(
            self._home.access(source, kind, runs, data, atomic=True, number=number)
        )

    def run(self) -> None:
        for _ in range(300):
            source = self._random.randrange(3)
            if self._random.random() < 0.3 and self._home.jobs:
                self._home.work()
            elif self._left[source]:
                self._home.ask(*self._left[source].popleft())
            elif len(self.accesses) < 40:
                self._begin(source)
        for queue in self._left.values():
            while queue:
                self._home.ask(*queue.popleft())
        self._home.work_all()


def done_to(disk: Bytes, access: Access) -> bytes:
    """Do an access byte by byte; return what was read."""
    kind, runs, data = access
    found, at = bytearray(), 0
    for run in runs:
        for place in range(run.length * run.times):
            time, within = divmod(place, run.length)
            start = run.start + run.stride * time + within
            if kind == WRITE:
                disk.write(start, memoryview(data)[at : at + 1])
            else:
                found += disk.read(start, 1)
            at += 1
    return bytes(found)


@pytest.mark.parametrize("seed", range(80))
def test_random_accesses_do_what_they_do_to_bytes_in_one_process(seed: int) -> None:
    home, model = Home(Bytes()), Bytes()
    program = RandomProgram(Random(seed), home)
    program.run()
    for header in program.heard:  # each has one request, beside that for the lock
        found = done_to(model, program.accesses[header.access])
        answer, body = home.answers[header.token]
        assert (answer.flags, body) == (0, found)
    assert home.disk._disk.size() == model.size()
    assert home.disk._disk.read(0, model.size()) == model.data
    assert len(program.heard) == len(program.accesses)


def test_an_access_of_several_requests_is_not_mixed_with_another_one() -> None:
    disk = Bytes()
    home = Home(disk)
    size = 2 * AT_ONCE + 3
    mine = deque(home.access(1, WRITE, [block(0, size)], b"a" * size, atomic=True))
    theirs = deque(home.access(2, WRITE, [block(0, size)], b"b" * size, atomic=True))
    while mine or theirs:
        for queue in (mine, theirs):
            if queue:
                home.ask(*queue.popleft())
    home.work_all()
    assert disk.data == b"b" * size


def test_an_access_of_nothing_locks_nothing() -> None:
    assert Home(Bytes()).access(1, WRITE, [], atomic=True) == []


def test_what_a_full_disk_has_is_the_beginning_of_an_access_and_is_told() -> None:
    disk = Bytes(AT_ONCE + 10)
    home = Home(disk)
    size = 3 * AT_ONCE
    data = bytes(range(256)) * (size // 256)
    tokens = [home.ask(*one) for one in home.access(1, WRITE, [block(0, size)], data)]
    home.work_all()
    first, second, third = (home.answers[one] for one in tokens)
    assert (first[0].flags, first[0].length) == (0, AT_ONCE)
    assert (second[0].flags, second[0].length) == (FAILED, 10)
    assert FileFault.of(second[1]).name == "ERR_NO_SPACE"
    assert (third[0].flags, third[0].length) == (FAILED, 0)
    assert disk.data == data[: AT_ONCE + 10]
    disk.most = 1 << 30
    home.ask(*home.access(1, WRITE, [block(0, 3)], b"new", number=2)[0])
    home.work_all()
    assert disk.data[:3] == b"new"


def test_a_read_ends_with_the_file() -> None:
    disk = Bytes()
    disk.data = bytearray(range(100))
    home = Home(disk)
    [request] = home.access(1, READ, [Run(80, 4, 8, 5)])
    token = home.ask(*request)
    home.work_all()
    header, body = home.answers[token]
    assert (header.length, list(body)) == (12, [80, 81, 82, 83, 88, 89, 90, 91, 96, 97, 98, 99])


def test_blocks_far_from_each_other_are_read_one_by_one_until_the_end() -> None:
    disk = Bytes()
    disk.data = bytearray(3 * AT_ONCE + 1)
    disk.data[-1] = 7
    home = Home(disk)
    [request] = home.access(1, READ, [Run(0, 2, 3 * AT_ONCE, 3)])
    token = home.ask(*request)
    home.work_all()
    assert home.answers[token][1] == b"\0\0\7"


def test_who_sends_more_than_the_disk_takes_is_held_up() -> None:
    home = Home(Bytes())
    size = 4 * MOST_KEPT
    for request in home.access(1, WRITE, [block(0, size)], bytes(size)):
        home.ask(*request)
    assert len(home.jobs) * AT_ONCE == MOST_KEPT
    home.work_all()
    assert len(home.answers) * AT_ONCE == size


def test_blocks_of_no_bytes_take_no_time() -> None:
    home = Home(Bytes())
    runs = [Run(0, 0, 1, 1 << 60), Run(2, 1, 1, 1)]
    token = home.ask(1, FileHeader(WRITE, LAST, runs=len(runs)), packed(runs) + b"x")
    home.work_all()
    assert home.answers[token][0].length == 1


def test_a_lost_process_leaves_the_turn_to_others() -> None:
    disk = Bytes()
    home = Home(disk)
    size = 2 * AT_ONCE
    begun = home.access(1, WRITE, [block(0, size)], b"a" * size, atomic=True)
    for request in begun[:2]:
        home.ask(*request)
    for request in home.access(2, WRITE, [block(0, 1)], b"b", atomic=True):
        home.ask(*request)
    home.work_all()
    assert bytes(disk.data[:2]) == b"aa"
    home.port.lost(1)
    home.work_all()
    assert bytes(disk.data[:2]) == b"ba"


def test_the_shared_pointer_is_fetched_and_moved_at_once() -> None:
    home = Home(Bytes())
    tokens = [home.ask(one, FileHeader(FileRequestKind.POINTER, length=10)) for one in (1, 2, 1)]
    assert [home.answers[one][0].length for one in tokens] == [0, 10, 20]
    home.ask(1, FileHeader(FileRequestKind.SET_POINTER, length=5))
    assert home.part.pointer == 5


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (FileHeader(WRITE, LAST, start=0, length=4), b"abc"),
        (FileHeader(WRITE, LAST, start=-4, length=4), b"abcd"),
        (FileHeader(READ, LAST, runs=2), b""),
        (FileHeader(READ, LAST, length=1 << 40), b""),
        (FileHeader(77, LAST), b""),
        (FileHeader(FileRequestKind.RESIZE, LAST, length=-1), b""),
    ],
)
def test_a_request_whose_parts_do_not_fit_is_refused_and_changes_nothing(
    header: FileHeader, body: bytes
) -> None:
    disk = Bytes()
    home = Home(disk)
    token = home.ask(1, header, body)
    home.work_all()
    assert home.answers[token][0].flags == FAILED
    assert disk.data == b""


def test_the_shared_pointer_stays_where_a_request_can_name_its_place() -> None:
    home = Home(Bytes())
    last = (1 << 63) - 1
    home.ask(1, FileHeader(FileRequestKind.SET_POINTER, length=last))
    for _ in range(2):
        token = home.ask(2, FileHeader(FileRequestKind.POINTER, length=1))
        header, told = home.answers[token]
        assert header.flags == FAILED
        assert FileFault.of(told).name == "ERR_ARG"
    token = home.ask(2, FileHeader(FileRequestKind.POINTER))
    assert home.answers[token][0].length == last
