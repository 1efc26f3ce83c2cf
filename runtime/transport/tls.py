"""Sockets that encrypt: TLS 1.3 between two ends that both have certificates of the run.

To its users a `TlsSocket` behaves as a plain socket does, waiting or not, also with one thread that
sends and another one that receives. An end that is cut off reads as one that hung up, since what
travels inside tells by itself where it ends.

The library encrypts in memory, and many records go to the system or come from it in one call: a
library that has the socket reads each record in two.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from runtime.transport.credentials import AGREE
from runtime.transport.decrypted import DECRYPTED
from runtime.transport.errors import AuthenticationFailed, TransportError
from runtime.transport.keys import MEMBER

if TYPE_CHECKING:
    import _socket

    from _typeshed import ReadableBuffer, WriteableBuffer

S = TypeVar("S", bound="TlsSocket")

RECORD = 16384
"""The most bytes that are encrypted as one."""

_RECORDS = 8
AT_ONCE = _RECORDS * RECORD
"""The most bytes that are encrypted before they go to the system."""

_ROOM = _RECORDS * (RECORD + 22)
"""The most bytes, all encrypted, that are taken from the system at once."""

_BEGIN = b"-----BEGIN CERTIFICATE-----"


_rooms: list[memoryview] = []
"""Where a thread puts what comes from the system, until the library has it a moment later."""


def encrypted(
    connected: _socket.socket, certificate: bytes, *, dialled: bool, expected: str = ""
) -> TlsSocket:
    """Return a socket that encrypts what goes over a connection, which it owns from now on.

    `certificate` is what `CertificateAuthority.member` makes; `expected` the name that has to be in
    that of the other end.

    Raises:
        TransportError: the certificate is of no use.
    """
    waits = connected.gettimeout()
    connected.settimeout(0.0)
    made = wrapped(connected, _context(certificate, dialled), TlsSocket, dialled=dialled)
    made.settimeout(waits)
    made.expected = expected
    return made


def wrapped(
    connected: _socket.socket,
    context: ssl.SSLContext,
    sockets: type[S],
    *,
    dialled: bool,
    server_name: str | None = None,
) -> S:
    """Return a socket of a class, which never waits, that owns a connection from now on."""
    coming, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(
        coming, leaving, server_side=not dialled, server_hostname=server_name
    )
    return sockets(connected, session, coming, leaving)


class TlsSocket(socket.socket):
    """A connection that is encrypted, made by `encrypted`.

    What the caller is told to have sent may lack one byte that was encrypted already, as long as
    the record around it could not leave: the sender comes back with it, as for any socket that
    is full.
    """

    expected = ""
    """The name that has to be in the certificate of the other end; empty for any."""
    certified = ""
    """The name that is in it, once both have shaken hands."""
    is_secure = False
    wants_to_write = False
    whole, cure = "run", AGREE
    """To what both ends have to belong, and what to do where one does not."""

    def __init__(
        self,
        connected: _socket.socket,
        session: ssl.SSLObject,
        coming: ssl.MemoryBIO,
        leaving: ssl.MemoryBIO,
    ) -> None:
        kind = connected.family, connected.type, connected.proto
        super().__init__(*kind, fileno=connected.detach())
        super().setblocking(False)  # the system never waits: that is done here
        self._session = session
        self._coming, self._leaving = coming, leaving
        self._rest = memoryview(b"")  # is encrypted, and the system had no room for it
        self._owed = 0  # bytes of it that the caller takes for unsent
        self._lock = threading.Lock()

    # -- waiting ---------------------------------------------------------------------------------

    _timeout: float | None = 0.0

    def settimeout(self, value: float | None) -> None:
        """Wait that long from now on; the system is never asked to, so no lock is held."""
        self._timeout = value

    def gettimeout(self) -> float | None:
        """Return how long it waits."""
        return self._timeout

    def setblocking(self, flag: bool) -> None:
        """Wait for ever, or not at all."""
        self._timeout = None if flag else 0.0

    def _wait(self, events: int, deadline: float | None) -> None:
        """Wait until something can be done; raises BlockingIOError, TimeoutError."""
        if self._timeout == 0.0:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        poll = select.poll()
        poll.register(self.fileno(), events)
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not poll.poll(None if left is None else left * 1000):
            raise TimeoutError("timed out")

    def _deadline(self) -> float | None:
        return time.monotonic() + self._timeout if self._timeout else None

    # -- the handshake ---------------------------------------------------------------------------

    def shake_hands(self) -> bool:
        """Go on with the handshake; return whether it is over, which a socket that waits awaits.

        Raises:
            OSError: the connection has ended; TimeoutError.
            AuthenticationFailed: the other end has no certificate of the run, or another one's.
        """
        deadline = self._deadline()
        while not self.is_secure:
            if self._has_shaken_hands():
                break
            if self._timeout == 0.0:
                return False
            self._wait(select.POLLOUT if self.wants_to_write else select.POLLIN, deadline)
        return True

    def _has_shaken_hands(self) -> bool:
        try:
            with self._lock:
                if not self._handshake():
                    return False
                shown = self.getpeercert() or {}
                if self._coming.pending:  # came behind the handshake
                    DECRYPTED.add(self.fileno())
        except ssl.SSLCertVerificationError as error:
            why = f"the certificate of the other end is refused: {error.verify_message}"
            raise AuthenticationFailed(why, cure=self.cure) from error
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as error:
            raise ConnectionError("it closed the connection in the TLS handshake") from error
        except ssl.SSLError as error:
            why = (
                f"the other end does not encrypt as members of the {self.whole} do: {error.reason}"
            )
            raise AuthenticationFailed(why, cure=self.cure) from error
        self.check(shown)
        self.is_secure = True
        return True

    def _handshake(self) -> bool:
        """Go as far as the other end lets it; return whether it is over. Raises OSError."""
        while True:
            try:
                self._session.do_handshake()
                is_over = True
            except ssl.SSLWantReadError:
                is_over = False
            except ssl.SSLError:
                with contextlib.suppress(OSError):
                    self._push()  # tells the other end why
                raise
            self.wants_to_write = not self._push()
            if is_over or self.wants_to_write or self._pull() is None:
                return is_over and not self.wants_to_write

    def getpeercert(self, binary_form: bool = False) -> Any:
        """Return the certificate of the other end, as `ssl.SSLSocket.getpeercert` does."""
        return self._session.getpeercert(binary_form)

    def version(self) -> str | None:
        """Return which TLS it is, once both have shaken hands."""
        return self._session.version()

    def check(self, shown: Mapping[str, Any]) -> None:
        """Look at the certificate that the other end shows; raises AuthenticationFailed."""
        names = [name for kind, name in shown.get("subjectAltName", ()) if kind == "URI"]
        self.certified = bytes.fromhex(names[0].removeprefix(MEMBER)).decode() if names else ""
        if not self.certified or self.expected not in ("", self.certified):
            raise AuthenticationFailed(
                f"the certificate of the other end is that of {self.certified or 'nobody'}, and "
                f"not of {self.expected or 'a member'}",
                cure=self.cure,
            )

    # -- receiving -------------------------------------------------------------------------------

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Return what came, at most `buflen` bytes; none at the end of the stream."""
        space = bytearray(buflen)
        return bytes(memoryview(space)[: self.recv_into(space, buflen, flags)])

    def recv_into(self, buffer: WriteableBuffer, nbytes: int | None = None, flags: int = 0) -> int:
        """Put what came into a buffer; return how much, 0 at the end of the stream."""
        _refuse(flags)
        space = memoryview(buffer).cast("B")
        return self._receive((space[:nbytes] if nbytes else space,))

    def recvmsg_into(  # the one above refuses
        self, buffers: Iterable[WriteableBuffer], ancbufsize: int = 0, flags: int = 0
    ) -> tuple[int, list[Any], int, Any]:
        """Put what came into buffers, one after the other."""
        _refuse(ancbufsize or flags)
        return self._receive([memoryview(one).cast("B") for one in buffers]), [], 0, None

    def pending(self) -> int:
        """Return how many bytes were taken from the system and not asked for yet."""
        return self._session.pending() or self._coming.pending

    def _receive(self, spaces: Sequence[memoryview]) -> int:
        deadline = self._deadline()
        if not (self.is_secure or self.shake_hands()):
            self._wait(select.POLLIN, deadline)
        while True:
            with self._lock:
                count = self._fill(spaces)
            if count is not None:
                return count
            self._wait(select.POLLIN, deadline)

    def _fill(self, spaces: Sequence[memoryview]) -> int | None:
        """Decrypt what has come as long as there is space; None if nothing is there."""
        count, came = 0, _ROOM
        for space in spaces:
            while space:
                got = self._decrypt(space)
                if got:
                    count += got
                    space = space[got:]  # noqa: PLW2901 - what is left of it
                elif got == 0:
                    return count
                elif came < _ROOM or (pulled := self._pull()) is None:
                    DECRYPTED.discard(self.fileno())
                    return count or None
                else:
                    came = pulled
        (DECRYPTED.add if self.pending() else DECRYPTED.discard)(self.fileno())
        return count

    def _decrypt(self, space: memoryview) -> int | None:
        """Put a record that is here into a space; 0 at the end, None if no whole one is here."""
        if not (self.pending() or self._coming.eof):
            return None
        try:
            return int(self._session.read(len(space), space))  # a number, as it has a buffer
        except ssl.SSLWantReadError:
            return None
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return 0

    def _pull(self) -> int | None:
        """Take from the system what has come; return how much, 0 at the end, None if nothing."""
        if self._leaving.pending and not self._push() and self._leaving.pending > RECORD:
            raise ConnectionAbortedError("the other end asks for new keys and takes no answer")
        try:
            room = _rooms.pop()
        except IndexError:
            room = memoryview(bytearray(_ROOM))
        try:
            count = super().recv_into(room, 0 if self.is_secure else RECORD)
            if count:
                self._coming.write(room[:count])
            else:
                self._coming.write_eof()
            return count
        except BlockingIOError:
            return None
        finally:
            _rooms.append(room)

    # -- sending ---------------------------------------------------------------------------------

    def send(self, data: ReadableBuffer, flags: int = 0) -> int:
        """Send what there is room for; return how much."""
        _refuse(flags)
        return self._send((memoryview(data).cast("B"),))

    def sendmsg(  # the one above refuses
        self,
        buffers: Iterable[ReadableBuffer],
        ancdata: Iterable[Any] = (),
        flags: int = 0,
        address: object = None,
    ) -> int:
        """Send what there is room for; return how much."""
        _refuse(tuple(ancdata) or flags or address)
        return self._send([memoryview(one).cast("B") for one in buffers])

    def sendall(self, data: ReadableBuffer, flags: int = 0) -> None:
        """Send everything."""
        _refuse(flags)
        rest = memoryview(data).cast("B")
        while rest:
            rest = rest[self._send((rest,)) :]

    def _send(self, pieces: Sequence[memoryview]) -> int:
        if not any(map(len, pieces)):
            return 0
        deadline = self._deadline()
        if not (self.is_secure or self.shake_hands()):
            self._wait(select.POLLIN, deadline)
        while True:
            with self._lock:
                count = self._put(pieces)
            if count:
                return count
            self._wait(select.POLLOUT, deadline)

    def _put(self, pieces: Sequence[memoryview]) -> int:
        """Encrypt and write what there is room for, and return how much the caller is told."""
        if not self._push():
            return 0
        count, self._owed = self._owed, 0
        for record in _records(pieces, count):
            self._session.write(record)
            count += len(record)
            if self._leaving.pending >= AT_ONCE and not self._push():
                break
        if not self._push():
            self._owed = 1
        return count - self._owed

    def _push(self) -> bool:
        """Give the system what is encrypted; return whether it had room for all of it."""
        while True:
            self._rest = self._rest or memoryview(self._leaving.read())
            if not self._rest:
                return True
            try:
                self._rest = self._rest[super().send(self._rest) :]
            except BlockingIOError:
                return False

    # -- the end ---------------------------------------------------------------------------------

    def detach(self) -> int:
        """Refuse: what is encrypted cannot go on in another socket."""
        raise TransportError("an encrypted connection cannot be taken out of its socket")

    def _bypass(self, *_: object, **__: object) -> NoReturn:
        raise ValueError("it would go past the encryption of this connection")

    sendto = sendfile = recvfrom = recvfrom_into = recvmsg = dup = _bypass

    def close(self) -> None:
        """Hang up."""
        DECRYPTED.discard(self.fileno())
        super().close()


