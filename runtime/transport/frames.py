"""Frames: how messages are cut out of a stream of bytes. A machine without input or output.

A frame is a kind, a number, and parts of any length. Its head says how long each part is, so that
a large part can be read into the memory where it stays.
"""

from __future__ import annotations

from struct import Struct

from runtime.transport.errors import FrameError

TYPE_CHECKING = False  # known to type checkers; a rank that starts up does without `typing`
if TYPE_CHECKING:
    from collections.abc import Sequence

Part = bytes | bytearray | memoryview

MARK = b"GF"
HEAD = Struct("!2sBHQ")  # mark, kind, number of parts, number of the message
LENGTH = 8
MOST_PARTS = 4096
MOST_BYTES = 1 << 36
"""How large a frame may be if nobody says otherwise: 64 GiB."""

AT_ONCE = 16 << 20
"""How much memory is taken ahead of what comes: 16 MiB, whatever is announced."""

_STEP = 1 << 18

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
        return self._head([*map(len, self.parts)])

    def pieces(self) -> list[Part]:
        """Return the bytes to send: a small frame in one piece, the parts of a large one each.

        Raises:
            FrameError: there are more parts than a frame can have.
        """
        lengths = [*map(len, self.parts)]
        pieces = [self._head(lengths), *self.parts]
        return [b"".join(pieces)] if sum(lengths) < SMALL else pieces

    def _head(self, lengths: list[int]) -> bytes:
        count = len(lengths)
        if count < len(_HEADS):
            return _HEADS[count].pack(MARK, self.kind, count, self.number, *lengths)
        if count > MOST_PARTS:
            raise FrameError(
                f"a frame has at most {MOST_PARTS} parts, this one {count}",
                cure="Send fewer arrays in one call, or join them into one",
            )
        whole = Struct(f"{HEAD.format}{count}Q")
        return whole.pack(MARK, self.kind, count, self.number, *lengths)


