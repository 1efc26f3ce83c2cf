"""One connection to a member of a lab: calls go out and answers come back, one after the other."""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import partial
from struct import Struct
from typing import Any, Self, TypeVar, cast

from gcm.interfaces.stub import stub_class
from gcm.records import dataclass
from runtime.peers.connections.calls import MOST_BYTES, Call, call_frame, opened
from runtime.peers.connections.sockets import PeerSocket, why_refused
from runtime.peers.contracts import ANSWER_SIZES, CONTRACTS, CallSize, LabMembership
from runtime.peers.errors import PeerError, PeerUnreachable, Refused
from runtime.peers.model import Address, Principal
from runtime.transport.errors import FrameError
from runtime.transport.frames import HEAD, LENGTH, MARK, Frame
from runtime.transport.round_trip import round_trip

C = TypeVar("C")
CALL_TIMEOUT = 10.0
"""How many seconds an answer may take if nobody says otherwise."""


WHOLE_TIMEOUT = 30.0
"""How many seconds a frame may take from its first byte to its last one."""

PINGS = 3
"""How many messages make one sample of a round trip; the shortest counts."""

MOST_PARTS = 8
_PIECE = 16 << 10


class Frames:
    """Frames over a socket; reading and writing may be done by two threads.

    Memory is taken for what has come, never for what is announced.
    """

    def __init__(self, opened_socket: PeerSocket) -> None:
        self.socket = opened_socket
        self._room = memoryview(bytearray(_PIECE))

    @property
    def is_idle(self) -> bool:
        """Whether everything that has come was read."""
        return not self.socket.pending()

    def send(self, frame: Frame) -> None:
        """Send a frame; raises OSError."""
        self.socket.sendall(frame.head())
        for part in frame.parts:
            if part:
                self.socket.sendall(part)

    def receive(self, deadline: float, size: CallSize = CallSize()) -> Frame | None:  # noqa: B008 - frozen
        """Return the next frame, None where the other end has hung up between two.

        All of it has to come until `deadline`, by the monotonic clock.

        Raises:
            OSError: it did not come in time, or the connection broke.
            FrameError: what was received is not a frame, or a larger one.
        """
        coming = self.coming(deadline - time.monotonic(), deadline)
        if coming is None:
            return None
        return coming.whole([coming.take(size.text)], size)

    def coming(
        self, patience: float, deadline: float | None = None, whole: float = WHOLE_TIMEOUT
    ) -> ComingFrame | None:
        """Return the next frame as soon as its head is there; None where the other end hung up.

        `patience` is how many seconds its first byte may take, `deadline` when the last one has to
        be there: `whole` seconds after the first one, if none is given. Raises as `receive` does.
        """
        first = self._some(1, time.monotonic() + patience)
        if not first:
            return None
        deadline = time.monotonic() + whole if deadline is None else deadline
        head = bytes(first) + self.exactly(HEAD.size - 1, deadline)
        mark, kind, count, number = HEAD.unpack(head)
        if mark != MARK or count > MOST_PARTS:
            raise FrameError("what was received is not a frame of a member")
        lengths = Struct(f"!{count}Q").unpack(self.exactly(count * LENGTH, deadline))
        if sum(lengths) > MOST_BYTES:
            raise FrameError(f"a frame says it has {sum(lengths)} bytes")
        return ComingFrame(self, kind, number, list(lengths), deadline)

    def exactly(self, count: int, deadline: float, *, is_kept: bool = True) -> bytearray:
        """Return so many bytes, or forget them; raises OSError."""
        found, left = bytearray(), count
        while left:
            some = self._some(left, deadline)
            if not some:
                raise ConnectionError("the connection ended in the middle of a frame")
            left -= len(some)
            if is_kept:
                found += some
            if left and time.monotonic() >= deadline:
                raise TimeoutError("what came was no whole frame in time")
        return found

    def _some(self, most: int, deadline: float) -> memoryview:
        self.socket.settimeout(max(0.001, deadline - time.monotonic()))
        return self._room[: self.socket.recv_into(self._room[:most])]


