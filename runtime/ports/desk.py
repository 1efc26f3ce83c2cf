"""The desk of a rank: its ports, and who waits at them.

```
 root of Accept ──ACCEPT──►┐                        ┌──ANSWER──► a context, who connects
                           │ the desk of the rank   │
                           │ that opened the port   │
 root of Connect ─CONNECT─►┘                        └──ANSWER──► this context, who accepts
```

Each side asks in its own time, and waits for its answer. Nobody waits at a port that is not there
or is closed: the answer says so at once. A desk asks for itself as it asks others.
"""

from __future__ import annotations

from _blake2 import blake2b  # without `hashlib`, which loads OpenSSL
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from itertools import count
from struct import Struct
from typing import NamedTuple, Self

from runtime.services import Effect, SendRequest
from runtime.services.port import OUT_OF_TURN

DESK_KEY = b"gcm-desk"
"""The key of this service, which each rank has from the start."""

CONTEXT_BYTES = 8

_HEADER = Struct("<BBq")
_WORD = "q"
_SCHEME = "gcm-port"
_DIGITS = 18
"""As many digits a number has at most that fits into a word."""


class PortRequest(IntEnum):
    """What somebody asks a desk for."""

    ACCEPT = 1
    """To be paired with who connects to a port; the body has its number, and the own group."""
    CONNECT = 2
    """To be paired with who accepts at a port; the body is alike."""
    WITHDRAW = 3
    """Not to be paired any more: the call with this token has ended."""
    ANSWER = OUT_OF_TURN | 1
    """What became of the question with this token."""


class PortAnswer(IntEnum):
    """What became of a question."""

    DONE = 0
    NO_PORT = 1
    """The port was never opened, or is closed."""
    BOTH_SIDES = 2
    """A process is in both groups; the body has it."""


class PortName(NamedTuple):
    """What a port is called: by the rank in COMM_GRID that has opened it, and a number of its own.

    The number tells ports of other runs apart. A name is no secret.

    >>> str(PortName(3, 4711))
    'gcm-port:3:4711'
    >>> PortName.of("gcm-port:3:4711")
    PortName(rank=3, number=4711)
    >>> PortName.of("tag#0$description#node7$") is None
    True
    """

    rank: int
    number: int

    def __str__(self) -> str:
        return f"{_SCHEME}:{self.rank}:{self.number}"

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return what a text names; None if it is no port of a run."""
        scheme, *parts = text.split(":")
        if scheme != _SCHEME or len(parts) != len(cls._fields):
            return None
        if not all(one.isascii() and one.isdigit() and len(one) <= _DIGITS for one in parts):
            return None
        return cls(*map(int, parts))


class PortQuestion:
    """Something that this rank has asked the desk of a rank for.

    `outcome` is None until that has answered.
    """

    __slots__ = ("body", "desk", "outcome", "token")

    def __init__(self, token: int, desk: int) -> None:
        self.token, self.desk = token, desk
        self.outcome: PortAnswer | None = None
        self.body = b""


class _Offer(NamedTuple):
    """Who waits at a port: the process, the token of its question, and its group."""

    source: int
    token: int
    group: tuple[int, ...]


class _Port:
    """Those that wait at a port: on one side nobody does."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: dict[int, deque[_Offer]] = {
            PortRequest.ACCEPT: deque(),
            PortRequest.CONNECT: deque(),
        }

    def offers(self) -> Iterator[_Offer]:
        for side in self.waiting.values():
            yield from side

    def leave_out(self, is_gone: Callable[[_Offer], bool]) -> None:
        for side, offers in self.waiting.items():
            self.waiting[side] = deque(one for one in offers if not is_gone(one))


