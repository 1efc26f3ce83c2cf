"""The port of a rank: requests of others, in their order, for the services that are open here.

A request has a key, which says whose it is, a header of a few bytes, and perhaps a body. Requests
of one source to one service are served in the order in which they were sent, one after the other.
A request with `OUT_OF_TURN` in the first byte of its header is served at once: an answer, which
would otherwise wait behind a request that waits for something.

A body comes in where the service wants it. It may begin to do so before its turn, as long as
nothing in front of it may have to wait; the service hears of it in its turn. A body whose turn is
far is left where it is, so that the connection holds its sender up.

Several small requests may come as the body of one, which `several` makes.

The port does no input or output, and owns no thread: whoever feeds it holds a lock.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, Protocol, TypeAlias

from gcm.records import dataclass

_log = logging.getLogger(__name__)

OUT_OF_TURN = 0x80
"""The bit in the first byte of a header whose request waits for no other one."""

SEVERAL = b"\x40"
"""The header of what carries other requests."""

_SIZES = Struct("<HI")


def several(requests: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return headers and bodies as the body of one request."""
    return b"".join(
        part
        for header, body in requests
        for part in (_SIZES.pack(len(header), len(body)), header, body)
    )


def _each(data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the requests in a body that `several` has made; raises ValueError for another one."""
    at = 0
    while at < len(data):
        header, body = _SIZES.unpack_from(data, at)
        at += _SIZES.size
        if not header or at + header + body > len(data):
            raise ValueError(f"{header} and {body} bytes of a request are not in {len(data)}")
        yield bytes(data[at : at + header]), data[at + header : at + header + body]
        at += header + body


@dataclass(frozen=True, slots=True)
class SendRequest:
    """An effect: a request or an answer goes to a process."""

    to: int
    header: bytes
    body: tuple[memoryview, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """An effect: the requests of a source, which had to wait, can be served now."""

    source: int


Effect: TypeAlias = SendRequest | Resume


class IncomingBody(Protocol):
    """A body that comes in, as the wire has it."""

    source: int
    size: int
    done: bool
    owner: Any
    payload: Any

    def give(self, buffer: memoryview, /) -> None:
        """Let it come into memory of its size."""

    def take(self) -> None:
        """Let it come into memory that is made for it."""


class BodyHere:
    """A body that is here already: of a request to oneself, or one of several."""

    __slots__ = ("done", "owner", "payload", "size", "source")

    def __init__(self, source: int, payload: memoryview | bytes) -> None:
        self.source, self.payload, self.size = source, payload, len(payload)
        self.done = False
        self.owner: Any = None

    def give(self, buffer: memoryview, /) -> None:
        """Copy it into memory."""
        buffer[:] = self.payload
        self.done = True

    def take(self) -> None:
        """Let it stay where it is: it is used at once."""
        self.done = True


class Service(Protocol):
    """What serves the requests of one key. The port calls it with the lock held."""

    def admits(self, source: int) -> bool:
        """Return whether the next request of a source can be served now."""

    def may_wait(self, header: bytes) -> bool:
        """Return whether requests behind this one may have to wait for more than its end."""

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:
        """Return where a body is to go; None for memory of its own."""

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        """Serve a request. It has no body where that went into the room for it."""

    def lost(self, source: int) -> Iterable[Effect]:
        """Go on without a process, from which nothing more will come."""

    def broken(self, source: int, fault: Exception) -> Iterable[Effect]:
        """Know that a request of a process cannot be read; nothing more of it is served."""


class ServicePort:
    """The services of a rank by their keys.

    `send` is called with a key and a `SendRequest`.
    """

    def __init__(self, send: Callable[[bytes, SendRequest], None]) -> None:
        self._send = send
        self._services: dict[bytes, Service] = {}
        self._streams: dict[tuple[bytes, int], _Stream] = {}
        self._due: deque[_Stream] = deque()
        self._is_serving = False

    def open(self, key: bytes, service: Service) -> None:
        """Serve the requests of a key from now on; nobody may have sent one before."""
        self._services[key] = service

    def close(self, key: bytes) -> None:
        """Serve a key no more; requests that come nevertheless are dropped."""
        self._services.pop(key, None)
        for known in [one for one in self._streams if one[0] == key]:
            self._streams.pop(known).end()

    def arrived(self, key: bytes, header: bytes, parcel: IncomingBody) -> None:
        """Take a request whose body is here or begins to come in."""
        service = self._services.get(key)
        if service is None:
            parcel.take()
            return
        if header[0] & OUT_OF_TURN:
            stream = _Stream(key, parcel.source, service, self)
        else:
            place = key, parcel.source
            known = self._streams.get(place)
            stream = known or self._streams.setdefault(
                place, _Stream(key, parcel.source, service, self)
            )
        stream.requests.append(_Request(header, parcel, stream))
        self.serve(stream)

    def lost(self, source: int) -> None:
        """Forget what a lost process has asked for, and tell the services."""
        for known in [one for one in self._streams if one[1] == source]:
            del self._streams[known]
        for key, service in tuple(self._services.items()):
            self.carry_out(key, service.lost(source))

    def carry_out(self, key: bytes, effects: Iterable[Effect]) -> None:
        """Carry out effects of a service, in their order."""
        for one in effects:
            if isinstance(one, SendRequest):
                self._send(key, one)
            else:
                stream = self._streams.get((key, one.source))
                if stream is not None:
                    self.serve(stream)

    def serve(self, stream: _Stream) -> None:
        """Serve requests of a stream, and of those that this lets go on: not one inside another."""
        self._due.append(stream)
        if self._is_serving:
            return
        self._is_serving = True
        try:
            while self._due:
                self._due.popleft().advance()
        finally:
            self._is_serving = False


class _Stream:
    """The requests of one source to one service that are not served yet."""

    __slots__ = ("_has_ended", "_key", "_port", "_service", "_source", "requests")

    def __init__(self, key: bytes, source: int, service: Service, port: ServicePort) -> None:
        self._key, self._source, self._service, self._port = key, source, service, port
        self.requests: deque[_Request] = deque()
        self._has_ended = False

    def advance(self) -> None:
        """Serve what can be served now, and let the next bodies come in.

        A request that the service cannot read is its own matter and not that of the connection, by
        which other services and messages come.
        """
        try:
            if not self._has_ended:
                self._advance()
        except Exception as fault:
            self._has_ended = True
            _log.exception("a request of process %d cannot be read", self._source)
            self._port.carry_out(self._key, self._service.broken(self._source, fault))
        if self._has_ended:
            self.end()

    def end(self) -> None:
        """Serve nothing more: what is here, or comes in, is for nobody."""
        self._has_ended = True
        for one in self.requests:
            one.pass_over()
        self.requests.clear()

    def _advance(self) -> None:
        requests, service, source = self.requests, self._service, self._source
        while requests:
            first = requests[0]
            out_of_turn = first.header[0] & OUT_OF_TURN
            if not out_of_turn and not service.admits(source):
                return
            first.begin(service)
            if not first.parcel.done:
                break
            requests.popleft()
            if first.header == SEVERAL:
                requests.extendleft(reversed(first.parts()))
                continue
            body = None if first.has_room else memoryview(first.parcel.payload or b"")
            self._port.carry_out(self._key, service.handle(source, first.header, body))
        for one in requests:
            one.begin(service)
            if one.header == SEVERAL or service.may_wait(one.header):
                return

    def landed(self) -> None:
        """Go on: a body has come in."""
        self._port.serve(self)


class _Request:
    """A request, and whether its body has begun to come in."""

    __slots__ = ("_has_begun", "_stream", "has_room", "header", "parcel")

    comes_from = None
    """It is no receive, which would be failed with its sender."""

    def __init__(self, header: bytes, parcel: IncomingBody, stream: _Stream) -> None:
        self.header, self.parcel, self._stream = header, parcel, stream
        self._has_begun = self.has_room = False

    def begin(self, service: Service) -> None:
        """Let the body come in where it belongs."""
        if self._has_begun:
            return
        parcel = self.parcel
        room = None
        if parcel.size and self.header != SEVERAL:
            room = service.room(parcel.source, self.header, parcel.size)
        self._has_begun = True  # where the service cannot read it, it is passed over
        if room is None:
            parcel.take()
        else:
            self.has_room = True
            parcel.give(room)
        if not parcel.done:
            parcel.owner = self

    def pass_over(self) -> None:
        """Let the body come in for nobody: the wire waits for it."""
        if not self._has_begun:
            self._has_begun = True
            self.parcel.take()

    def parts(self) -> list[_Request]:
        """Return the requests that it carries."""
        source, whole = self.parcel.source, memoryview(self.parcel.payload)
        return [
            _Request(header, BodyHere(source, body), self._stream) for header, body in _each(whole)
        ]

    def landed(self) -> None:
        """Go on: the body is complete."""
        self.parcel.owner = None
        self._stream.landed()
