"""Frames: how messages are cut out of a stream of bytes. A machine without input or output.

A frame is a kind, a number, and parts of any length. Its head says how long each part is, so that
a large part can be read into the memory where it stays.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from mmap import MADV_HUGEPAGE, MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct

from runtime.transport.errors import FrameError

Part = bytes | bytearray | memoryview

MARK = b"GF"
HEAD = Struct("!2sBHQ")  # mark, kind, number of parts, number of the message
LENGTH = 8
MOST_PARTS = 4096
MOST_BYTES = 1 << 36
"""How large a frame may be if nobody says otherwise: 64 GiB."""

AT_ONCE = 16 << 20
"""How much memory is taken ahead of what comes: 16 MiB, whatever is announced."""

ZEROED = 1 << 18
"""Room of so many bytes is zeroed before something is put there: that takes as good as no time."""

SMALL = 1 << 12
"""Frames with fewer bytes in their parts leave in one piece."""

STAGE = 1 << 16
"""Parts that lack at least this many bytes are received right where they stay."""


class Frame:
    """One message as it travels: what kind, which number, and its parts."""

    __slots__ = ("kind", "number", "parts")

    def __init__(self, kind: int, number: int, parts: Sequence[Part]) -> None:
        self.kind = kind
        self.number = number
        self.parts = parts

    @property
    def size(self) -> int:
        """The bytes of all parts."""
        return sum(map(len, self.parts))

    def head(self) -> bytes:
        """Return the bytes that go before the parts.

        Raises:
            FrameError: there are more parts than a frame can have.
        """
        count = len(self.parts)
        if count > MOST_PARTS:
            raise FrameError(
                f"a frame has at most {MOST_PARTS} parts, this one {count}",
                cure="Send fewer arrays in one call, or join them into one",
            )
        whole = _HEADS[count] if count < len(_HEADS) else Struct(f"{HEAD.format}{count}Q")
        return whole.pack(MARK, self.kind, count, self.number, *map(len, self.parts))

    def pieces(self) -> list[Part]:
        """Return the bytes to send: a small frame in one piece, the parts of a large one each.

        Raises:
            FrameError: there are more parts than a frame can have.
        """
        parts = self.parts
        if len(parts) == _USUAL:  # faster than for any number
            first, second, third = parts
            one, two, three = len(first), len(second), len(third)
            head = _usual_head(MARK, self.kind, _USUAL, self.number, one, two, three)
            size = one + two + three
        else:
            head, size = self.head(), self.size
        return [b"".join((head, *parts))] if size < SMALL else [head, *parts]


class FrameReader:
    """Makes frames of what is received.

    The owner asks for `space()`, receives into it, and tells how much came with `filled()`, which
    returns the frames that are complete now.

    >>> reader = FrameReader()
    >>> frame = Frame(1, 7, [b"hello"])
    >>> [(f.kind, f.number, bytes(f.parts[0])) for f in reader.feed(frame.head() + b"hello")]
    [(1, 7, b'hello')]
    """

    def __init__(self, most_bytes: int = MOST_BYTES, at_once: int = AT_ONCE) -> None:
        self._most = most_bytes
        self._at_once = at_once
        self._stage = bytearray(STAGE)
        self._room = memoryview(self._stage)
        self._staged = 0
        self._kind = self._number = 0
        self._missing: list[int] | None = None  # lengths of the parts still to come, the next last
        self._parts: list[Part] = []
        self._part: memoryview | None = None  # what is coming in now, in the memory where it stays

    @property
    def is_between_frames(self) -> bool:
        """Whether the stream may end here."""
        return self._missing is None and not self._staged

    def space(self) -> memoryview:
        """Return where the next bytes have to go."""
        if self._part is not None and len(self._part) >= STAGE:
            return self._part
        return self._room[self._staged :] if self._staged else self._room

    def filled(self, count: int) -> list[Frame]:
        """Take note that `count` bytes were put into the space; return the frames they complete.

        Raises:
            FrameError: the bytes are no frame, or one beyond the limits. The reader is of no use
                after that: nobody knows where the next frame begins.
        """
        done: list[Frame] = []
        if self._part is not None and len(self._part) >= STAGE:
            self._advance(count, done)
        else:
            self._unstage(self._staged + count, done)
        return done

    def feed(self, data: Part) -> list[Frame]:
        """Take bytes that were received elsewhere; return the frames they complete."""
        found: list[Frame] = []
        rest = memoryview(data)
        while rest:
            space = self.space()
            count = min(len(space), len(rest))
            space[:count] = rest[:count]
            rest = rest[count:]
            found += self.filled(count)
        return found

    def _unstage(self, end: int, done: list[Frame]) -> None:
        """Move what is staged up to `end` to where it belongs; an incomplete head stays."""
        begin = 0
        while begin < end:
            if self._part is not None:
                count = min(len(self._part), end - begin)
                self._part[:count] = self._room[begin : begin + count]
                begin += count
                self._advance(count, done)
                continue
            after = self._take_head(begin, end, done)
            if after == begin:
                break
            begin = after
        self._staged = end - begin
        if begin and self._staged:
            self._room[: self._staged] = self._stage[begin:end]

    def _take_head(self, begin: int, end: int, done: list[Frame]) -> int:
        """Read the head at `begin`, and the frame if all of it is here; return what is behind it.

        That is `begin` if the head is not complete yet.
        """
        stage = self._stage
        if end - begin < HEAD.size:
            if not MARK.startswith(stage[begin : min(end, begin + len(MARK))]):
                raise _no_frame()
            return begin
        count: int
        mark, kind, count, number = HEAD.unpack_from(stage, begin)
        if mark != MARK:
            raise _no_frame()
        if count > MOST_PARTS:
            raise FrameError(f"a frame says it has {count} parts; at most {MOST_PARTS} are allowed")
        at = begin + HEAD.size + count * LENGTH
        if end < at:
            return begin
        whole = _LENGTHS[count] if count < len(_LENGTHS) else Struct(f"!{count}Q")
        lengths: tuple[int, ...] = whole.unpack_from(stage, begin + HEAD.size)
        total = sum(lengths)
        if total > self._most:
            raise FrameError(
                f"a frame says it has {total} bytes; at most {self._most} are allowed",
                cure="Send less in one call, or raise the limit of both ends",
            )
        if at + total > end:
            self._kind, self._number, self._missing = kind, number, list(lengths[::-1])
            self._next_part(done)
            return at
        parts = []
        for length in lengths:
            parts.append(stage[at : at + length])
            at += length
        done.append(Frame(kind, number, parts))
        return at

    def _advance(self, count: int, done: list[Frame]) -> None:
        assert self._part is not None
        self._part = self._part[count:]
        if not self._part:
            self._next_part(done)

    def _next_part(self, done: list[Frame]) -> None:
        """Make room for the next part that has any bytes, or finish the frame."""
        assert self._missing is not None
        while self._missing:
            size = self._missing.pop()
            part = _room(size) if size <= self._at_once else _mapped(size)
            self._parts.append(part)
            if size:
                self._part = memoryview(part)
                return
        done.append(Frame(self._kind, self._number, self._parts))
        self._missing, self._part, self._parts = None, None, []


def _room(size: int) -> Part:
    """Return room that is there as a whole; a large one is not zeroed first, which takes long."""
    # whoever gets arrays has numpy, and whoever gets anything else does not need it
    empty = getattr(sys.modules.get("numpy"), "empty", None) if size > ZEROED else None
    return bytearray(size) if empty is None else memoryview(empty(size, "B"))


def _mapped(size: int) -> memoryview:
    """Return room of which each page takes memory only once something is put there."""
    try:
        room = mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise FrameError(
            f"there is no memory for a part of {size} bytes",
            cure="Send less in one call",
        ) from error
    with suppress(OSError):  # a system without huge pages takes small ones, one by one
        room.madvise(MADV_HUGEPAGE)
    return memoryview(room)


def _no_frame() -> FrameError:
    return FrameError(
        "what was received is not a frame",
        cure="Something else than this package writes to the connection",
    )


_LENGTHS = tuple(Struct(f"!{count}Q") for count in range(8))
_HEADS = tuple(Struct(f"{HEAD.format}{count}Q") for count in range(8))
"""How frames with few parts are read and written; for others that is made when it is needed."""

_USUAL = 3
_usual_head = _HEADS[_USUAL].pack