class PortDesk:
    """A service: see the top of the file.

    >>> desk = PortDesk(3)
    >>> desk.open(4711)
    >>> mine, send = desk.ask(PortRequest.ACCEPT, PortName(3, 4711), (3, 4))
    >>> desk.handle(3, send.header, send.body[0])
    []
    >>> theirs, send = PortDesk(5).ask(PortRequest.CONNECT, PortName(3, 4711), (5,))
    >>> for answer in desk.handle(5, send.header, send.body[0]):
    ...     if answer.to == 3:
    ...         desk.handle(3, answer.header, answer.body[0])
    ()
    >>> mine.outcome, PortDesk.pairing(mine.body)[1]
    (<PortAnswer.DONE: 0>, (5,))
    """

    def __init__(self, me: int) -> None:
        self._me = me
        self._tokens, self._pairs = count(1), count(1)
        self._questions: dict[int, PortQuestion] = {}
        self._ports: dict[int, _Port] = {}

    # --- what this rank does itself ---------------------------------------------------------------

    def open(self, number: int) -> None:
        """Open a port."""
        self._ports[number] = _Port()

    def close(self, number: int) -> list[Effect] | None:
        """Close a port, and tell those who wait there; None if there is no such port."""
        port = self._ports.pop(number, None)
        if port is None:
            return None
        return [_answer(one.source, one.token, PortAnswer.NO_PORT) for one in port.offers()]

    def ask(
        self, side: PortRequest, port: PortName, group: Iterable[int]
    ) -> tuple[PortQuestion, SendRequest]:
        """Return a question to the desk of a port, and what has to be sent for it."""
        question = PortQuestion(next(self._tokens), port.rank)
        self._questions[question.token] = question
        header = _HEADER.pack(side, 0, question.token)
        body = array(_WORD, (port.number, *group)).tobytes()
        return question, SendRequest(port.rank, header, (memoryview(body),))

    def withdraw(self, question: PortQuestion) -> SendRequest:
        """Forget a question whose call has ended; return what tells the desk of it."""
        self._questions.pop(question.token, None)
        header = _HEADER.pack(PortRequest.WITHDRAW, 0, question.token)
        return SendRequest(question.desk, header)

    @staticmethod
    def pairing(body: bytes) -> tuple[bytes, tuple[int, ...]]:
        """Return the context and the other group that the answer to an offer has."""
        return body[:CONTEXT_BYTES], tuple(array(_WORD, body[CONTEXT_BYTES:]))

    # --- the service ------------------------------------------------------------------------------

    def admits(self, source: int) -> bool:  # noqa: ARG002 - others make their askers wait
        """Return that the next request can be served: offers wait at their port, not here."""
        return True

    def may_wait(self, header: bytes) -> bool:  # noqa: ARG002 - as above
        """Return that nothing waits."""
        return False

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:  # noqa: ARG002 - as above
        """Return None: the bodies are small."""
        return None

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        """Serve a request, or take an answer."""
        kind, code, token = _HEADER.unpack(header)
        said = bytes(body or b"")
        if kind == PortRequest.ANSWER:
            self._answered(source, token, PortAnswer(code), said)
            return ()
        if kind == PortRequest.WITHDRAW:
            self._leave_out(lambda one: (one.source, one.token) == (source, token))
            return ()
        number, *group = array(_WORD, said)
        return self._offered(PortRequest(kind), number, _Offer(source, token, tuple(group)))

    def lost(self, source: int) -> Iterable[Effect]:
        """Forget what a lost process waits for."""
        self._leave_out(lambda one: one.source == source)
        return ()

    def broken(self, source: int, fault: Exception) -> Iterable[Effect]:  # noqa: ARG002 - it is in the log
        """Forget a process whose request cannot be read."""
        return self.lost(source)

    def _answered(self, source: int, token: int, outcome: PortAnswer, body: bytes) -> None:
        question = self._questions.get(token)
        if question is not None and question.desk == source:
            del self._questions[token]
            question.body, question.outcome = body, outcome

    def _offered(self, side: PortRequest, number: int, offer: _Offer) -> list[Effect]:
        port = self._ports.get(number)
        if port is None:
            return [_answer(offer.source, offer.token, PortAnswer.NO_PORT)]
        other = port.waiting[
            PortRequest.CONNECT if side == PortRequest.ACCEPT else PortRequest.ACCEPT
        ]
        if not other:
            port.waiting[side].append(offer)
            return []
        found = other.popleft()
        if twice := set(offer.group) & set(found.group):
            told = array(_WORD, [min(twice)]).tobytes()
            return [
                _answer(one.source, one.token, PortAnswer.BOTH_SIDES, told)
                for one in (found, offer)
            ]
        context = self._next_context()
        return [
            _answer(
                one.source, one.token, PortAnswer.DONE, context + array(_WORD, peer.group).tobytes()
            )
            for one, peer in ((found, offer), (offer, found))
        ]

    def _next_context(self) -> bytes:
        """Return a context that no other communicator of the run has."""
        said = f"pair {next(self._pairs)} at the ports of {self._me}".encode()
        return blake2b(said, digest_size=CONTEXT_BYTES).digest()

    def _leave_out(self, is_gone: Callable[[_Offer], bool]) -> None:
        for port in self._ports.values():
            port.leave_out(is_gone)


def _answer(to: int, token: int, outcome: PortAnswer, body: bytes = b"") -> SendRequest:
    return SendRequest(
        to, _HEADER.pack(PortRequest.ANSWER, outcome, token), (memoryview(body),) if body else ()
    )
