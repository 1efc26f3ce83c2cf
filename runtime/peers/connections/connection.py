"""One connection to a member of a lab: calls go out and answers come back, one after the other."""

from __future__ import annotations

import itertools
import socket
import ssl
import threading
import time
from contextlib import suppress
from functools import partial
from typing import Any, Self, TypeVar, cast

from gcm.interfaces.stub import stub_class
from runtime.peers.connections.calls import Call, call_frame, opened
from runtime.peers.connections.sockets import PeerSocket, why_refused
from runtime.peers.contracts import CONTRACTS
from runtime.peers.errors import PeerError, PeerUnreachable, Refused
from runtime.peers.model import Address, Principal
from runtime.transport.errors import FrameError
from runtime.transport.frames import Frame, FrameReader

C = TypeVar("C")
CALL_TIMEOUT = 10.0
"""How many seconds an answer may take if nobody says otherwise."""


AT_ONCE = 64 << 10
"""Bytes of memory taken ahead for what is announced: somebody may announce much, and send nothing.
"""


class Frames:
    """Frames over a socket; reading and writing may be done by two threads."""

    def __init__(self, opened_socket: PeerSocket, most_bytes: int) -> None:
        self.socket = opened_socket
        self._reader = FrameReader(most_bytes, AT_ONCE)
        self._come: list[Frame] = []

    @property
    def is_idle(self) -> bool:
        """Whether everything that has come was read."""
        return not self._come and self._reader.is_between_frames

    def send(self, frame: Frame) -> None:
        """Send a frame; raises OSError."""
        self.socket.sendall(frame.head())
        for part in frame.parts:
            if part:
                self.socket.sendall(part)

    def receive(self, deadline: float | None = None) -> Frame | None:
        """Return the next frame, None where the other end has hung up between two.

        All of it has to come until `deadline`, by the monotonic clock.

        Raises:
            OSError: nothing came for too long, or the connection broke.
            FrameError: what was received is not a frame.
        """
        while not self._come:
            if deadline is not None:
                self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            space = self._reader.space()
            count = self.socket.recv_into(space)
            if not count:
                if self._reader.is_between_frames:
                    return None
                raise ConnectionError("the connection ended in the middle of a frame")
            del space
            self._come = self._reader.filled(count)
            if deadline is not None and not self._come and time.monotonic() >= deadline:
                raise TimeoutError("what came was no whole frame in time")
        return self._come.pop(0)


class MemberConnection:
    """A connection that this process has opened; any thread may call.

    with dialler.dial(Address("lab7", 7700), Principal.parse("peer:host7")) as connection:
        connection.stub(LabMembership).ping(me)
    """

    def __init__(self, frames: Frames, address: Address) -> None:
        self._frames = frames
        self._lock = threading.Lock()
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
            made._set_port(operation, partial(self._call, CONTRACTS[contract], operation, timeout))
        return cast(C, made)

    def _call(self, service: str, operation: str, timeout: float, *arguments: Any) -> Any:
        with self._lock:
            number = next(self._numbers)
            call = Call(service, operation, arguments)
            try:
                deadline = time.monotonic() + timeout
                self._frames.socket.settimeout(timeout)
                self._frames.send(call_frame(number, call))
                frame = self._frames.receive(deadline)
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
        """Hang up."""
        self._frames.socket.close()

    def hang_up(self) -> None:
        """End it from any thread: a call that goes on in another one raises PeerUnreachable."""
        with suppress(OSError):
            self._frames.socket.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        """Return the connection."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def operations(contract: type[Any]) -> tuple[str, ...]:
    """Return the names of the operations of a contract."""
    return stub_class(contract)._operations