@dataclass(slots=True)
class ComingFrame:
    """A frame of which the head has come: the lengths of the parts that are still to come."""

    frames: Frames
    kind: int
    number: int
    lengths: list[int]
    deadline: float

    def take(self, most: int) -> bytearray:
        """Return the next part; raises OSError, or FrameError if there is none, or a larger one."""
        if not self.lengths or self.lengths[0] > most:
            raise FrameError(f"a frame came whose next part is none of at most {most} bytes")
        return self.frames.exactly(self.lengths.pop(0), self.deadline)

    def whole(self, parts: list[bytearray], size: CallSize) -> Frame:
        """Return the frame: parts that have come, and the others; raises OSError, FrameError."""
        if sum(self.lengths) > size.data:
            raise FrameError(f"a frame came with more than {size.data} bytes of data")
        others = [self.take(size.data) for _ in list(self.lengths)]
        return Frame(self.kind, self.number, [*parts, *others])

    def skip(self) -> None:
        """Let go of what is still to come; raises OSError."""
        self.frames.exactly(sum(self.lengths), self.deadline, is_kept=False)
        self.lengths.clear()


class MemberConnection:
    """A connection that this process has opened; any thread may call.

    with dialler.dial(Address("lab7", 7700), Principal.parse("peer:host7")) as connection:
        connection.stub(LabMembership).ping(me)
    """

    def __init__(self, frames: Frames, address: Address) -> None:
        self._frames = frames
        self._lock = threading.RLock()  # a call that fails closes the connection
        self._numbers = itertools.count(1)
        self.address = address

    @property
    def principal(self) -> Principal:
        """Who is at the other end."""
        return self._frames.socket.principal

    @property
    def socket(self) -> PeerSocket:
        """What it goes over."""
        return self._frames.socket

    @property
    def place(self) -> str:
        """What messages call the other end."""
        return f"{self.principal} at {self.address}"

    def stub(self, contract: type[C], timeout: float = CALL_TIMEOUT) -> C:
        """Return an object with the operations of a contract; each may take so many seconds.

        Its operations raise `Refused` as the other end does, and `PeerUnreachable` where no answer
        comes. After the latter the connection is of no use.
        """
        made = stub_class(contract)(self)
        for operation in made._operations:
            size = ANSWER_SIZES.get((contract, operation), CallSize())
            called = partial(self._call, CONTRACTS[contract], operation, timeout, size)
            made._set_port(operation, called)
        return cast(C, made)

    def round_trip(self, caller: str) -> float:
        """Return the seconds that a message and its answer are under way; raises PeerError.

        A busy host answers late, so what Linux has measured of the packets counts if that is less.
        """
        membership, shortest = self.stub(LabMembership), float("inf")
        for _ in range(PINGS):
            began = time.monotonic()
            membership.ping(caller)
            shortest = min(shortest, time.monotonic() - began)
        packets = round_trip(self.socket)
        return shortest if packets is None or not packets[1] else min(shortest, packets[1])

    def _call(
        self, service: str, operation: str, timeout: float, size: CallSize, *arguments: Any
    ) -> Any:
        with self._lock:
            number = next(self._numbers)
            call = Call(service, operation, arguments)
            try:
                deadline = time.monotonic() + timeout
                self._frames.socket.settimeout(timeout)
                self._frames.send(call_frame(number, call))
                frame = self._frames.receive(deadline, size)
            except ssl.SSLError as error:
                self.close()
                raise why_refused(error) from error
            except (OSError, FrameError) as error:
                self.close()
                raise self._broken(str(call), timeout, error) from error
        if frame is None or frame.number != number:
            self.close()
            raise self._broken(str(call), timeout, None)
        answer = opened(frame)
        if isinstance(answer, Refused):
            answer.place = answer.place or self.place
            raise answer
        return answer

    def _broken(self, call: str, timeout: float, error: Exception | None) -> PeerError:
        if isinstance(error, TimeoutError):
            what = f"{call} was not answered within {timeout:g} s"
        else:
            what = f"the connection ended before {call} was answered"
        return PeerUnreachable(
            what,
            place=self.place,
            cause=str(error or ""),
            cure="The peer has ended, is stopped, or the network does not let it through",
        )

    def detach(self) -> PeerSocket:
        """Return the socket, for bytes that are no calls; the connection is of no use any more."""
        return self._frames.socket

    def close(self) -> None:
        """End it, from any thread: a call that goes on in another one raises PeerUnreachable."""
        with suppress(OSError):
            self._frames.socket.shutdown(socket.SHUT_RDWR)  # a call does not notice a mere close
        with self._lock:
            self._frames.socket.close()

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def operations(contract: type[Any]) -> tuple[str, ...]:
    """Return the names of the operations of a contract."""
    return stub_class(contract)._operations
