"""What a rank needs of a channel: dial, prove, send and receive, waiting for each. Imports little.

It stands alone beside the program that it serves: no thread, no component model, no arrays.
"""

from __future__ import annotations

import _socket  # not `socket`: that also imports selectors, and a rank has no use for either
import os
import time
from typing import TYPE_CHECKING, Any, Self

from runtime.transport.credentials import AGREE, NONCE, Credentials, Dialler
from runtime.transport.encryption import is_set_up, secured
from runtime.transport.errors import (
    AuthenticationFailed,
    ChannelClosed,
    FrameError,
    TransportError,
    Unreachable,
)
from runtime.transport.frames import Frame, FrameReader
from runtime.transport.messages import (
    CALL,
    FAILURE,
    NOTE,
    PLAIN_DATA,
    RESULT,
    Target,
    arguments_of,
    call_frame,
    failure_frame,
    outcome_of,
    result_frame,
    target_of,
)
from runtime.transport.round_trip import HostWatch
from runtime.transport.transports import announce, end_when_silent, named_by_user, socket_for

if TYPE_CHECKING:
    from collections.abc import Callable

HANDSHAKE_SECONDS = 10.0
HOST_SILENCE = 20.0
"""Seconds after which a rank and its front-end give up the other's host if it does not answer."""

_FULL_PAUSE = 0.02
"""Seconds between two tries to connect to a listener that has no room."""

_PIECE = 4096
_MOST_VIEWS = 512  # within what one system call takes


def dial(
    address: str,
    credentials: Credentials,
    timeout: float = HANDSHAKE_SECONDS,
    *,
    peer: str = "",
    silence: float = 0.0,
    sockets: Callable[[str], tuple[_socket.socket, Any]] = socket_for,
) -> tuple[_socket.socket, str, bytes]:
    """Connect and prove; return the socket, the name of the listener, and what it already sent.

    `peer` is the name that the listener should have; it may be left out where all share a secret.
    Where `silence` seconds are given, the system asks its host from time to time, as `HostWatch`
    needs it; an idle connection to one that does not answer ends after them. `sockets` returns the
    socket for an address, and what to connect it to.

    Raises:
        Unreachable: nobody answers at `address` within `timeout` seconds.
        AuthenticationFailed: the listener is somebody else, or no member of this run.
    """
    greeting = Dialler(credentials, os.urandom(NONCE), peer)
    deadline = time.monotonic() + timeout
    made = _connected(address, timeout, sockets)
    if silence:
        end_when_silent(made, silence, even_if_full=False)
    try:
        always = bool(named_by_user(address))
        made = secured(made, credentials, dialled=True, peer=peer, always=always)
        is_set_up(made)
        made.sendall(greeting.begin())
        while greeting.peer is None:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            made.settimeout(left)
            received = made.recv(_PIECE)
            if not received:
                raise AuthenticationFailed(
                    "the other end refused the proof",
                    cure=AGREE,
                )
            if answer := greeting.feed(received):  # the listener may have hung up after its own
                made.sendall(answer)
        made.settimeout(None)
    except TransportError as error:
        made.close()
        error.place = address
        raise
    except OSError as error:
        made.close()
        raise AuthenticationFailed(
            f"the other end did not finish the handshake: {error}", place=address, cure=AGREE
        ) from error
    return made, greeting.peer, greeting.rest


def _connected(
    address: str, timeout: float, sockets: Callable[[str], tuple[_socket.socket, Any]]
) -> _socket.socket:
    made, where = sockets(address)
    try:
        deadline = time.monotonic() + timeout
        made.settimeout(timeout)
        while True:
            try:
                made.connect(where)
                break
            except BlockingIOError:  # a Unix socket where many wait: who listens there is slow
                if time.monotonic() > deadline:
                    raise
                time.sleep(_FULL_PAUSE)
        announce(made, address)
    except OSError as error:
        made.close()
        raise Unreachable(
            f"nobody answers: {error}", place=address, cure="Is the process there still running?"
        ) from error
    return made


