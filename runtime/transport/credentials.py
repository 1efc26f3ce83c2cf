"""Proof by both ends of a connection that they belong to the run, and who they are. Pure.

A connection begins as one of Pyro5, whose port it shares with ordinary clients: the dialler
connects and shows a number used once, the listener answers with a number of its own. The dialler
then calls `join` with a proof over both; the listener checks it and proves itself in its answer. A
proof covers the role, both numbers and the names of the ends, so a recorded one is of no use, and
nothing is learnt from a listener by who has no ticket for it. No payload is interpreted before
that. After it the connection carries frames.

The key of both proofs is the ticket of the dialler for those among whom it expects the listener
(see `runtime.transport.keys`): the dialler has it, the listener works it out from the name that is
shown. So the name of the dialler is proved, and that the listener is one of those it was for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from runtime.transport.errors import AuthenticationFailed, FrameError, NotAMember
from runtime.transport.keyed_hash import is_same, keyed_hash
from runtime.transport.keys import FRONT_END, Keyring, audience_of, subject_of
from runtime.transport.pyro_messages import (
    CONNECT,
    CONNECTED,
    INVOKE,
    REFUSED,
    RESULT,
    MessageReader,
    PyroMessage,
)

NONCE = 32
PROOF = 32
SHORTEST_SECRET = 16
LONGEST_NAME = 1024

NUMBER_OF_MEMBER = "GCMN"
"""The annotation in which each end shows its number; only members of a run send it."""

PROOF_OF_MEMBER = "GCMP"
"""The annotation of a proof and the name behind it."""

MOST_BYTES = 8192  # of a message before the proof: those of members have far less

_CONNECT = b'{"handshake": "member", "object": "gcm.run"}'
_CONNECTED = b'{"handshake": "member", "meta": {"methods": ["join"], "oneway": [], "attrs": []}}'
_JOIN = b'{"object": "gcm.run", "method": "join", "params": [], "kwargs": {}}'
AGREE = 'Both ends have to belong to the same run, and to agree on encryption="tls"'
"""What to see to where two ends do not understand each other."""

_CURE = "Both ends have to belong to the same run"
_RECORDS = (b"\x15\x03", b"\x16\x03")  # how alerts and handshakes of TLS begin


class Credentials:
    """What one process shows to others: its name, what its keys prove, and its certificate.

    Instead of a keyring there can be one secret, where it is all that two processes share.

    The certificate, with its key, is for connections between hosts; without one they are plain.
    Those within a host are plain in any case, unless `trusts_loopback` is False.
    """

    def __init__(
        self,
        keys: Keyring | bytes,
        name: str,
        certificate: bytes = b"",
        *,
        trusts_loopback: bool = True,
    ) -> None:
        if isinstance(keys, bytes) and len(keys) < SHORTEST_SECRET:
            raise ValueError(f"a secret has at least {SHORTEST_SECRET} bytes")
        if len(name.encode()) > LONGEST_NAME:
            raise ValueError(f"a name has at most {LONGEST_NAME} bytes")
        self._keys = keys
        self.name = name
        self.certificate = certificate
        self.trusts_loopback = trusts_loopback

    def named(self, name: str) -> Credentials:
        """Return the same under another name: that of this process, and a purpose behind it."""
        return Credentials(self._keys, name, self.certificate, trusts_loopback=self.trusts_loopback)

    def ticket(self, name: str, audience: str) -> bytes:
        """Return the ticket of a name for an audience.

        Raises:
            AuthenticationFailed: this process has no key for that audience.
        """
        if isinstance(self._keys, bytes):
            return self._keys
        try:
            return self._keys.ticket(subject_of(name), audience)
        except KeyError:
            raise AuthenticationFailed(
                f"{self.name} has no ticket for {audience or 'a listener without a name'}",
                cure="The two do not connect to each other in this run",
            ) from None


def proof(ticket: bytes, role: bytes, *parts: bytes) -> bytes:
    """Return the proof of a ticket over `parts`."""
    message = b"".join(len(part).to_bytes(4, "big") + part for part in (role, *parts))
    return keyed_hash(ticket, message)


class Greeting(ABC):
    """One end of the exchange: feed it what is received, send what it returns, until `peer`.

    `nonce` has to be fresh and random. After the exchange `rest` holds what came behind it.
    """

    def __init__(self, credentials: Credentials, nonce: bytes) -> None:
        if len(nonce) != NONCE:
            raise ValueError(f"a nonce has {NONCE} bytes")
        self._credentials = credentials
        self._nonce = nonce
        self._reader = MessageReader(MOST_BYTES)
        self._theirs = b""
        self._certified = ""
        self.peer: str | None = None

    @property
    def rest(self) -> bytes:
        """What came behind the exchange."""
        return self._reader.rest

    @property
    def has_proved(self) -> bool:
        """Whether this end has proved itself, or is about to; the other one may know it by now."""
        return bool(self._theirs)

    @abstractmethod
    def begin(self) -> bytes:
        """Return what to send before anything is received."""

    def feed(self, data: bytes, certified: str = "") -> bytes:
        """Take what was received and return what to send.

        `certified` is the name in the certificate that the other end of an encrypted connection
        has shown. A listener compares it; a dialler has done so before, if it has no front-end
        between.

        Raises:
            NotAMember: the other end speaks Pyro5, and shows no number as members do.
            AuthenticationFailed: the other end does not know the secret, or speaks no such thing.
        """
        self._certified = certified
        self._reader.feed(data)
        answer = b""
        while self.peer is None:
            try:
                message = self._reader.take()
            except FrameError as error:
                if self._reader.rest.startswith(_RECORDS):
                    raise AuthenticationFailed(
                        "the other end encrypts the connection, this one does not", cure=AGREE
                    ) from error
                raise AuthenticationFailed(
                    f"the other end does not speak this protocol: {error.what}", cure=_CURE
                ) from error
            if message is None:
                break
            answer += self._handle(message)
        return answer

    @abstractmethod
    def _handle(self, message: PyroMessage) -> bytes:
        """Take a message and return what to send."""

    def _take_number(self, message: PyroMessage) -> None:
        number = bytes(message.annotations.get(NUMBER_OF_MEMBER, b""))
        if len(number) != NONCE:
            raise NotAMember("the other end is not a member of the run", cure=_CURE)
        self._theirs = number

    def _taken_proof(self, message: PyroMessage) -> tuple[bytes, bytes]:
        shown = bytes(message.annotations.get(PROOF_OF_MEMBER, b""))
        return shown[:PROOF], shown[PROOF:]

    def _proven(self, expected: bytes, shown: bytes, name: bytes) -> None:
        if len(name) > LONGEST_NAME:
            raise AuthenticationFailed(
                f"the name of the other end has {len(name)} bytes; at most {LONGEST_NAME} are "
                "allowed"
            )
        if not is_same(expected, shown):
            raise AuthenticationFailed("the other end does not know the secret", cure=_CURE)
        self.peer = name.decode(errors="replace")


class ListeningEnd(Greeting):
    """The end that was dialled."""

    def begin(self) -> bytes:
        """Return nothing: the dialler speaks first."""
        return b""

    def _handle(self, message: PyroMessage) -> bytes:
        if message.kind == CONNECT and not self._theirs:
            self._take_number(message)
            return PyroMessage(
                CONNECTED,
                _CONNECTED,
                {NUMBER_OF_MEMBER: self._nonce},
                sequence=message.sequence,
            ).joined()
        if message.kind != INVOKE or not self._theirs:
            raise AuthenticationFailed("the other end is not a member of the run", cure=_CURE)
        shown, name = self._taken_proof(message)
        known, said = self._credentials, name.decode(errors="replace")
        if self._certified and not self._is_certified(said):
            raise AuthenticationFailed(
                f"{said} comes with the certificate of {self._certified}", cure=_CURE
            )
        ticket = known.ticket(said, audience_of(known.name))
        self._proven(proof(ticket, b"dialler", self._nonce, self._theirs, name), shown, name)
        own = known.name.encode()
        answer = proof(ticket, b"listener", self._nonce, self._theirs, name, own)
        return PyroMessage(
            RESULT, b"null", {PROOF_OF_MEMBER: answer + own}, sequence=message.sequence
        ).joined()

    def _is_certified(self, name: str) -> bool:
        """Tell whether who says this name may show that certificate: a front-end may forward."""
        return self._certified == audience_of(name) or self._certified.startswith(FRONT_END)


class Dialler(Greeting):
    """The end that dials; `peer` is the name that the listener is expected to have."""

    def __init__(self, credentials: Credentials, nonce: bytes, peer: str = "") -> None:
        super().__init__(credentials, nonce)
        self._expected = peer
        self._ticket = credentials.ticket(credentials.name, audience_of(peer))

    def begin(self) -> bytes:
        """Return the message that connects; it says nothing but a number."""
        return PyroMessage(CONNECT, _CONNECT, {NUMBER_OF_MEMBER: self._nonce}).joined()

    def _handle(self, message: PyroMessage) -> bytes:
        own = self._credentials.name.encode()
        if message.kind == CONNECTED and not self._theirs:
            self._take_number(message)
            shown = proof(self._ticket, b"dialler", self._theirs, self._nonce, own)
            return PyroMessage(INVOKE, _JOIN, {PROOF_OF_MEMBER: shown + own}, sequence=1).joined()
        if message.kind == REFUSED:
            raise AuthenticationFailed("the other end refused to connect", cure=_CURE)
        if message.kind != RESULT or not self._theirs:
            raise AuthenticationFailed("the other end does not speak this protocol", cure=_CURE)
        shown, name = self._taken_proof(message)
        expected = proof(self._ticket, b"listener", self._theirs, self._nonce, own, name)
        self._proven(expected, shown, name)
        if self._expected and self.peer != self._expected:
            raise AuthenticationFailed(f"{self.peer} answered instead of {self._expected}")
        return b""
