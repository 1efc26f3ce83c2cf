"""The rounds of a gathercast operation: which calls of which clients become one call, and when.

A state machine without clock, thread or lock: calls, times and changes of bindings go in, effects
come out, and the owner carries them out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Generic, TypeAlias, TypeVar

from gcm.errors import GcmError
from gcm.records import dataclass

Client = TypeVar("Client", bound=Hashable)


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


Effect: TypeAlias = Fire[Client] | Expire[Client]


@dataclass(slots=True)
class _Round(Generic[Client]):
    opened: float
    entries: dict[Client, RoundEntry[Client]] = field(default_factory=dict)

    def in_binding_order(self) -> tuple[RoundEntry[Client], ...]:
        return tuple(sorted(self.entries.values(), key=lambda entry: entry.rank))


class Rounds(Generic[Client]):
    """The queue of rounds of one operation of one gathercast interface.

    A call joins the oldest round in which its client has not called yet. A round fires when every
    bound client has called, or with `wait_for_all=False` at its first call; it expires when
    `timeout` has passed since its first call. Calls of a client that is no longer bound stay in
    their rounds, so that none is lost, and a client bound later is waited for like the others.

    >>> rounds = Rounds(["a", "b"])
    >>> rounds.arrive("b", 2, now=0.0)
    []
    >>> [entry.arguments for entry in rounds.arrive("a", 1, now=0.1)[0].entries]
    [1, 2]
    """

    def __init__(
        self,
        clients: Iterable[Client] = (),
        *,
        wait_for_all: bool = True,
        timeout: float | None = None,
    ) -> None:
        if timeout is not None and timeout <= 0:
            raise ValueError(f"the timeout of a gathercast has to be above 0, not {timeout}")
        self._wait_for_all = wait_for_all
        self._timeout = timeout
        self._ranks: dict[Client, int] = {}
        self._next_rank = 0
        self._pending: deque[_Round[Client]] = deque()
        for client in clients:
            self.admit(client)

    @property
    def clients(self) -> tuple[Client, ...]:
        """The bound clients in binding order."""
        return tuple(self._ranks)

    def empty(self) -> Rounds[Client]:
        """Return rounds of the same clients and settings, without calls."""
        return Rounds(self._ranks, wait_for_all=self._wait_for_all, timeout=self._timeout)

    @property
    def pending(self) -> int:
        """How many rounds wait for calls."""
        return len(self._pending)

    @property
    def missing(self) -> tuple[Client, ...]:
        """The clients that the oldest round still waits for."""
        if not self._pending:
            return ()
        return tuple(client for client in self._ranks if client not in self._pending[0].entries)

    @property
    def deadline(self) -> float | None:
        """When the oldest round expires, or None where nothing can expire."""
        if self._timeout is None or not self._pending:
            return None
        return self._pending[0].opened + self._timeout

    def admit(self, client: Client) -> None:
        """Bind a client, last in binding order; raises ValueError if it is bound already."""
        if client in self._ranks:
            raise ValueError(f"{client} is bound already")
        self._ranks[client] = self._next_rank
        self._next_rank += 1

    def forget(self, client: Client) -> list[Effect[Client]]:
        """Unbind a client and fire the rounds that waited only for it.

        Raises ValueError for a client that is not bound.
        """
        if client not in self._ranks:
            raise ValueError(f"{client} is not bound")
        del self._ranks[client]
        return self._complete()

    def arrive(
        self, client: Client, arguments: Any, now: float, *, ticket: Any = None
    ) -> list[Effect[Client]]:
        """Add a call of a client. Raises GcmError for one that is not bound."""
        if client not in self._ranks:
            raise GcmError(
                f"'{client}' called a gathercast interface that it is not bound to",
                cure=f"Bound are: {', '.join(map(str, self._ranks)) or 'none'}",
            )
        effects = self.expire(now)
        entry = RoundEntry(client, arguments, ticket, self._ranks[client])
        if not self._wait_for_all:
            return [*effects, Fire((entry,))]
        self._open_round(client, now).entries[client] = entry
        return effects + self._complete()

    def expire(self, now: float) -> list[Effect[Client]]:
        """Expire the rounds whose timeout has passed."""
        effects: list[Effect[Client]] = []
        while (deadline := self.deadline) is not None and deadline <= now:
            late = self._pending.popleft()
            missing = tuple(client for client in self._ranks if client not in late.entries)
            effects.append(Expire(late.in_binding_order(), missing))
        return effects

    def _open_round(self, client: Client, now: float) -> _Round[Client]:
        """Return the oldest round without a call of the client, a new one if necessary."""
        for pending in self._pending:
            if client not in pending.entries:
                return pending
        self._pending.append(_Round(now))
        return self._pending[-1]

    def _complete(self) -> list[Effect[Client]]:
        # A client is never in a round without being in the older ones, so that rounds complete in
        # their order.
        effects: list[Effect[Client]] = []
        while self._pending and self._ranks.keys() <= self._pending[0].entries.keys():
            effects.append(Fire(self._pending.popleft().in_binding_order()))
        return effects


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