class FrameReader:
    """Makes frames of what is received.

    The owner asks for `space()`, receives into it, and tells how much came with `filled()`, which
    returns the frames that are complete now.

    >>> reader = FrameReader()
    >>> frame = Frame(1, 7, [b"hello"])
    >>> [(f.kind, f.number, bytes(f.parts[0])) for f in reader.feed(frame.head() + b"hello")]
    [(1, 7, b'hello')]
    """

    __slots__ = ("_at_once", "_done", "_kind", "_later", "_missing", "_most", "_number", "_part",
                 "_parts", "_stage", "_staged")  # fmt: skip

    def __init__(self, most_bytes: int = MOST_BYTES, at_once: int = AT_ONCE) -> None:
        self._most = most_bytes
        self._at_once = at_once
        self._stage = memoryview(bytearray(STAGE))
        self._staged = 0
        self._kind = self._number = 0
        self._missing: list[int] | None = None  # lengths of the parts still to come, the next last
        self._parts: list[bytearray] = []
        self._part: memoryview | None = None  # what is coming in now, in the memory where it stays
        self._later = 0  # how much of that part has no memory yet
        self._done: list[Frame] = []

    @property
    def is_between_frames(self) -> bool:
        """Whether the stream may end here."""
        return self._missing is None and not self._staged

    def space(self) -> memoryview:
        """Return where the next bytes have to go."""
        if self._part is not None and len(self._part) >= STAGE:
            return self._part
        return self._stage[self._staged :]

    def filled(self, count: int) -> list[Frame]:
        """Take note that `count` bytes were put into the space; return the frames they complete.

        Nobody may keep the space: it is not where the next bytes go.

        Raises:
            FrameError: the bytes are no frame, or one beyond the limits. The reader is of no use
                after that: nobody knows where the next frame begins.
        """
        if self._part is not None and len(self._part) >= STAGE:
            self._advance(count)
        else:
            self._staged += count
            self._unstage()
        done, self._done = self._done, []
        return done

    def feed(self, data: Part) -> list[Frame]:
        """Take bytes that were received elsewhere; return the frames they complete."""
        found: list[Frame] = []
        rest = memoryview(data)
        while rest:
            space = self.space()
            count = min(len(space), len(rest))
            space[:count] = rest[:count]
            del space  # memory cannot grow while somebody looks at it
            rest = rest[count:]
            found += self.filled(count)
        return found

    def _unstage(self) -> None:
        """Move what is staged to where it belongs; an incomplete head stays."""
        begin, end = 0, self._staged
        while begin < end:
            if self._missing is None:
                size = self._take_head(begin, end)
                if not size:
                    break
                begin += size
            elif self._part is not None:
                count = min(len(self._part), end - begin)
                self._part[:count] = self._stage[begin : begin + count]
                self._advance(count)
                begin += count
        self._staged = end - begin
        if begin and self._staged:
            self._stage[: self._staged] = bytes(self._stage[begin:end])

    def _take_head(self, begin: int, end: int) -> int:
        """Read the head at `begin`, and the frame if all of it is here; return how much that was.

        That is 0 if the head is not complete yet.
        """
        if end - begin < HEAD.size:
            if not MARK.startswith(self._stage[begin : min(end, begin + len(MARK))]):
                raise _no_frame()
            return 0
        count: int
        mark, kind, count, number = HEAD.unpack_from(self._stage, begin)
        if mark != MARK:
            raise _no_frame()
        if count > MOST_PARTS:
            raise FrameError(f"a frame says it has {count} parts; at most {MOST_PARTS} are allowed")
        size = HEAD.size + count * LENGTH
        if end - begin < size:
            return 0
        whole = _LENGTHS[count] if count < len(_LENGTHS) else Struct(f"!{count}Q")
        lengths: tuple[int, ...] = whole.unpack_from(self._stage, begin + HEAD.size)
        total = sum(lengths)
        if total > self._most:
            raise FrameError(
                f"a frame says it has {total} bytes; at most {self._most} are allowed",
                cure="Send less in one call, or raise the limit of both ends",
            )
        if begin + size + total <= end:  # all of it is here
            self._done.append(Frame(kind, number, self._cut(begin + size, lengths)))
            return size + total
        self._kind, self._number, self._missing = kind, number, list(lengths[::-1])
        self._next_part()
        return size

    def _cut(self, begin: int, lengths: Sequence[int]) -> list[bytearray]:
        """Return the parts that are staged from `begin` on."""
        parts = []
        for length in lengths:
            parts.append(bytearray(self._stage[begin : begin + length]))
            begin += length
        return parts

    def _advance(self, count: int) -> None:
        assert self._part is not None
        self._part = self._part[count:]
        if not self._part:
            if self._later:
                self._grow()
            else:
                self._next_part()

    def _grow(self) -> None:
        """Take memory for more of the part that is coming in."""
        part, self._part = self._parts[-1], None
        begun = len(part)
        more = min(self._later, self._at_once)
        nothing = memoryview(bytes(min(more, _STEP)))  # small enough to stay in the cache
        try:
            for done in range(0, more, _STEP):
                part.extend(nothing[: more - done])
        except MemoryError as error:
            raise FrameError(
                f"there is no memory for a part of {begun + self._later} bytes",
                cure="Send less in one call",
            ) from error
        self._later -= more
        self._part = memoryview(part)[begun:]

    def _next_part(self) -> None:
        """Make room for the next part that has any bytes, or finish the frame."""
        assert self._missing is not None
        while self._missing:
            size = self._missing.pop()
            part = bytearray(min(size, self._at_once))
            self._parts.append(part)
            if size:
                self._later = size - len(part)
                self._part = memoryview(part)
                return
        self._done.append(Frame(self._kind, self._number, self._parts))
        self._missing, self._part, self._parts = None, None, []


def _no_frame() -> FrameError:
    return FrameError(
        "what was received is not a frame",
        cure="Something else than this package writes to the connection",
    )


_LENGTHS = tuple(Struct(f"!{count}Q") for count in range(8))
_HEADS = tuple(Struct(f"{HEAD.format}{count}Q") for count in range(8))
"""How heads of frames with few parts are written; for others that is made when it is needed."""