def _records(pieces: Sequence[memoryview], skipped: int) -> Iterator[memoryview | bytes]:
    """Yield what is encrypted as one: small pieces together, large ones without a copy."""
    small: list[memoryview] = []
    size = 0
    for piece in pieces:
        at, end = min(skipped, len(piece)), len(piece)
        skipped -= at
        while at < end:
            if not size and end - at >= RECORD:
                whole = min((end - at) // RECORD * RECORD, AT_ONCE)
                yield piece[at : at + whole]
                at += whole
                continue
            part = piece[at : at + RECORD - size]
            small.append(part)
            size += len(part)
            at += len(part)
            if size == RECORD:
                yield b"".join(small)
                small, size = [], 0
    if size:
        yield small[0] if len(small) == 1 else b"".join(small)


def _refuse(unknown: object) -> None:
    if unknown:
        raise ValueError("an encrypted connection knows no flags, and nothing beside its bytes")


@functools.lru_cache(4)
def _context(certificate: bytes, dialled: bool) -> ssl.SSLContext:
    """Return a context that shows the certificate of a member, and trusts its authority."""
    own, authority = certificate[: (at := certificate.rfind(_BEGIN))], certificate[at:]
    try:
        return context_of(own, authority.decode(), dialled=dialled)
    except (OSError, ValueError) as error:
        raise TransportError(f"the certificate of the run cannot be used: {error}") from error


def context_of(own: bytes, trusted: str, *, dialled: bool) -> ssl.SSLContext:
    """Return a context that shows its own certificate, and trusts what others have signed.

    Raises:
        OSError, ValueError: one of the two, PEM both, is of no use.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT if dialled else ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # a certificate is that of a member, wherever that is
    context.verify_mode = ssl.CERT_REQUIRED
    # An end that is cut off is no error, and does not keep the other direction from going on.
    context.options |= getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    if not dialled:
        context.num_tickets = 0  # nobody comes back with one
    context.load_verify_locations(cadata=trusted)
    _load(context, own)
    return context


def _load(context: ssl.SSLContext, certificate: bytes) -> None:
    """Give the key to the library, which only reads files: one in memory that has no name."""
    memory = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(memory, certificate)
        context.load_cert_chain(f"/proc/self/fd/{memory}")
    finally:
        os.close(memory)
