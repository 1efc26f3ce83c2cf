"""The rounds of a gathercast operation: which calls of which clients become one call, and when.

A state machine without clock, thread or lock: calls, times and changes of bindings go in, effects
come out, and the owner carries them out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Generic, TypeAlias, TypeVar

from gcm.errors import GcmError
from gcm.records import dataclass

Client = TypeVar("Client", bound=Hashable)


class WhenLeft(StrEnum):
    """What becomes of the rounds that wait for a client when it is unbound, removed or lost."""

    GO_ON = "go-on"
    """They go on without it, at once where only it was missing."""
    REFUSE = "refuse"
    """Those who have called get an error that names it."""
    REPLACE = "replace"
    """Its place is kept, and the client that is bound next takes it."""


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """When a round is over: with all clients, or at each call; in time; and if a client leaves.

    `timeout` counts from the first call of a round, in seconds. Raises ValueError if it is not
    above zero.
    """

    wait_for_all: bool = True
    timeout: float | None = None
    when_left: WhenLeft = WhenLeft.GO_ON

    def __post_init__(self) -> None:
        """Refuse a time that has always passed."""
        if self.timeout is not None and self.timeout <= 0:
            raise ValueError(
                f"the timeout of a gathercast has to be above 0 seconds, not {self.timeout}"
            )


AS_USUAL = RoundSettings()


@dataclass(frozen=True, slots=True)
class RoundEntry(Generic[Client]):
    """One call of one client in a round.

    `arguments` and `ticket` belong to the owner; the ticket identifies the caller.
    """

    client: Client
    arguments: Any
    ticket: Any
    rank: int
    """The place of the client in binding order, counted from the first binding ever made."""


@dataclass(frozen=True, slots=True)
class Fire(Generic[Client]):
    """Make one call from these, in binding order, and give each its part of the result."""

    entries: tuple[RoundEntry[Client], ...]


@dataclass(frozen=True, slots=True)
class Expire(Generic[Client]):
    """Tell these callers that the round timed out, because `missing` did not call."""

    entries: tuple[RoundEntry[Client], ...]
    missing: tuple[Client, ...]


@dataclass(frozen=True, slots=True)
class Refuse(Generic[Client]):
    """Tell these callers that the round will never be full, because `left` is bound no longer."""

    entries: tuple[RoundEntry[Client], ...]
    left: Client


Effect: TypeAlias = Fire[Client] | Expire[Client] | Refuse[Client]


@dataclass(slots=True)
class _Round(Generic[Client]):
    opened: float
    entries: dict[int, RoundEntry[Client]] = field(default_factory=dict)
    """By the places of their clients."""

    def in_binding_order(self) -> tuple[RoundEntry[Client], ...]:
        return tuple(entry for _, entry in sorted(self.entries.items()))

    def has(self, client: Client, rank: int) -> bool:
        """Whether the place has called, or the client itself from the place it had before."""
        return rank in self.entries or any(
            entry.client == client for entry in self.entries.values()
        )


class Rounds(Generic[Client]):
    """The queue of rounds of one operation of one gathercast interface.

    A call joins the oldest round in which its client has not called yet. A round fires when every
    bound client has called, or at its first call if it need not wait for all; it expires when the
    timeout has passed since its first call. Calls of a client that is no longer bound stay in
    their rounds, so that none is lost, and a client bound later is waited for like the others.
    The settings say what becomes of rounds in which a client that is unbound has not called.

    >>> rounds = Rounds(["a", "b"])
    >>> rounds.arrive("b", 2, now=0.0)
    []
    >>> [entry.arguments for entry in rounds.arrive("a", 1, now=0.1)[0].entries]
    [1, 2]
    """

    def __init__(self, clients: Iterable[Client] = (), settings: RoundSettings = AS_USUAL) -> None:
        self.settings = settings
        self._ranks: dict[Client, int] = {}
        self._vacant: dict[int, Client] = {}
        self._next_rank = 0
        self._pending: deque[_Round[Client]] = deque()
        for client in clients:
            self.admit(client)

    @property
    def clients(self) -> tuple[Client, ...]:
        """The bound clients in binding order; who has taken a kept place stands there."""
        return tuple(sorted(self._ranks, key=self._ranks.__getitem__))

    def empty(self) -> Rounds[Client]:
        """Return rounds of the same clients, places and settings, without calls."""
        others = Rounds[Client](settings=self.settings)
        others._ranks, others._vacant = dict(self._ranks), dict(self._vacant)
        others._next_rank = self._next_rank
        return others

    @property
    def pending(self) -> int:
        """How many rounds wait for calls."""
        return len(self._pending)

    @property
    def called(self) -> tuple[Client, ...]:
        """Those that have called in the oldest round."""
        if not self._pending:
            return ()
        return tuple(entry.client for entry in self._pending[0].in_binding_order())

    @property
    def missing(self) -> tuple[Client, ...]:
        """Those that the oldest round still waits for, or whose place it keeps."""
        return self._missing_in(self._pending[0]) if self._pending else ()

    @property
    def deadline(self) -> float | None:
        """When the oldest round expires, or None where nothing can expire."""
        if self.settings.timeout is None or not self._pending:
            return None
        return self._pending[0].opened + self.settings.timeout

    def admit(self, client: Client) -> None:
        """Bind a client, to the first place that is kept or last in binding order.

        Raises ValueError if it is bound already.
        """
        if client in self._ranks:
            raise ValueError(f"{client} is bound already")
        if self._vacant:
            rank = min(self._vacant)
            del self._vacant[rank]
        else:
            rank = self._next_rank
            self._next_rank += 1
        self._ranks[client] = rank

    def forget(self, client: Client) -> list[Effect[Client]]:
        """Unbind a client, and do as `when_left` says with the rounds in which it has not called.

        Raises ValueError for a client that is not bound.
        """
        if client not in self._ranks:
            raise ValueError(f"{client} is not bound")
        rank = self._ranks.pop(client)
        if self.settings.when_left is WhenLeft.REPLACE:
            self._vacant[rank] = client
            return []
        if self.settings.when_left is WhenLeft.REFUSE:
            # A client is never in a round without being in the older ones, so these are the last.
            refused = [one for one in self._pending if not one.has(client, rank)]
            self._pending = deque(one for one in self._pending if one.has(client, rank))
            return [Refuse(one.in_binding_order(), client) for one in refused]
        return self._complete()

    def arrive(
        self, client: Client, arguments: Any, now: float, *, ticket: Any = None
    ) -> list[Effect[Client]]:
        """Add a call of a client. Raises GcmError for one that is not bound."""
        if client not in self._ranks:
            raise GcmError(
                f"'{client}' called a gathercast interface that it is not bound to",
                cure=f"Bound are: {', '.join(map(str, self.clients)) or 'none'}",
            )
        effects = self.expire(now)
        entry = RoundEntry(client, arguments, ticket, self._ranks[client])
        if not self.settings.wait_for_all:
            return [*effects, Fire((entry,))]
        self._open_round(client, now).entries[entry.rank] = entry
        return effects + self._complete()

    def expire(self, now: float) -> list[Effect[Client]]:
        """Expire the rounds whose timeout has passed."""
        effects: list[Effect[Client]] = []
        while (deadline := self.deadline) is not None and deadline <= now:
            late = self._pending.popleft()
            effects.append(Expire(late.in_binding_order(), self._missing_in(late)))
        return effects

    @property
    def _expected(self) -> dict[int, Client]:
        """Who has to call, by place; a place that is kept has the name of the one that left."""
        return {rank: client for client, rank in self._ranks.items()} | self._vacant

    def _missing_in(self, waiting: _Round[Client]) -> tuple[Client, ...]:
        return tuple(
            client
            for rank, client in sorted(self._expected.items())
            if not waiting.has(client, rank)
        )

    def _open_round(self, client: Client, now: float) -> _Round[Client]:
        """Return the oldest round without a call of the client, a new one if necessary."""
        for pending in self._pending:
            if not pending.has(client, self._ranks[client]):
                return pending
        self._pending.append(_Round(now))
        return self._pending[-1]

    def _complete(self) -> list[Effect[Client]]:
        # A client is never in a round without being in the older ones, so that rounds complete in
        # their order.
        effects: list[Effect[Client]] = []
        while self._pending and self._is_full(self._pending[0]):
            effects.append(Fire(self._pending.popleft().in_binding_order()))
        return effects

    def _is_full(self, waiting: _Round[Client]) -> bool:
        # The number is enough to know that one is missing, which most calls only have to know.
        enough = len(waiting.entries) >= len(self._ranks) + len(self._vacant)
        return enough and not self._missing_in(waiting)


def scatter_results(operation: str, result: Any, count: int) -> Sequence[Any]:
    """Split the result of a gathered call into one result for each of `count` callers, by index.

    None gives None to every caller. Raises GcmError for anything else without one element per
    caller.
    """
    if result is None:
        return [None] * count
    wanted = f"the gathered call of '{operation}' has to return a list with one result per caller"
    cure = "Return the results in the order of the argument lists, or None"
    listed = hasattr(result, "__getitem__") and getattr(result, "shape", None) != ()
    if not listed or isinstance(result, str | bytes | Mapping):
        raise GcmError(f"{wanted}, not a {type(result).__qualname__}", cure=cure)
    if len(result) != count:
        raise GcmError(f"{wanted}: {count} called, and it returned {len(result)}", cure=cure)
    return [result[index] for index in range(count)]
