"""The side that has a file: what others ask for, in an order, and what is done about it.

`FileHome` is the part that hears requests, with a lock held. It hands on what needs the disk as a
`DiskJob`: a disk may be slow, and a file of a network hang. `FileWork` carries jobs out, one after
the other, which is what makes an access atomic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from gcm.records import dataclass
from runtime.files.faults import FileFault, fault_of
from runtime.files.requests import (
    AT_ONCE,
    ATOMIC,
    FAILED,
    LAST,
    LAST_PLACE,
    FileHeader,
    FileRequestKind,
)
from runtime.files.views import bytes_before
from runtime.services.port import Effect, Resume, SendRequest
from runtime.windows.locks import LockQueue
from runtime.windows.runs import RUN_BYTES, Run, block, bounds_of, gather, size_of, unpacked

MOST_KEPT = 16 << 20
"""So many bytes may wait for the disk; who sends more is held up."""

_WORTH = 4
"""Blocks are read together with what is between them, unless that is so many times as much."""


class Disk(Protocol):
    """A file of this process. Methods raise OSError; places are not negative."""

    def read(self, start: int, size: int) -> bytes:
        """Return bytes, fewer at the end of the file."""

    def write(self, start: int, data: memoryview) -> int:
        """Write bytes; return how many, fewer where a disk is full."""

    def size(self) -> int:
        """Return the size in bytes."""

    def resize(self, size: int) -> None:
        """Cut or extend it."""

    def reserve(self, size: int) -> None:
        """See that so many bytes from the beginning have their place on the disk."""

    def sync(self) -> None:
        """Wait until all is on the disk."""


@dataclass(slots=True)
class DiskJob:
    """A request that needs the disk, and how many bytes it keeps meanwhile."""

    source: int
    header: FileHeader
    runs: Sequence[Run]
    data: memoryview

    @property
    def kept(self) -> int:
        """How many bytes wait with it, or come of it."""
        return size_of(self.runs)


class FileHome:
    """What one process has of a file that others use, too; a part of a `runtime.services` service.

    `begin` is given the jobs; `finished` is to be called with what came of each, in their order.
    """

    def __init__(self, begin: Callable[[DiskJob], None], pointer: int = 0) -> None:
        self._begin = begin
        self.pointer = pointer
        """The shared file pointer."""
        self._lock = LockQueue()
        self._kept = 0
        self._coming: Counter[int] = Counter()
        """How many bytes of requests begin to come in, by the processes that send them."""
        self._held_up: set[int] = set()

    def admits(self, source: int) -> bool:
        """Return whether the next request of a process can be heard now."""
        if self._lock.waits(source):
            return False
        if self._kept < MOST_KEPT:
            return True
        self._held_up.add(source)
        return False

    def may_wait(self, header: FileHeader) -> bool:
        """Return whether requests behind this one may have to wait: for a turn, or for memory."""
        if header.kind == FileRequestKind.LOCK:
            return True
        return self._kept + self._coming.total() >= MOST_KEPT

    def begins(self, source: int, size: int) -> None:
        """Know that the body of a request begins to come in."""
        self._coming[source] += size

    def handle(self, source: int, header: FileHeader, body: memoryview | None) -> Iterable[Effect]:
        """Hear a request."""
        kind = header.kind
        if body:
            self._coming[source] -= len(body)
        if kind == FileRequestKind.LOCK:
            self._lock.ask(source, exclusive=True)
            return ()
        if kind == FileRequestKind.POINTER:
            before, after = self.pointer, self.pointer + header.length
            if not 0 <= after <= LAST_PLACE:
                text = f"the shared file pointer is at {before}, and cannot go to {after}"
                return (_refusal(source, header, 0, FileFault("ERR_ARG", text)),)
            self.pointer = after
            return (_answer(source, header, before),)
        if kind == FileRequestKind.SET_POINTER:
            self.pointer = header.length
            return (_answer(source, header, self.pointer),)
        try:
            runs, data = _parts(header, memoryview(b"") if body is None else body)
            job = DiskJob(source, header, runs, data)
        except FileFault as fault:
            return (_refusal(source, header, 0, fault), *self._given_back(source, header))
        self._kept += job.kept
        self._begin(job)
        # others come behind it from now on
        return self._given_back(source, header)

    def _given_back(self, source: int, header: FileHeader) -> Iterable[Effect]:
        if header.flags & ATOMIC and header.flags & LAST:
            return tuple(map(Resume, self._lock.give_back(source)))
        return ()

    def finished(self, job: DiskJob, outcome: DiskOutcome) -> Iterable[Effect]:
        """Answer what was asked for, and hear those again who were held up."""
        self._kept -= job.kept
        if outcome.fault is not None:
            yield _refusal(job.source, job.header, outcome.number, outcome.fault)
        else:
            yield _answer(job.source, job.header, outcome.number, outcome.data)
        if self._kept < MOST_KEPT and self._held_up:
            held_up, self._held_up = self._held_up, set()
            yield from map(Resume, sorted(held_up))

    def lost(self, source: int) -> Iterable[Effect]:
        """Go on without a process: what it has not sent of an access is never written."""
        self._held_up.discard(source)
        self._coming.pop(source, None)
        return tuple(map(Resume, self._lock.give_back(source)))


@dataclass(slots=True)
class DiskOutcome:
    """What came of a job: a number, such as of bytes, and perhaps data or a fault."""

    number: int = 0
    data: bytes | memoryview = b""
    fault: FileFault | None = None


class FileWork:
    """Carries jobs out, one after the other.

    Once a part of an access has failed its rest is left out: what was written is its beginning.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._failed: dict[tuple[int, int], FileFault] = {}

    def done(self, job: DiskJob) -> DiskOutcome:
        """Carry a job out; raises nothing."""
        header = job.header
        access = job.source, header.access
        try:
            known = self._failed.get(access)
            outcome = self._done(job) if known is None else DiskOutcome(fault=known)
        except OSError as error:
            outcome = DiskOutcome(fault=fault_of(error, "the system says"))
        except Exception as error:  # whatever it is, others have to be served
            outcome = DiskOutcome(fault=FileFault("ERR_IO", f"{type(error).__name__}: {error}"))
        if header.flags & LAST:
            self._failed.pop(access, None)
        elif outcome.fault is not None:
            self._failed[access] = outcome.fault
        return outcome

    def _done(self, job: DiskJob) -> DiskOutcome:
        header, disk = job.header, self._disk
        match header.kind:
            case FileRequestKind.READ:
                data = self._read(job.runs)
                return DiskOutcome(len(data), data)
            case FileRequestKind.WRITE:
                return self._write(job)
            case FileRequestKind.RESIZE:
                disk.resize(header.length)
            case FileRequestKind.RESERVE:
                disk.reserve(header.length)
            case FileRequestKind.SYNC:
                disk.sync()
            case FileRequestKind.SIZE:
                pass
            case _:
                raise FileFault("ERR_IO", f"{header.kind} is no request to a file")
        return DiskOutcome(disk.size())

    def _read(self, runs: Sequence[Run]) -> bytes | memoryview:
        size, (low, high) = size_of(runs), bounds_of(runs)
        if high - low == size and len(runs) == 1:
            return self._disk.read(low, size)
        if high - low <= max(AT_ONCE, _WORTH * size):
            span = self._disk.read(low, high - low)
            there = bytes_before(runs, low + len(span))
            whole = span + bytes(high - low - len(span))
            return gather(memoryview(whole), [one.moved(-low) for one in runs])[:there]
        found = bytearray()
        for start, length in _blocks(runs):
            part = self._disk.read(start, length)
            found += part
            if len(part) < length:
                break
        return bytes(found)

    def _write(self, job: DiskJob) -> DiskOutcome:
        done = 0
        try:
            for start, length in _blocks(job.runs):
                end = done + length
                while done < end:
                    place = start + length - (end - done)
                    done += self._disk.write(place, job.data[done:end])
        except OSError as error:
            return DiskOutcome(done, fault=fault_of(error, "the system says"))
        return DiskOutcome(done)


