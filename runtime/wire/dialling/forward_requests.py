"""The requests to a forwarding front-end, and its answers. Pure."""

from __future__ import annotations

from struct import Struct

from runtime.transport.errors import FrameError

MARK = b"GO"
DONE, REFUSED, SILENT = b"OK", b"NO", b"ZZ"
HEAD = Struct("!2sH")  # magic number, and length of the text that follows
LONGEST = 4096
MOST_STOPS = 8


_MEET = "meet:"
_COUPLED = "coupled:"

LINK = "front-end"
"""The stop that means the front-end itself."""


def meeting(token: str) -> str:
    """Return the last stop of two requests that are to be joined."""
    return _MEET + token


def coupled_stop(rank: str) -> str:
    """Return the last stop of a route to where a rank accepts other codes."""
    return _COUPLED + rank


class ForwardRequest:
    """The stops that a connection is to pass, the last of which is its end.

    A stop is written as its identifier: `0:1` is the front-end of a cluster, `0:1:2` a rank. A last
    stop that nobody can connect to connects to the front-end before it: both ends name the same
    `meeting` there, and are joined.

    >>> meeting("7f3a")
    'meet:7f3a'
    """

    def __init__(self, stops: tuple[str, ...]) -> None:
        self.stops = stops

    @property
    def meets(self) -> bool:
        """Whether the last stop is a meeting."""
        return len(self.stops) == 1 and self.stops[0].startswith(_MEET)

    @property
    def is_link(self) -> bool:
        """Whether the last stop is the front-end itself."""
        return self.stops == (LINK,)

    def written(self) -> bytes:
        """Return the bytes to send."""
        text = " ".join(self.stops).encode()
        return HEAD.pack(MARK, len(text)) + text


class Answer:
    """The answer to a request: the route is open, or why it is not.

    `is_silent` means that the kernel of the last stop accepted the connection and its process did
    not answer: it exists but does not run now.
    """

    def __init__(self, why: str = "", *, is_silent: bool = False) -> None:
        self.why = why
        self.is_silent = is_silent

    @property
    def is_open(self) -> bool:
        """Whether the bytes that follow come from the other end."""
        return not self.why

    def written(self) -> bytes:
        """Return the bytes to send."""
        text = self.why.encode()[:LONGEST]
        mark = SILENT if self.is_silent else REFUSED if text else DONE
        return HEAD.pack(mark, len(text)) + text


class _Reader:
    """Reads one text from received bytes; `rest` is what followed it."""

    def __init__(self, *marks: bytes) -> None:
        self._marks = marks
        self.rest = b""

    def _text(self, received: bytes) -> tuple[bytes, str] | None:
        self.rest += received
        if len(self.rest) < HEAD.size:
            return None
        mark, size = HEAD.unpack_from(self.rest)
        if mark not in self._marks or size > LONGEST:
            raise FrameError("what came is nothing that front-ends say to each other")
        end = HEAD.size + size
        if len(self.rest) < end:
            return None
        text = self.rest[HEAD.size : end].decode(errors="replace")
        self.rest = self.rest[end:]
        return mark, text


class RequestReader(_Reader):
    """Reads a request.

    >>> reader = RequestReader()
    >>> request = reader.feed(ForwardRequest(("0:1", "0:1:2")).written() + b"hello")
    >>> request.stops, reader.rest
    (('0:1', '0:1:2'), b'hello')
    """

    def __init__(self) -> None:
        super().__init__(MARK)

    def feed(self, received: bytes) -> ForwardRequest | None:
        """Return the request once it is complete; raises FrameError."""
        found = self._text(received)
        if found is None:
            return None
        stops = tuple(found[1].split())
        if not 0 < len(stops) <= MOST_STOPS:
            raise FrameError(f"a route over {len(stops)} stops; 1 to {MOST_STOPS} are allowed")
        return ForwardRequest(stops)


class AnswerReader(_Reader):
    """Reads an answer."""

    def __init__(self) -> None:
        super().__init__(DONE, REFUSED, SILENT)

    def feed(self, received: bytes) -> Answer | None:
        """Return the answer once it is complete; raises FrameError."""
        found = self._text(received)
        if found is None:
            return None
        mark, why = found
        if mark == DONE:
            return Answer()
        return Answer(why or "no reason was given", is_silent=mark == SILENT)
