"""Opening a connection that front-ends forward, without waiting."""

from __future__ import annotations

import socket

from runtime.transport.admission import READ, WRITE
from runtime.transport.credentials import Credentials
from runtime.transport.errors import TransportError
from runtime.wire.dialling.connecting import Attempt, ProvingAttempt
from runtime.wire.dialling.forward_requests import Answer, AnswerReader, ForwardRequest
from runtime.wire.dialling.system import SYSTEM, DiallingSystem
from runtime.wire.errors import PeerLost, PeerSilent

FORWARDING_TIMEOUT = 30.0
"""Seconds for the front-ends to open the way, each of which has its own timeout."""

PROOF_TIMEOUT = 10.0
"""Seconds for the peer to prove itself; then the way is opened anew, as it may be cut by now."""

_PIECE = 4096


class ForwardedAttempt(ProvingAttempt):
    """Dials a front-end by `attempt` and asks it for a way; open once the front-end says so."""

    def __init__(self, attempt: Attempt, stops: tuple[str, ...], words: str) -> None:
        self._attempt: Attempt | None = attempt
        self._reader = AnswerReader()
        self._to_send = ForwardRequest(stops).written()
        self._answered: Answer | None = None
        self._words = words
        self.deadline = attempt.deadline

    def fileno(self) -> int:
        """Return what to watch."""
        watched = self._attempt or self._socket
        assert watched is not None
        return watched.fileno()

    @property
    def events(self) -> int:
        """What to watch it for."""
        return self._attempt.events if self._attempt else READ | (WRITE if self._to_send else 0)

    def describe(self) -> str:
        """Say what goes on."""
        if self._attempt is not None:
            return f"the front-end: {self._attempt.describe()}"
        return "the front-end has not opened the route yet"

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on; return the connection once the way is open, and what came behind the answer.

        Raises:
            PeerLost: the front-end cannot be reached, or it knows no way.
        """
        if self._attempt is not None and not self._reached(self._attempt, now):
            return None
        connected = self._socket
        assert connected is not None
        try:
            return self._ask(connected, now)
        except PeerSilent:
            self.close()
            raise
        except (OSError, TransportError) as fault:
            self.close()
            raise PeerLost(
                f"{self._words} cannot be reached",
                cause=str(fault),
                cure="The output of the front-ends on the route tells more",
            ) from fault

    def close(self) -> None:
        """Give up."""
        if self._attempt is not None:
            self._attempt.close()
        self._attempt = None
        super().close()

    def _reached(self, attempt: Attempt, now: float) -> bool:
        opened = attempt.step(now)
        if opened is None:
            self.deadline = attempt.deadline
            return False
        self._attempt = None
        self._socket, received = opened
        self._answered = self._reader.feed(received)
        self.deadline = now + FORWARDING_TIMEOUT
        return True

    def _ask(self, connected: socket.socket, now: float) -> tuple[socket.socket, bytes] | None:
        try:
            if self._to_send:
                self._to_send = self._to_send[connected.send(self._to_send) :]
            answer = self._answered
            while answer is None:
                received = connected.recv(_PIECE)
                if not received:
                    raise ConnectionError("the front-end closed the connection")
                answer = self._reader.feed(received)
        except BlockingIOError:
            if now >= self.deadline:
                raise TimeoutError(f"no route within {FORWARDING_TIMEOUT:g} s") from None
            return None
        if answer.is_silent:
            raise PeerSilent(f"{self._words} does not answer", cause=answer.why)
        if not answer.is_open:
            raise ConnectionError(answer.why)
        self._socket = None
        return connected, self._reader.rest


class Forwarded(ForwardedAttempt):
    """Asks for a way to a peer and proves itself to the peer through all that lies between.

    The front-end is dialled by `attempt`; the peer has this `name`, which errors call `words`.
    """

    def __init__(
        self,
        attempt: Attempt,
        stops: tuple[str, ...],
        words: str,
        name: str,
        credentials: Credentials,
        *,
        system: DiallingSystem = SYSTEM,
    ) -> None:
        super().__init__(attempt, stops, words)
        self._system = system
        self._name = name
        self._credentials = credentials

    @property
    def events(self) -> int:
        """What to watch it for."""
        return super().events if self._exchange is None else self._exchange.events

    def describe(self) -> str:
        """Say what goes on."""
        if self._exchange is None:
            return super().describe()
        return "the front-ends have reached it, but the process does not answer"

    def step(self, now: float) -> tuple[socket.socket, bytes] | None:
        """Go on; return the connection once the peer has proved itself, and what came behind.

        Raises:
            PeerLost: there is no way, or somebody else is at its end.
        """
        if self._exchange is None:
            opened = super().step(now)
            if opened is None:
                return None
            self._socket, received = opened
            self._prove(self._credentials, self._name, received)
            self.deadline = now + PROOF_TIMEOUT
        try:
            return self._go_on_proving(now)
        except (OSError, TransportError) as fault:
            self.close()
            kind = PeerSilent if isinstance(fault, TimeoutError) else PeerLost
            raise kind(
                f"{self._words} does not answer through the front-ends between", cause=str(fault)
            ) from fault

    def _go_on_proving(self, now: float) -> tuple[socket.socket, bytes] | None:
        assert self._exchange is not None
        if self._exchange.step():
            return self._proved(self._exchange)
        if now >= self.deadline:
            raise TimeoutError(f"no proof within {PROOF_TIMEOUT:g} s")
        return None
