"""How frames look on a connection: a head of fixed size, then what it announces.

Every frame begins with its kind, flags, the length of a message's head, a number and a size:

- MESSAGE: the next message of this pair; `number` counts them from 0, so their order does not
  depend on the connection. The message's head follows, and with `INLINE` its payload of `size`
  bytes too. Otherwise the payload comes in segments.
- SEGMENT: `size` bytes of the payload of message `number`, from the byte on that the eight bytes
  behind the frame's head tell. With `ASKS` the sender waits to hear of the `WHOLE` payload.
- TAKEN: the receiver has matched messages that weigh `size`; as much more may be sent.
- MATCHED: the receiver has matched message `number`, which asked to be told (`ASKS`).
- CAME: all up to byte `number` of what this end receives has come.
- GO: this end is going to use the connection. It has come to byte `number`, and has written up to
  byte `size`. The acceptor says it first; with `AGAIN` it waits for the other one's.
- REST: this end would close the connection, with which nothing is wrong; REST_TOO: so would the
  other one, or STAY: it would not.
- BYE: nothing will follow; BYE_TOO: it has been read.
- WHOLE: the payload of message `number` has come, which asked for that in its segments.
- LANE: the other connection on which this is said is lane `number` of the pair. SEGMENTs are all
  that follows there.
- LANE_OVER: lane `number` is not read any more; of what was written to it `size` bytes have come.
- WIDEN: this end would send over `size` connections; with 0 it has no room for more than one now.

Each direction of a pair is one stream of frames, over all its connections one after another. Its
bytes are counted from 0 as soon as there is a connection that can be resumed (`RESUMES`); what says
GO is not part of it.
"""

from __future__ import annotations

from struct import Struct

from gcm.records import dataclass
from runtime.wire.errors import BadFrame

HEAD = Struct("<BBHQQ")  # kind, flags, length of the message's head, number, size
HEAD_SIZE = HEAD.size
SEGMENT_HEAD = Struct("<BBHQQQ")  # and from which byte on
SEGMENT_SIZE = SEGMENT_HEAD.size
OFFSET_SIZE = SEGMENT_SIZE - HEAD_SIZE

MESSAGE, SEGMENT, TAKEN, MATCHED, GO, BYE, BYE_TOO, CAME, REST, REST_TOO, STAY = range(1, 12)
WHOLE, LANE, LANE_OVER, WIDEN = range(12, 16)
INLINE, ASKS = 1, 2
RESUMES, AGAIN = 1, 2

MOST_HEAD = 4096
"""How long the head of a message may be."""

MOST_INLINE = 8 << 10
"""Payloads of up to this many bytes always travel with their heads."""

MOST_SEGMENT = 256 << 10
"""How many bytes of a payload go in one piece, before others have their turn."""

MOST_BYTES = 1 << 40
"""How large a payload may be: 1 TiB."""

MOST_COPIED = MOST_SEGMENT
"""Where a connection can be resumed, payloads of up to this many bytes are copied to be sent.

Larger ones stay where they are until all of them has come, which the receiver tells at once.
"""

pack = HEAD.pack
unpack_from = HEAD.unpack_from
pack_segment = SEGMENT_HEAD.pack
unpack_segment = SEGMENT_HEAD.unpack_from


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """What the other end says: its flags, how much has come to it, and how much it has written.

    `rest` is what came behind.
    """

    flags: int
    position: int
    written: int
    rest: bytes


def check(kind: int, flags: int, head: int, size: int) -> None:
    """Raise `BadFrame` unless a frame can have such a head."""
    if kind == MESSAGE:
        if head > MOST_HEAD:
            raise BadFrame(f"the head of a message has {head} bytes; {MOST_HEAD} are allowed")
        if not size and not flags & INLINE:
            raise BadFrame("a message without a payload says that it comes in segments")
        most = MOST_SEGMENT if flags & INLINE else MOST_BYTES
    elif kind == SEGMENT:
        if not size or head != OFFSET_SIZE:
            raise BadFrame("a segment has no bytes, or does not tell which ones it has")
        most = MOST_SEGMENT
    elif 0 < kind <= WIDEN:
        return
    else:
        raise BadFrame(
            f"what was received is not a frame: there is no kind {kind}",
            cure="Both ends have to run the same version of this package",
        )
    if size > most:
        raise BadFrame(f"a frame announces {size} bytes; {most} are allowed")