def _blocks(runs: Sequence[Run]) -> Iterator[tuple[int, int]]:
    for start, length, stride, times in runs:
        for place in range(times):
            yield start + stride * place, length


def _parts(header: FileHeader, body: memoryview) -> tuple[Sequence[Run], memoryview]:
    """Return the runs of a request, and its data. Raises FileFault."""
    if header.kind not in (FileRequestKind.READ, FileRequestKind.WRITE):
        if header.length < 0:
            raise FileFault("ERR_ARG", f"a file has no size of {header.length} bytes")
        return (), memoryview(b"")
    end = RUN_BYTES * header.runs
    if len(body) < end:
        raise FileFault("ERR_IO", f"{len(body)} bytes have no {header.runs} runs")
    runs = unpacked(body[:end]) if header.runs else [block(header.start, header.length)]
    if any(one.length < 0 or one.times < 0 for one in runs) or bounds_of(runs)[0] < 0:
        raise FileFault("ERR_IO", "a place is negative")
    runs = [one for one in runs if one.length and one.times]
    size, data = size_of(runs), body[end:]
    if size > AT_ONCE or len(data) != (size if header.kind == FileRequestKind.WRITE else 0):
        raise FileFault("ERR_IO", f"{len(data)} bytes came for a place of {size}")
    return runs, data


def _answer(
    source: int, header: FileHeader, number: int, data: bytes | memoryview = b""
) -> SendRequest:
    told = FileHeader(FileRequestKind.ANSWER, length=number, token=header.token)
    return SendRequest(source, told.packed(), (memoryview(data),) if data else ())


def _refusal(source: int, header: FileHeader, number: int, fault: FileFault) -> SendRequest:
    told = FileHeader(FileRequestKind.ANSWER, FAILED, length=number, token=header.token)
    return SendRequest(source, told.packed(), (memoryview(fault.packed()),))
