"""The side of a window that is accessed: memory, its lock, and what processes have done to it."""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from runtime.services.port import Effect, Resume, SendRequest
from runtime.windows.conflicts import AccessLedger
from runtime.windows.locks import LockQueue
from runtime.windows.requests import (
    AT_ONCE,
    NO_OP,
    REPLACE,
    AnswerCode,
    RequestHeader,
    RequestKind,
)
from runtime.windows.runs import (
    RUN_BYTES,
    Run,
    block,
    bounds_of,
    gather,
    scatter,
    size_of,
    unpacked,
)

_log = logging.getLogger(__name__)


class Outside(Exception):
    """Bytes that do not belong to a window."""


class Malformed(Exception):
    """A request whose parts do not fit each other."""


Refusal = tuple[AnswerCode, str]
"""What became of a request instead, and why."""


class Memory(Protocol):
    """The memory of a window."""

    def part(self, start: int, end: int) -> memoryview:
        """Return the bytes from one place to another; raises Outside."""


class OneMemory:
    """Memory of which a window has all; places are counted from its beginning."""

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory

    def part(self, start: int, end: int) -> memoryview:
        """Return the bytes from one place to another; raises Outside."""
        if not 0 <= start <= end <= len(self._memory):
            raise Outside(f"bytes {start} to {end} of {len(self._memory)} were asked for")
        return self._memory[start:end]


class AttachedMemory:
    """Memory that a program attaches and detaches; places are addresses.

    >>> memory = AttachedMemory()
    >>> memory.attach(1000, memoryview(bytearray(b"abcdef")))
    >>> bytes(memory.part(1002, 1004))
    b'cd'
    """

    def __init__(self) -> None:
        self._parts: dict[int, memoryview] = {}

    def attach(self, address: int, memory: memoryview) -> None:
        """Let a part of memory belong to the window."""
        self._parts[address] = memory

    def detach(self, address: int) -> bool:
        """Let it belong to the window no more; return whether it did."""
        return self._parts.pop(address, None) is not None

    def part(self, start: int, end: int) -> memoryview:
        """Return the bytes from one address to another; raises Outside."""
        for address, memory in self._parts.items():
            if address <= start <= end <= address + len(memory):
                return memory[start - address : end - address]
        if start == end:
            return memoryview(b"")
        raise Outside(f"bytes {start:#x} to {end:#x} are not attached")


Reduce = Callable[[int, int, memoryview, memoryview], memoryview]
"""Returns packed elements reduced with others: operation, basic type, what comes, what is there."""


