"""Opening a connection to a peer without waiting: one address after another, until one proves."""

from __future__ import annotations

import errno
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Protocol

from runtime.lazy_import import logger
from runtime.transport.admission import READ, WRITE, EventLoop, Exchange
from runtime.transport.credentials import Credentials, Dialler
from runtime.transport.encryption import secured
from runtime.transport.errors import TransportError
from runtime.transport.transports import (
    SMALL_SEGMENT,
    announce,
    end_when_silent,
    is_on_host,
    named_by_user,
    send_small_segments,
)
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.line import SILENCE_TIMEOUT
from runtime.wire.dialling.system import SYSTEM, DiallingSystem
from runtime.wire.errors import NoRoute, PeerLost, PeerSilent, reason_of
from runtime.wire.stream.messages import MessageSink

_log = logger(__name__)

DIAL_TIMEOUT = 4.0
"""Seconds for the host at an address to answer: it is asked three times within them."""

PROOF_TIMEOUT = 10.0
"""Seconds for the acceptor of a connection to prove itself while there are other addresses."""

LANE = " lane"
"""What is added to the name of a rank that opens one more connection, for parts of payloads."""

PROBES = " probes"
"""What is added to the name of a rank that only wants to know whether it reaches another one."""


class Attempt(Protocol):
    """A connection that is being opened."""

    deadline: float
    """When it has to be looked after again."""

    @property
    def is_passive(self) -> bool:
        """Whether the connection is to come in by the listener."""
        return False

    @property
    def is_taken(self) -> bool:
        """Whether the peer's system has taken the connection, which ends when its process does.

        A process that is stopped, or busy in one long call, does not prove itself meanwhile.
        """
        return False

    @property
    def has_proved(self) -> bool:
        """Whether this end has proved itself, so that the peer may use the connection already."""
        return False

    @property
    def events(self) -> int:
        """What to watch it for."""
        return READ

    def fileno(self) -> int:
        """Return what to watch; it may be another one after each step."""

    def describe(self) -> str:
        """Say what goes on."""

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on, without waiting; return the connection once it is open, and what came behind.

        Raises:
            PeerLost: there is no way to the peer.
        """

    def close(self) -> None:
        """Give up."""


class Connector(ABC):
    """Opens connections: directly, or by whatever other route there is."""

    @abstractmethod
    def connect(self, peer: int, now: float) -> Attempt:
        """Begin to open an authenticated connection to a peer; raises PeerLost if none can be."""

    @abstractmethod
    def again(self, peer: int, now: float) -> Attempt | None:
        """Begin to open one more connection, a lane, in the way that the first one was opened.

        None means that it was opened by the other end. Raises PeerLost if none can be opened now.
        """

    @abstractmethod
    def joined(self, peer: int, *, is_dialled: bool) -> None:
        """Record that a connection to a peer is used, opened by this end or the other."""

    def came(self, peer: int, now: float) -> None:  # noqa: B027 - most have nothing to learn
        """Record that a peer has dialled while this end tried to."""

    def has_room(self) -> bool:
        """Tell whether this end may have one more lane."""
        return True


class PeerContext(EventLoop, Protocol):
    """What the parts of a peer need of the `PeerConnections` around them."""

    me: int
    sink: MessageSink
    connector: Connector
    stage: memoryview
    silence: float
    resume_timeout: float
    suspect: Callable[[int, PeerLost | None], None] | None
    ask_for_end: Callable[[int], None] | None
    are_all_ends_told: bool

    def describe(self, peer: int) -> str:
        """Return how errors name a peer."""

    def link_to(self, peer: int) -> str:
        """Return how errors name what is between this rank and a peer."""

    def is_near(self, peer: int) -> bool:
        """Tell whether a peer is on this machine."""


class CountingConnector(Connector):
    """A connector that counts, without a bound of its own.

    `between` are the front-ends between this rank and each peer, as far as this end has dialled.
    `front_ends` says where the forwarders of clusters listen; `over` has the transports of the user
    by which ranks were connected to directly, by their names.
    """

    def __init__(self, front_ends: Mapping[tuple[int, int], Party] | None = None) -> None:
        self.front_ends = dict(front_ends or {})
        self.between: dict[int, tuple[str, ...]] = {}
        self.over: dict[str, str] = {}
        self.in_small: set[str] = set()
        """The names of ranks that have answered only once they were asked in small packets."""
        self.tries = 0
        self.failures = 0


class DirectConnector(CountingConnector):
    """Dials the addresses in the directory: on the same machine the Unix socket, else TCP."""

    def __init__(
        self,
        me: int,
        directory: RankDirectory,
        credentials: Credentials,
        *,
        proof_timeout: float = PROOF_TIMEOUT,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        super().__init__()
        self._me = me
        self._system = system
        self._proof_timeout = proof_timeout
        self._directory = directory
        self._credentials = credentials

    def connect(self, peer: int, now: float) -> Attempt:
        """Begin to dial; raises PeerLost if all addresses refuse at once, or there is none."""
        self.tries += 1
        return self._dial(peer, self._credentials, now, self)

    def again(self, peer: int, now: float) -> Attempt | None:
        """Begin to dial a lane; None where it is the other end that has dialled."""
        if peer not in self.between:
            return None
        return self._dial(peer, self._credentials.named(self._credentials.name + LANE), now)

    def _dial(
        self,
        peer: int,
        credentials: Credentials,
        now: float,
        counts: CountingConnector | None = None,
    ) -> Dialling:
        party = self._directory.party(peer)
        ways = self._directory.ways(self._me, peer)
        if not ways:
            self.failures += counts is not None
            raise NoRoute(
                f"{party} cannot be reached",
                cure="It has no address here; was it started after this rank?",
            )
        patience = self._proof_timeout
        return Dialling(
            str(party), party.member, ways, credentials, now,
            proof_timeout=patience, counts=counts, over=self.over, in_small=self.in_small,
            system=self._system,
        )  # fmt: skip

    def joined(self, peer: int, *, is_dialled: bool) -> None:
        """Take note of how a peer is reached, where it is this end that has dialled."""
        if is_dialled:
            self.between[peer] = ()
        else:
            self.between.pop(peer, None)


class ProvingAttempt(Attempt):
    """A connection over which both ends prove themselves as soon as the peer's system has it."""

    _socket: socket.socket | None = None
    _system = SYSTEM
    _exchange: Exchange | None = None
    """The proof, once there is somebody to give it to."""

    @property
    def is_taken(self) -> bool:
        """Whether the system of the called process has taken the connection."""
        return self._exchange is not None

    @property
    def has_proved(self) -> bool:
        """Whether this end has proved itself."""
        return self._exchange is not None and self._exchange.greeting.has_proved

    def close(self) -> None:
        """Give up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _prove(self, credentials: Credentials, name: str, received: bytes = b"") -> None:
        """Begin to prove this end to the process `name`, which has sent something already."""
        assert self._socket is not None
        greeting = Dialler(credentials, self._system.nonce(), name)
        self._exchange = Exchange(self._socket, greeting, received)

    def _proved(self, exchange: Exchange) -> tuple[socket.socket, bytes]:
        """Return the connection, which is open now, and what came behind the proof."""
        self._socket = None
        return exchange.socket, exchange.greeting.rest


class Dialling(ProvingAttempt):
    """Tries one address after another; `words` are how errors name the process `name`.

    Where the connection was taken at once and nobody proves itself, the process is there but does
    not run now, or the network loses large packets on the way, such as those with a certificate. So
    all is tried once more in small ones, and then it is waited for: its system ends the connection
    when the process ends, and `silence` of its host is noticed. `over` is told the transport of the
    user by which it was reached, and `in_small` that small packets were needed.
    """

    def __init__(
        self,
        words: str,
        name: str,
        ways: tuple[str, ...],
        credentials: Credentials,
        now: float,
        *,
        timeout: float = DIAL_TIMEOUT,
        proof_timeout: float = PROOF_TIMEOUT,
        silence: float = SILENCE_TIMEOUT,
        counts: CountingConnector | None = None,
        over: dict[str, str] | None = None,
        in_small: set[str] | None = None,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        self._system = system
        self._known = set[str]() if in_small is None else in_small
        self._counts = counts
        self._over = over
        self._words = words
        self._name = name
        self._ways = list(ways)
        self._silent: list[str] = []  # where somebody has taken the connection and said nothing
        self._credentials = credentials
        self._timeout = timeout
        self._proof_timeout = proof_timeout
        self._silence = silence
        self._faults: list[str] = []
        self._is_full = False
        self._in_small = name in self._known
        self._address = ""
        self.deadline = now
        self._next(now)

    def fileno(self) -> int:
        """Return the socket that is tried now."""
        assert self._socket is not None
        return self._socket.fileno()

    @property
    def events(self) -> int:
        """What to watch it for."""
        return WRITE if self._exchange is None else self._exchange.events

    def describe(self) -> str:
        """Say what goes on."""
        if self._exchange is None:
            return f"{self._address} does not answer"
        how = ", though it was asked in small packets" if self._in_small else ""
        return f"{self._address} has taken the connection, but the process does not answer{how}"

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on with this address, or with the next one; raises PeerLost after the last one."""
        try:
            return self._step(now)
        except (OSError, TransportError) as fault:
            self._note(fault)
            self._next(now)
            return None

    def _step(self, now: float) -> tuple[socket.socket, bytes] | None:
        assert self._socket is not None
        if self._exchange is None:
            if not self._has_connected(self._socket):
                if now >= self.deadline:
                    raise TimeoutError(f"no answer within {self._timeout:g} s")
                return None
            self.deadline = now + self._proof_timeout
        assert self._exchange is not None
        if not self._exchange.step():
            if now < self.deadline:
                return None
            if not is_on_host(self._address) and (self._ways or not self._in_small):
                self._silent.append(self._address)
                raise TimeoutError(f"no proof within {self._proof_timeout:g} s")
            self.deadline = now + self._proof_timeout
            return None
        if self._in_small:
            self._known.add(self._name)
            words = "%s has answered at %s in packets of %d bytes: larger ones may be lost"
            _log.info(words, self._words, self._address, SMALL_SEGMENT)
        if self._over is not None:
            self._over[self._name] = named_by_user(self._address)
        _log.debug("%s has proved itself at %s", self._words, self._address)
        return self._proved(self._exchange)

    def _has_connected(self, connected: socket.socket) -> bool:
        fault = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if fault:
            raise OSError(fault, os.strerror(fault))
        try:
            connected.getpeername()
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                return False
            raise
        end_when_silent(connected, self._silence)
        announce(connected, self._address)
        always = bool(named_by_user(self._address))
        self._socket = secured(
            connected, self._credentials, dialled=True, peer=self._name, always=always
        )
        self._prove(self._credentials, self._name)
        return True

    def _next(self, now: float) -> None:
        """Begin with the next address; raises PeerLost after the last one."""
        while self._ways or self._silent:
            if not self._ways:
                self._ways, self._silent = self._silent, []
                self._in_small = True
            self._address = self._ways.pop(0)
            self._exchange = None
            self.deadline = now + self._timeout
            try:
                self._socket, where = self._system.socket_for(self._address)
                if self._in_small:
                    send_small_segments(self._socket)
                fault = self._socket.connect_ex(where)
                self._is_full |= fault == errno.EAGAIN  # of a Unix socket: who listens is slow
                if fault not in (0, errno.EINPROGRESS):
                    raise OSError(fault, os.strerror(fault))
            except (OSError, TransportError) as error:
                self._note(error)
                continue
            return
        if self._counts is not None:
            self._counts.failures += 1
        kind = PeerSilent if self._is_full else PeerLost
        raise kind(
            f"{self._words} cannot be reached",
            cause="\n".join(self._faults),
            cure="If it has not ended, let its cluster and this one reach each other",
        )

    def _note(self, fault: Exception) -> None:
        self.close()
        self._faults.append(f"{self._address}: {reason_of(fault)}")