class LeanChannel:
    """A channel for one thread that waits for what it asks.

    It speaks the same messages as `Channel`. What comes while it waits for a result is kept for
    `receive`. With `silence` it ends when the other host does not answer for so many seconds; it
    waits for a process there that is stopped, for as long as that takes.

    >>> channel = LeanChannel.dial(address, Credentials(secret, "0:0:1"))    # doctest: +SKIP
    >>> channel.call(Target("/grid/site0/cluster0", "srv", "ready"), info)   # doctest: +SKIP
    """

    def __init__(
        self, connected: _socket.socket, peer: str, received: bytes = b"", *, silence: float = 0.0
    ) -> None:
        self._socket = connected
        self._silence = silence
        self._pause = HostWatch(connected, silence).pause if silence else None
        connected.settimeout(self._pause)
        self._reader = FrameReader()
        self._number = 0
        self.peer = peer
        self._frames: list[Frame] = self._reader.feed(received)

    @classmethod
    def dial(
        cls,
        address: str,
        credentials: Credentials,
        timeout: float = HANDSHAKE_SECONDS,
        *,
        peer: str = "",
        silence: float = 0.0,
        sockets: Callable[[str], tuple[_socket.socket, Any]] = socket_for,
    ) -> Self:
        """Connect to `peer` at `address`; raises as `dial` does."""
        made = dial(address, credentials, timeout, peer=peer, silence=silence, sockets=sockets)
        return cls(*made, silence=silence)

    def fileno(self) -> int:
        """Return the file descriptor, to be watched together with others."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def call(self, target: Target, *args: Any, timeout: float | None = None, **kwargs: Any) -> Any:
        """Call and wait for the result, or raise what was raised there.

        Raises:
            ChannelClosed: the connection ended.
            TimeoutError: no result came within `timeout` seconds.
            NotSendable: an argument or the result cannot travel.
        """
        number = self.post(target, *args, **kwargs)
        deadline = None if timeout is None else time.monotonic() + timeout
        kept: list[Frame] = []
        try:
            while True:
                frame = self._next(deadline, target)
                if frame.number == number and frame.kind in (RESULT, FAILURE):
                    return outcome_of(frame, self.peer)
                kept.append(frame)
        finally:
            self._frames[:0] = kept

    def post(self, target: Target, *args: Any, **kwargs: Any) -> int:
        """Call without waiting; return the number under which the outcome will be received."""
        self._number += 1
        self._send(call_frame(CALL, self._number, target, (args, kwargs)))
        return self._number

    def note(self, target: Target, *args: Any, **kwargs: Any) -> None:
        """Call without ever asking what became of it."""
        self._send(call_frame(NOTE, 0, target, (args, kwargs)))

    def receive(self, timeout: float | None = None) -> Frame:
        """Return the next frame of whatever kind; raises ChannelClosed, TimeoutError."""
        deadline = None if timeout is None else time.monotonic() + timeout
        return self._next(deadline, "a message")

    def outcome(self, frame: Frame) -> Any:
        """Return the result in a frame that was received, or raise the exception."""
        return outcome_of(frame, self.peer)

    def opened(self, frame: Frame) -> tuple[Target, tuple[Any, ...], dict[str, Any]]:
        """Return where a call that was received goes, and its arguments, which are plain data."""
        return target_of(frame), *arguments_of(frame, PLAIN_DATA)

    def answer(self, frame: Frame, value: Any = None) -> None:
        """Answer a call that was received; an exception as `value` is raised at the caller."""
        if frame.kind == CALL:
            failed = isinstance(value, BaseException)
            self._send((failure_frame if failed else result_frame)(frame.number, value))

    def _send(self, frame: Frame) -> None:
        rest = [memoryview(part) for part in (frame.head(), *frame.parts) if len(part)]
        host = HostWatch(self._socket, self._silence)
        try:
            while rest:
                try:
                    sent = self._socket.sendmsg(rest[:_MOST_VIEWS])
                except TimeoutError as pause:
                    _look_at(host, pause)
                    continue
                while rest and sent >= len(rest[0]):
                    sent -= len(rest.pop(0))
                if sent:
                    rest[0] = rest[0][sent:]
        except OSError as error:
            raise ChannelClosed(f"the connection broke: {error}", place=self.peer) from error

    def _next(self, deadline: float | None, awaited: object) -> Frame:
        while not self._frames:
            count = self._receive(deadline, awaited)
            if not count:
                raise ChannelClosed(
                    f"the connection ended while {awaited} was awaited", place=self.peer
                )
            try:
                self._frames += self._reader.filled(count)
            except FrameError as error:
                error.place = self.peer
                self.close()
                raise
        return self._frames.pop(0)

    def _receive(self, deadline: float | None, awaited: object) -> int:
        host = HostWatch(self._socket, self._silence)
        if deadline is not None:
            self._socket.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            while True:
                try:
                    return self._socket.recv_into(self._reader.space())
                except TimeoutError as pause:
                    if deadline is not None and pause.errno is None:
                        break
                    _look_at(host, pause)
        except OSError as error:
            raise ChannelClosed(
                f"the connection broke while {awaited} was awaited: {error}", place=self.peer
            ) from error
        finally:
            if deadline is not None:
                self._socket.settimeout(self._pause)
        raise TimeoutError(f"{self.peer} did not answer {awaited} in time")


def _look_at(host: HostWatch, pause: TimeoutError) -> None:
    """Look at a host after a pause; raises TimeoutError where it, or the system, has given up."""
    if pause.errno is not None:
        raise pause
    host.look()
