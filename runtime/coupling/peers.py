"""What one participant knows of the others: which codes run, which have ended and why. Pure."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from typing import Any

from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import CodeEnded
from runtime.coupling.message_paths import DRIVER
from runtime.matching import ANY, Pattern, ReceiveWindow, Window
from runtime.matching.window import WINDOW

Peer = tuple[str, int]

RESTART_SECONDS = 30.0
"""How long a code that was started waits for one that had ended before, to be started again too."""


FLOODS = "it has sent more than fits before anything of it was received, and is not listened to"
"""Why a rank counts as ended that sends what no program could send."""

MOST_LIVES = 5
"""Messages of so many lives of a rank are kept at once: notices that a code has begun may be late.

How far ahead their numbers are says nothing: who was started late does not know the present one.
"""


class Order:
    """Messages from one rank to another, put into the order of their numbers.

    >>> order = Order()
    >>> order.arrived(1, "b"), order.arrived(0, "a"), order.arrived(2, "c")
    ([], ['a', 'b'], ['c'])
    """

    def __init__(self) -> None:
        self._next = 0
        self._early: dict[int, tuple[int, object]] = {}  # with its weight
        self._waiting: Counter[int] = Counter()  # how many there are of each weight
        self._weight = 0

    def admits(self, weight: int, processes: int = 1) -> bool:
        """Take note of a message that arrives; tell whether its sender keeps to the window.

        It sends one more while the window is not full, so all but the last one fit into that. The
        last one weighs no more than the heaviest, in whatever order they come. Each of the
        `processes` that have had the rank one after the other had a window of its own.

        >>> order = Order()
        >>> [order.admits(WINDOW - 1), order.admits(9 * WINDOW), order.admits(1)]
        [True, True, False]
        >>> order.admits(9 * WINDOW, processes=2), order.admits(WINDOW, processes=2)
        (True, False)
        """
        self._waiting[weight] += 1
        self._weight += weight
        most = processes * WINDOW
        if self._weight < most:
            return True
        last = heapq.nlargest(processes, self._waiting.elements())
        return self._weight - sum(last) < most

    @property
    def is_empty(self) -> bool:
        """Whether no message waits."""
        return not self._waiting

    def received(self, weight: int) -> None:
        """Take note that a message waits no more."""
        self._weight -= weight
        self._waiting[weight] -= 1
        if not self._waiting[weight]:
            del self._waiting[weight]

    def arrived(self, number: int, message: object, weight: int = 0) -> list[Any]:
        """Add a message of a `weight` that was admitted; return all that are now in order."""
        dropped = [number] if number in self._early else []
        if number < self._next:  # numbers repeat only when a rank was restarted
            self._next = 0
            dropped = list(self._early)
        for one in dropped:
            self.received(self._early.pop(one)[0])
        self._early[number] = weight, message
        found = []
        while self._next in self._early:
            found.append(self._early.pop(self._next)[1])
            self._next += 1
        return found


class Peers:
    """The codes of a deployment as `me` sees them.

    Incarnations of a code count from 1: it can be started again after it has ended. 0 means that it
    was never started.
    """

    def __init__(
        self,
        me: Peer,
        incarnation: int,
        directory: CodeDirectory,
        states: Mapping[str, tuple[int, str | None]],
    ) -> None:
        """`states` gives for each code its incarnation, and why that ended, None if it has not.

        The incarnation 0 of a code that has ended says that it had done so before the code of `me`
        was started, and may be started again as well.
        """
        self.me = me
        self.incarnation = incarnation
        self.directory = directory
        self.changes = 0
        """How often a rank became another process."""
        self._incarnations = {name: state[0] for name, state in states.items()} | {DRIVER: 1}
        ended = [(name, number, why) for name, (number, why) in states.items() if why is not None]
        self._ended = {name: why for name, number, why in ended if number}
        self._ended_before = {name: why for name, number, why in ended if not number}
        self._ended_ranks: dict[Peer, str] = {}
        self._lives: dict[Peer, int] = {}
        self._ends: dict[Peer, set[int]] = {}  # incarnations that the launcher has told the end of
        self._watched: set[Peer] = set()
        self._flooding: set[Peer] = set()
        self._windows: dict[Peer, Window] = {}
        self._receive_windows: dict[tuple[str, int, int], ReceiveWindow] = {}
        self._sent: dict[Peer, int] = {}
        self._orders: dict[tuple[str, int, int], Order] = {}

    # -- events ------------------------------------------------------------------------------------

    def began(self, code: str, incarnation: int) -> None:
        """Record that a code was started; what was known of its previous incarnation is dropped."""
        if incarnation <= self._incarnations.get(code, 0) and code not in self._ended:
            return
        self.changes += 1
        self._incarnations[code] = incarnation
        self._ended.pop(code, None)
        self._ended_before.pop(code, None)
        self._watched = {peer for peer in self._watched if peer[0] != code}
        self._flooding = {peer for peer in self._flooding if peer[0] != code}
        of_peers: tuple[dict[Peer, Any], ...] = (
            self._ended_ranks, self._lives, self._ends, self._windows, self._sent,
        )  # fmt: skip
        for known in of_peers:
            for peer in [one for one in known if one[0] == code]:
                del known[peer]
        # Messages of the new incarnation may arrive before the notice that it has begun.
        of_runs: tuple[dict[tuple[str, int, int], Any], ...] = (self._receive_windows, self._orders)
        for past in of_runs:
            for key in [one for one in past if one[0] == code and one[2] < incarnation]:
                del past[key]

    def ended(self, code: str, why: str) -> None:
        """Record that a whole code has ended."""
        self._ended[code] = why

    def rank_ended(self, code: str, rank: int, why: str, incarnation: int = 0) -> None:
        """Record that one rank has ended, in an incarnation if the launcher tells that."""
        self._ended_ranks[code, rank] = why
        if incarnation:
            self._ends.setdefault((code, rank), set()).add(incarnation)

    def rank_began(self, code: str, rank: int, incarnation: int) -> None:
        """Record that another process has the rank, which knows nothing of what was sent before."""
        peer = code, rank
        self.changes += 1
        self._lives[peer] = incarnation
        for known in (self._ended_ranks, self._windows, self._sent):
            known.pop(peer, None)
        for peers in (self._watched, self._flooding):
            peers.discard(peer)
        for key, order in [one for one in self._orders.items() if one[0][:2] == peer]:
            if key[2] < incarnation and order.is_empty:
                del self._orders[key]
                self._receive_windows.pop(key, None)

    def taken(self, code: str, rank: int, incarnation: int, weight: int) -> None:
        """Record that a receiver took messages that an incarnation of this participant sent."""
        if incarnation == self.incarnation:
            self.window((code, rank)).taken(weight)

    # -- queries -----------------------------------------------------------------------------------

    def first_contact(self, code: str, rank: int) -> bool:
        """Return whether to ask for a notice of this rank's end; true only once."""
        if code == DRIVER or (code, rank) in self._watched:
            return False
        self._watched.add((code, rank))
        return True

    def window(self, peer: Peer) -> Window:
        """Return the window of a rank."""
        return self._windows.setdefault(peer, Window())

    def acknowledge(self, code: str, rank: int, incarnation: int, weight: int) -> int:
        """Count a received message; return how much to acknowledge to its sender now, or 0."""
        if order := self._orders.get((code, rank, incarnation)):
            order.received(weight)
        return self._receive_windows.setdefault((code, rank, incarnation), ReceiveWindow()).take(
            weight
        )

    def next_number(self, peer: Peer) -> int:
        """Return the number of the next message to a rank in its code's current incarnation."""
        number = self._sent.get(peer, 0)
        self._sent[peer] = number + 1
        return number

    def admits(self, code: str, rank: int, incarnation: int, weight: int) -> bool:
        """Tell whether a message of a rank may be kept; one that floods counts as ended."""
        if (code, rank) in self._flooding:
            return False
        key = (code, rank, incarnation)
        lives = sum(one[:2] == key[:2] for one in self._orders) if key not in self._orders else 0
        processes = 1 + len(self._ends.get((code, rank), ()))
        if lives < MOST_LIVES and self._order(*key).admits(weight, processes):
            return True
        self._flooding.add((code, rank))
        self.rank_ended(code, rank, FLOODS)
        return False

    def in_order(
        self, code: str, rank: int, incarnation: int, number: int, message: object, *, weight: int
    ) -> list[Any]:
        """Add a message of a rank that was admitted; return all that are now in order."""
        return self._order(code, rank, incarnation).arrived(number, message, weight)

    def _order(self, code: str, rank: int, incarnation: int) -> Order:
        return self._orders.setdefault((code, rank, incarnation), Order())

    def incarnation_of(self, code: str, rank: int) -> int:
        """Return the incarnation to which a rank belongs: its own if it was started again alone."""
        return self._lives.get((code, rank), self._incarnations.get(code, 0))

    def is_past(self, code: str, incarnation: int) -> bool:
        """Return whether an incarnation of a code was followed by another one."""
        return incarnation < self._incarnations.get(code, 0)

    def has_begun(self, code: str) -> bool:
        """Return whether a code was ever started."""
        return self._incarnations.get(code, 0) > 0

    def may_be_restarted(self, pattern: Pattern) -> bool:
        """Return whether a wait may end once a code is started again that had ended before."""
        codes = self._ended_before if pattern.code is ANY else (pattern.code,)
        return any(code in self._ended_before for code in codes)

    def fault_of(
        self, code: str, rank: int | None, doing: str, waited: float = 0.0
    ) -> CodeEnded | None:
        """Return why `doing` something with a code, or one rank of it, would wait for ever.

        `waited` is how many seconds that has lasted.
        """
        if rank is not None and (code, rank) in self._ended_ranks:
            what = f"rank {rank} of {code} has ended while {doing}"
            return CodeEnded(what, code=code, rank=rank, cause=self._ended_ranks[code, rank])
        if code in self._ended:
            what = f"{code} has ended while {doing}"
            return CodeEnded(what, code=code, rank=None, cause=self._ended[code])
        if code in self._ended_before and waited >= RESTART_SECONDS:
            what = (
                f"{code} had ended before {self.me[0]} was started, and was not started again"
                f" within {RESTART_SECONDS:g} s while {doing}"
            )
            return CodeEnded(what, code=code, rank=None, cause=self._ended_before[code])
        return None

    def fault_of_pattern(
        self, pattern: Pattern, doing: str, waited: float = 0.0
    ) -> CodeEnded | None:
        """Return why waiting for a message would be in vain, None as long as it may come."""
        if pattern.code is not ANY:
            rank = None if pattern.rank is ANY else pattern.rank
            return self.fault_of(pattern.code, rank, doing, waited)
        others = [name for name in self.directory.sizes if name != self.me[0]]
        alone = self.directory.sizes.get(self.me[0], 0) <= 1
        ended = self._ended | (self._ended_before if waited >= RESTART_SECONDS else {})
        if not alone or not others or not all(name in ended for name in others):
            return None
        what = f"all other codes ({', '.join(others)}) have ended while {doing}"
        return CodeEnded(what, code=others[-1], rank=None, cause=ended[others[-1]])