class WindowTarget:
    """What one process serves of a window; a part of a `runtime.services` service.

    The requests of a process come in their order. One that waits for the lock holds those behind it
    up, so that nobody has to be told that it was granted.
    """

    def __init__(self, memory: Memory, reduce: Reduce) -> None:
        self.memory = memory
        self._reduce = reduce
        self.lock = LockQueue()
        self.applied: Counter[int] = Counter()
        """How much was done in each epoch between two fences."""
        self.completed: Counter[int] = Counter()
        """How often a process has ended an access epoch, less those that were waited for."""
        self._faults: dict[int, Refusal] = {}
        self.ledger: AccessLedger | None = None
        """What looks for accesses that conflict, where a run is checked."""

    def admits(self, source: int) -> bool:
        """Return whether a process does not wait for the lock."""
        return not self.lock.waits(source)

    def room(self, header: RequestHeader, size: int) -> memoryview | None:
        """Return the memory that a put goes to, where it is in one place."""
        if header.kind != RequestKind.PUT or header.runs or size != header.length:
            return None
        try:
            return self.memory.part(header.start, header.start + size)
        except Outside:
            return None

    def handle(
        self, source: int, header: RequestHeader, body: memoryview | None
    ) -> Iterable[Effect]:
        """Serve a request."""
        kind = header.kind
        if kind <= RequestKind.COMPARE_AND_SWAP:
            return self._apply(source, header, body)
        if kind == RequestKind.LOCK:
            self.lock.ask(source, exclusive=bool(header.operation))
            return ()
        if kind == RequestKind.HOLDERS:
            holders = array("q", sorted(self.lock.holders) if self.lock.waits(source) else ())
            held = RequestHeader(RequestKind.HELD_BY).packed()
            return (SendRequest(source, held, (memoryview(holders.tobytes()),)),)
        if kind == RequestKind.COMPLETE:
            self.completed[source] += 1
            return ()
        if self.ledger is not None:
            self.ledger.over((source,))
        answer = self._answer(source, header.token, self._faults.pop(source, None))
        if kind == RequestKind.UNLOCK and header.operation:
            return (answer, *map(Resume, self.lock.give_back(source)))
        return (answer,)

    def lost(self, source: int) -> Iterable[Effect]:
        """Take the lock back from a process that is lost."""
        self._faults.pop(source, None)
        return map(Resume, self.lock.give_back(source))

    def _apply(
        self, source: int, header: RequestHeader, body: memoryview | None
    ) -> Iterable[Effect]:
        self.applied[header.epoch] += 1
        if body is None:  # a put, whose data are there already
            if self.ledger is not None:
                self.ledger.note(source, header, [block(0, header.length)])
            return ()
        try:
            runs, data = self._places(header, body)
            if self.ledger is not None:
                self.ledger.note(source, header, runs)
            found = self._done(header, runs, data)
        except Exception as fault:  # whatever it is, the connection that it came by has to live
            refusal = _refusal(fault)
            if header.token:
                return (self._answer(source, header.token, refusal),)
            self._faults.setdefault(source, refusal)
            return ()
        if found is None:
            return ()
        return (
            SendRequest(
                source, RequestHeader(RequestKind.ANSWER, token=header.token).packed(), (found,)
            ),
        )

    def _done(
        self, header: RequestHeader, runs: Sequence[Run], data: memoryview
    ) -> memoryview | None:
        """Do what a request asks for; return what it wants to know. Raises Outside."""
        start, end = bounds_of(runs)
        memory = self.memory.part(header.start + start, header.start + end)
        runs = [one.moved(-start) for one in runs]
        if header.kind == RequestKind.PUT:
            scatter(memory, runs, data)
            return None
        if header.kind == RequestKind.GET:
            return gather(memory, runs)
        before = gather(memory, runs)
        if header.kind == RequestKind.COMPARE_AND_SWAP:
            compared, new = data[: len(before)], data[len(before) :]
            if compared == before:
                scatter(memory, runs, new)
            return before
        if header.operation == REPLACE:
            scatter(memory, runs, data)
        elif header.operation != NO_OP:
            after = self._reduce(header.operation, header.basic, data, before)
            scatter(memory, runs, after)
        return before if header.kind == RequestKind.GET_ACCUMULATE else None

    @staticmethod
    def _places(header: RequestHeader, body: memoryview) -> tuple[Sequence[Run], memoryview]:
        """Return the runs of a request, and its data. Raises Malformed."""
        end = RUN_BYTES * header.runs
        if len(body) < end:
            raise Malformed(f"{len(body)} bytes have no {header.runs} runs")
        runs = unpacked(body[:end]) if header.runs else [block(0, header.length)]
        if any(one.length < 0 or one.times < 0 for one in runs):
            raise Malformed("a block has less than no bytes")
        runs = [one for one in runs if one.length and one.times]  # else no bytes 2^60 times
        size, data = size_of(runs), body[end:]
        if header.kind != RequestKind.PUT and size > AT_ONCE:
            raise Malformed(f"{size} bytes are more than the {AT_ONCE} of one request")
        if len(data) != size * _parts(header):
            raise Malformed(f"{len(data)} bytes came for a place of {size}")
        return runs, data

    @staticmethod
    def _answer(source: int, token: int, refusal: Refusal | None) -> SendRequest:
        if refusal is None:
            return SendRequest(source, RequestHeader(RequestKind.ANSWER, token=token).packed())
        code, text = refusal
        told = memoryview(text.encode())
        return SendRequest(
            source, RequestHeader(RequestKind.ANSWER, code, token=token).packed(), (told,)
        )


def _parts(header: RequestHeader) -> int:
    """Return how many times the size of its place the data of a request have."""
    if header.kind == RequestKind.COMPARE_AND_SWAP:
        return 2
    is_read = header.kind == RequestKind.GET_ACCUMULATE and header.operation == NO_OP
    return 0 if is_read or header.kind == RequestKind.GET else 1


def _refusal(fault: Exception) -> Refusal:
    if isinstance(fault, Outside):
        return AnswerCode.OUTSIDE, str(fault)
    text = f"{type(fault).__name__}: {fault}"
    _log.warning("an access to the memory of a window failed here: %s", text)
    return AnswerCode.FAILED, text
