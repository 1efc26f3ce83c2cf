"""Proof by both ends of a connection that they know the secret of the run. A pure machine.

The listener greets with a number used once. The dialler answers with a number of its own and a
proof over both; the listener checks it and proves itself too. A proof covers the role, both
numbers and the names of the ends, so a recorded one is of no use, and nothing is learnt from a
listener by who does not know the secret. No byte is interpreted as a frame before that.
"""

from __future__ import annotations

from runtime.transport.errors import AuthenticationFailed
from runtime.transport.keyed_hash import is_same, keyed_hash

MAGIC = b"gcm-ch01"
NONCE = 32
PROOF = 32
SHORTEST_SECRET = 16
LONGEST_NAME = 1024

_NAME_LENGTH = 2
_CURE = "Both ends have to belong to the same run"


class Credentials:
    """What one process shows to others: its name and the secret of the run."""

    __slots__ = ("_secret", "name")

    def __init__(self, secret: bytes, name: str) -> None:
        if len(secret) < SHORTEST_SECRET:
            raise ValueError(f"a secret has at least {SHORTEST_SECRET} bytes")
        if len(name.encode()) > LONGEST_NAME:
            raise ValueError(f"a name has at most {LONGEST_NAME} bytes")
        self._secret = secret
        self.name = name

    def prove(self, role: bytes, *parts: bytes) -> bytes:
        """Return the proof of the secret over `parts`."""
        message = b"".join(len(part).to_bytes(4, "big") + part for part in (role, *parts))
        return keyed_hash(self._secret, message)


class Greeting:
    """One end of the exchange: feed it what is received, send what it returns, until `peer`.

    `nonce` has to be fresh and random. After the exchange `rest` holds what came behind it.
    """

    __slots__ = ("_buffer", "_credentials", "_nonce", "peer", "rest")

    def __init__(self, credentials: Credentials, nonce: bytes) -> None:
        if len(nonce) != NONCE:
            raise ValueError(f"a nonce has {NONCE} bytes")
        self._credentials = credentials
        self._nonce = nonce
        self._buffer = b""
        self.peer: str | None = None
        self.rest = b""

    def begin(self) -> bytes:
        """Return what to send before anything is received."""
        raise NotImplementedError

    def feed(self, data: bytes) -> bytes:
        """Take what was received and return what to send.

        Raises:
            AuthenticationFailed: the other end does not know the secret, or speaks no such thing.
        """
        self._buffer += data
        known = self._buffer[: len(MAGIC)]
        if self._expects_magic and known != MAGIC[: len(known)]:
            raise AuthenticationFailed("the other end does not speak this protocol", cure=_CURE)
        return self._step()

    @property
    def _expects_magic(self) -> bool:
        raise NotImplementedError

    def _step(self) -> bytes:
        raise NotImplementedError

    def _take(self, fixed: int) -> tuple[bytes, bytes] | None:
        """Take `fixed` bytes and the name behind them, or nothing if they are not all here."""
        start = fixed + _NAME_LENGTH
        if len(self._buffer) < start:
            return None
        size = int.from_bytes(self._buffer[fixed:start], "big")
        if size > LONGEST_NAME:
            raise AuthenticationFailed(
                f"the name of the other end has {size} bytes; at most {LONGEST_NAME} are allowed"
            )
        if len(self._buffer) < start + size:
            return None
        taken = self._buffer[:fixed], self._buffer[start : start + size]
        self._buffer = self._buffer[start + size :]
        return taken

    def _check(self, expected: bytes, proof: bytes) -> None:
        if not is_same(expected, proof):
            raise AuthenticationFailed("the other end does not know the secret", cure=_CURE)

    def _finish(self, name: bytes) -> None:
        self.peer = name.decode(errors="replace")
        self.rest, self._buffer = self._buffer, b""

    def _named(self) -> bytes:
        name = self._credentials.name.encode()
        return len(name).to_bytes(_NAME_LENGTH, "big") + name


class Listener(Greeting):
    """The end that was dialled."""

    __slots__ = ()

    @property
    def _expects_magic(self) -> bool:
        return self.peer is None

    def begin(self) -> bytes:
        """Return the greeting, which says nothing but a number."""
        return MAGIC + self._nonce

    def _step(self) -> bytes:
        taken = self._take(len(MAGIC) + NONCE + PROOF)
        if taken is None:
            return b""
        fixed, name = taken
        theirs, proof = fixed[len(MAGIC) : -PROOF], fixed[-PROOF:]
        self._check(self._credentials.prove(b"dialler", self._nonce, theirs, name), proof)
        own = self._credentials.name.encode()
        answer = self._credentials.prove(b"listener", self._nonce, theirs, name, own)
        self._finish(name)
        return answer + self._named()


class Dialler(Greeting):
    """The end that dials."""

    __slots__ = ("_theirs",)

    def __init__(self, credentials: Credentials, nonce: bytes) -> None:
        super().__init__(credentials, nonce)
        self._theirs = b""

    @property
    def _expects_magic(self) -> bool:
        return not self._theirs

    def begin(self) -> bytes:
        """Return nothing: the listener speaks first."""
        return b""

    def _step(self) -> bytes:
        return self._last_step() if self._theirs else self._first_step()

    def _first_step(self) -> bytes:
        size = len(MAGIC) + NONCE
        if len(self._buffer) < size:
            return b""
        self._theirs, self._buffer = self._buffer[len(MAGIC) : size], self._buffer[size:]
        name = self._credentials.name.encode()
        proof = self._credentials.prove(b"dialler", self._theirs, self._nonce, name)
        return MAGIC + self._nonce + proof + self._named()

    def _last_step(self) -> bytes:
        taken = self._take(PROOF)
        if taken is not None:
            proof, name = taken
            own = self._credentials.name.encode()
            expected = self._credentials.prove(b"listener", self._theirs, self._nonce, own, name)
            self._check(expected, proof)
            self._finish(name)
        return b""
