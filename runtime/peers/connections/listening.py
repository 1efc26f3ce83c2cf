"""Takes connections of members of a lab, and carries out their calls: a thread for each."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import threading
from collections.abc import Container, Iterable
from contextlib import suppress

from runtime.errors import GridError
from runtime.peers.connections.calls import (
    CALL,
    Call,
    answer_frame,
    greeting_frame,
    heading_of,
    opened,
    refusal_frame,
)
from runtime.peers.connections.connection import WHOLE_TIMEOUT, ComingFrame, Frames
from runtime.peers.connections.passing import PassedConnections
from runtime.peers.connections.serving import Services, TakeOver
from runtime.peers.connections.sockets import PeerSocket
from runtime.peers.credentials.contexts import contexts
from runtime.peers.credentials.credential import Credential
from runtime.peers.errors import PeerError, Refused
from runtime.peers.model import Principal, Reason
from runtime.transport.errors import AuthenticationFailed, FrameError
from runtime.transport.tls import wrapped

log = logging.getLogger(__name__)

HANDSHAKE_TIMEOUT = 10.0
IDLE_TIMEOUT = 120.0
"""A connection on which nothing was called for so many seconds is closed."""

MOST_HEADING = 1 << 10
"""The bytes in which a call says what it is."""

MOST_STRANGERS = 64
"""Connections whose other end has not proved who it is; the oldest go first."""

MOST_MEMBERS = 512
MOST_OF_ONE = 128
"""Connections of one member, so that it does not take all."""


class PeerListener:
    """A listening socket and the threads behind it; `close` ends all of them.

    It listens from the beginning, but takes nobody in before `start`. Connections for processes
    of this peer are `passed` on.
    """

    def __init__(
        self,
        credential: Credential,
        host: str,
        ports: Iterable[int],
        revoked: Container[Principal] = (),
        *,
        passed: PassedConnections | None = None,
        most_of_one: int = MOST_OF_ONE,
        whole: float = WHOLE_TIMEOUT,
    ) -> None:
        self._passed = passed
        self._whole = whole
        self._most_of_one = most_of_one
        self._credential = credential
        self._revoked = revoked
        self._context = contexts(credential)[0]
        self._lock = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._strangers: dict[PeerSocket, None] = {}
        self._members: set[PeerSocket] = set()
        self._closing = False
        self._services = Services()
        self._socket = _listening(host, list(ports))
        self._thread = threading.Thread(target=self._accept, name="peer listener", daemon=True)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._socket.getsockname()[1])

    def start(self, services: Services) -> None:
        """Begin to take connections in."""
        self._services = services
        self._thread.start()

    def close(self) -> None:
        """Hang up everywhere and wait until all calls have ended."""
        with self._lock:
            self._closing = True
            sockets = [*self._strangers, *self._members]
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        for one in sockets:
            _hang_up(one)
        if self._thread.ident is not None:
            self._thread.join()
        self._socket.close()
        while self._threads:
            with self._lock:
                threads = list(self._threads)
            for thread in threads:
                thread.join()

    def _is_closing(self) -> bool:
        return self._closing

    # --- the thread that accepts ----------------------------------------------------------------

    def _accept(self) -> None:
        while not self._closing:
            try:
                taken, address = self._socket.accept()
            except OSError as error:
                if self._is_closing():
                    return
                log.warning("a connection could not be taken: %s", error)
                if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                    self._drop_stranger()
                    threading.Event().wait(0.1)
                continue
            self._take(taken, str(address[0]).removeprefix("::ffff:"))

    def _take(self, taken: socket.socket, host: str) -> None:
        try:
            taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made = wrapped(taken, self._context, PeerSocket, dialled=False)
        except (OSError, ValueError):
            taken.close()
            return
        with self._lock:
            self._strangers[made] = None
            is_crowded = len(self._strangers) > MOST_STRANGERS
        if is_crowded:
            self._drop_stranger()
        thread = threading.Thread(
            target=self._serve, args=(made, host), name=f"peer connection {host}", daemon=True
        )
        with self._lock:
            self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # the system lets nobody begin one more; later it may
            log.warning("nobody can attend to %s: %s", host, error)
            with self._lock:
                self._threads.discard(thread)
                self._strangers.pop(made, None)
            made.close()

    def _drop_stranger(self) -> None:
        with self._lock:
            oldest = next(iter(self._strangers), None)
            if oldest is not None:
                del self._strangers[oldest]  # its thread may come to that only after the next one
                _hang_up(oldest)

    # --- the thread of a connection -------------------------------------------------------------

    def _serve(self, taken: PeerSocket, host: str) -> None:
        try:
            if self._passed is not None and self._passed.takes(taken):
                return
            if self._is_member(taken, host):
                self._answer_all(taken, host)
        except ssl.SSLError as error:
            log.warning("%s was refused: %s", host, error.reason)
        except (OSError, FrameError, PeerError) as error:
            log.debug("the connection of %s ended: %s", host, error)
        finally:
            with self._lock:
                self._strangers.pop(taken, None)
                self._members.discard(taken)
                self._threads.discard(threading.current_thread())
            taken.close()

    def _is_member(self, taken: PeerSocket, host: str) -> bool:
        """Tell whether the other end has proved that it belongs to the lab, and greet it."""
        taken.settimeout(HANDSHAKE_TIMEOUT)
        try:
            taken.shake_hands()
        except AuthenticationFailed as error:
            log.warning("%s was refused: %s", host, error.what)
            return False
        if taken.principal in self._revoked:
            log.warning("%s at %s was refused: the credential is revoked", taken.principal, host)
            return False
        with self._lock:
            self._strangers.pop(taken, None)
            if self._closing:
                return False
            of_one = sum(one.principal == taken.principal for one in self._members)
            is_full = of_one >= self._most_of_one or len(self._members) >= MOST_MEMBERS
            if not is_full:
                self._members.add(taken)
        if is_full:
            log.warning("%s at %s was not taken: it has %d connections, all have %d",
                        taken.principal, host, of_one, len(self._members))  # fmt: skip
        return not is_full

    def _answer_all(self, taken: PeerSocket, host: str) -> None:
        frames = Frames(taken)
        frames.send(greeting_frame(str(self._credential.principal)))
        while not self._closing:
            coming = frames.coming(IDLE_TIMEOUT, whole=self._whole)
            if coming is None:
                return
            call = self._call(coming, taken.principal, host)
            answer = call if isinstance(call, Refused) else self._answer(call, taken, host)
            taken.settimeout(IDLE_TIMEOUT)
            if isinstance(answer, TakeOver):
                self._hand_over(frames, coming.number, answer)
                return
            if isinstance(answer, GridError):
                frames.send(refusal_frame(coming.number, answer))
            else:
                frames.send(answer_frame(coming.number, answer))

    def _call(self, coming: ComingFrame, caller: Principal, host: str) -> Call | Refused:
        """Return the call that is coming, or why the rest of it was not looked at.

        Raises:
            PeerError: it is none.
            OSError, FrameError: it does not come.
        """
        if coming.kind != CALL:
            raise PeerError("an answer came that nobody asked for")
        heading = coming.take(MOST_HEADING)
        service, operation = heading_of(heading)
        try:
            size = self._services.admit(service, operation, caller, host)
            if sum(coming.lengths) > size.text + size.data:
                raise Refused(f"{service}.{operation} is larger than such calls may be",
                              reason=Reason.BAD_REQUEST)  # fmt: skip
        except Refused as refused:
            log.info("a call of %s was refused: %s", caller, refused)
            coming.skip()
            return refused
        found = opened(coming.whole([heading, coming.take(size.text)], size))
        assert isinstance(found, Call)
        return found

    def _hand_over(self, frames: Frames, number: int, answer: TakeOver) -> None:
        """Answer, and let the connection carry something else; that is told also where it broke."""
        try:
            frames.send(answer_frame(number, answer.answer))
        except OSError:
            _hang_up(frames.socket)
        if not frames.is_idle:
            _hang_up(frames.socket)  # nobody may send before the answer has come
        answer.carry(frames.socket)

    def _answer(self, call: Call, taken: PeerSocket, host: str) -> object:
        try:
            return self._services.carry_out(call, taken.principal, host)
        except GridError as error:
            log.info("%s of %s was refused: %s", call, taken.principal, error)
            return error
        except Exception as error:
            log.exception("%s of %s failed", call, taken.principal)
            return Refused(f"{call} failed: {type(error).__name__}: {error}", reason=Reason.FAILED)


def _hang_up(one: PeerSocket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


def _listening(host: str, ports: list[int]) -> socket.socket:
    """Return a socket that listens at the first free port; raises PeerError."""
    fault: OSError | None = None
    for port in ports:
        try:
            return _bound(host, port)
        except OSError as error:
            fault = error
            if error.errno != errno.EADDRINUSE:
                break
    what = f"port {ports[0]}" if len(ports) == 1 else f"one of the ports {ports[0]}-{ports[-1]}"
    raise PeerError(
        f"cannot listen at {what}",
        place=host or "all addresses",
        cause=str(fault),
        cure="Set `ports` and `listen` in the configuration; gcm-peer status shows what runs",
    )


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at one port, for IPv4 and IPv6 where no host is named."""
    if not host and socket.has_dualstack_ipv6():
        with suppress(OSError):  # a system whose IPv6 is switched off
            return socket.create_server(
                ("", port), family=socket.AF_INET6, backlog=128, dualstack_ipv6=True
            )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=128)
