"""Co-allocation: nodes of several queues, all or nothing. Events in, effects out.

Clusters behind queues get their nodes at different times, and the first one's do nothing until the
last one has its own. So a grant that comes early is held for a while only, then given back, and the
cluster asks again. How it asks again depends on its queue:

- A queue that grants within the time for which nodes may be idle is *quick*. It is asked again when
  all others have their nodes, for they will still be held when it answers.
- Any other queue is *slow*. A further job is put into it while nodes are held, so that it has
  waited for a while when these are given back; it is cancelled once the run begins. The first one
  comes at once, each later one after a longer pause, so that no queue is flooded.

So somebody is always in a queue: the last one to be granted nodes had the others asked again.

Where all systems take advance reservations, none of that is needed: all are asked for nodes from
the same time on, and, if one refuses, for a later time, which it tells or which is half as long
again, until all agree. If one cannot reserve, all ask their queues as above.

Where some clusters are *enough*, all is over once so many hold nodes: each of the others stays in
its queue, and its nodes are used as soon as they are granted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from enum import StrEnum

from gcm.records import dataclass

LONGEST_PAUSE = 3600.0
"""Seconds between giving nodes back and asking for them again, at most."""

FIRST_START, LAST_START = 60.0, 10 * 86400.0
"""Seconds until a common start, at first and at most; a batch system needs some to decide."""

LATER = 1.5
"""How much longer it is the next time, where the systems do not tell when they could begin."""


class AskingWay(StrEnum):
    """When a cluster asks again for nodes that it has held and may have to give back."""

    CHOSEN = "chosen"
    """As its queue needs it: see the head of this file. The others are there to be compared."""
    HOLD = "hold"
    """Once they are given back, after a pause."""
    SURPLUS = "surplus"
    """At once, while it holds them."""
    RESERVE = "reserve"
    """It reserves them from the same time on as all others, as long as all can; else as CHOSEN."""


@dataclass(frozen=True, slots=True)
class QueueRequest:
    """The request with a `number`, from 1, that was made for a cluster."""

    cluster: str
    number: int


@dataclass(frozen=True, slots=True)
class Submit:
    """A job has to be submitted for a request, with nodes reserved in `after` seconds if given."""

    request: QueueRequest
    after: float | None = None


@dataclass(frozen=True, slots=True)
class GiveBack:
    """The job of a request has to be cancelled, whether it has its nodes or is queued."""

    request: QueueRequest


@dataclass(frozen=True, slots=True)
class UseNodes:
    """The nodes of these requests are used from now on, those that are `late` by who is there."""

    requests: tuple[QueueRequest, ...]
    late: bool = False


Effect = Submit | GiveBack | UseNodes


@dataclass(slots=True)
class _Queue:
    """What one cluster has asked for; `held` is the request whose nodes it has."""

    idle: float
    count: int = 0
    asked: dict[QueueRequest, float] = field(default_factory=dict)
    held: QueueRequest | None = None
    since: float = 0.0
    wait: float = 0.0
    returns: int = 0
    asks_at: float | None = None
    is_given_up: bool = False

    @property
    def is_resting(self) -> bool:
        """Whether it has given its nodes back, and no other job is in the queue."""
        has_none = self.held is None and not self.asked
        return self.count > 0 and has_none and not self.is_given_up

    @property
    def is_quick(self) -> bool:
        return self.wait <= self.idle


class CoAllocation:
    """Decides for each cluster when to ask, hold, and give back.

    `clusters` has for each how many seconds its nodes may be idle at a time, which may be infinite.
    `jitter` returns numbers from 0 to 1. The run begins with so many of them as are `enough`, by
    default with all. Times are in seconds on any clock that does not jump.
    """

    def __init__(
        self,
        clusters: Mapping[str, float],
        jitter: Callable[[], float],
        way: AskingWay = AskingWay.CHOSEN,
        enough: int | None = None,
    ) -> None:
        self._queues = {name: _Queue(idle) for name, idle in clusters.items()}
        self._ready: set[str] = set()
        self._jitter = jitter
        self._way = way
        self._after = FIRST_START if way is AskingWay.RESERVE else None
        self._unanswered: set[QueueRequest] = set()
        self._refusals: list[float | None] = []
        self._enough = len(clusters) if enough is None else enough
        self.has_begun = self._enough == 0

    def ask(self, cluster: str, now: float) -> list[Effect]:
        """Ask for the nodes of a cluster for the first time; none are reserved until all ask."""
        self._queues[cluster].is_given_up = False
        if self._after is None:
            return [self._submit(cluster, now)]
        self._ready.add(cluster)
        return self._ask_all(now) if len(self._ready) == len(self._queues) else []

    def reserved(self, request: QueueRequest, now: float) -> list[Effect]:
        """Take the reservation of a request."""
        return self._answered(request, now)

    def refused(self, request: QueueRequest, earliest: float | None, now: float) -> list[Effect]:
        """Take the refusal of a reservation, which could begin in `earliest` seconds.

        0 is that it has to begin later, None that nothing is reserved for this cluster.
        """
        if self._queues[request.cluster].asked.pop(request, None) is not None:
            self._refusals.append(earliest)
        return self._answered(request, now)

    def granted(self, request: QueueRequest, now: float) -> list[Effect]:
        """Take the nodes of a request; a cluster that has some already keeps the newer ones."""
        queue = self._queues[request.cluster]
        if request not in queue.asked:  # it was cancelled at the same time
            return []
        queue.wait = now - queue.asked.pop(request)
        effects = list(self._let_go(queue))
        queue.held, queue.since = request, now
        if self.has_begun:  # without this one
            return [*effects, *self._cancelled([queue]), UseNodes((request,), late=True)]
        holding = [one for one in self._queues.values() if one.held is not None]
        if len(holding) >= self._enough:
            return [*effects, *self._begin(holding, now)]
        if not queue.asked and self._after is None:
            queue.asks_at = self._early(queue, now)
        if all(one.held is not None or one.is_resting for one in self._queues.values()):
            for one in self._queues.values():
                if one.is_resting:
                    one.asks_at = now
        return effects + self._asked_again(now)

    def lost(self, cluster: str) -> None:
        """Forget the nodes of a cluster whose job has ended; it may `ask` again, and comes late."""
        queue, self._after = self._queues[cluster], None
        queue.held = None
        queue.asked.clear()

    def give_up(self, cluster: str) -> list[Effect]:
        """Give back all of a cluster that is not wanted any more; it asks no more by itself."""
        queue = self._queues[cluster]
        held = [] if queue.held is None else [queue.held]
        effects: list[Effect] = [*map(GiveBack, held), *self._cancelled([queue])]
        queue.held, queue.is_given_up = None, True
        return effects

    def withdrawn(self, request: QueueRequest) -> bool:
        """Forget a request that came to nothing; return whether its cluster can do without it."""
        queue = self._queues[request.cluster]
        queue.asked.pop(request, None)
        return not queue.is_resting

    def wake(self, now: float) -> list[Effect]:
        """Give back what was held for long enough, and ask again where the pause is over."""
        effects: list[Effect] = []
        for queue in self._queues.values():
            if queue.held is not None and now >= queue.since + queue.idle and not self.has_begun:
                effects += self._let_go(queue)
                if queue.is_resting and self._way is AskingWay.HOLD:
                    queue.asks_at = now + self._pause(queue)
        if effects and self._after is not None:  # somebody did not come at the common start
            self._after = FIRST_START
            return [*effects, *self._all_given_back(), *self._ask_all(now)]
        return effects + self._asked_again(now)

    @property
    def wakes_at(self) -> float | None:
        """When `wake` has something to do, None if only a grant can change anything."""
        if self.has_begun:
            return None
        holds = [one.since + one.idle for one in self._queues.values() if one.held is not None]
        asks = [one.asks_at for one in self._queues.values() if one.asks_at is not None]
        return min((*holds, *asks), default=None)

    def missing(self) -> list[str]:
        """Return the clusters that have no nodes."""
        return [name for name, queue in self._queues.items() if queue.held is None]

    def plan_of(self, cluster: str) -> str:
        """Say when a cluster that holds no nodes asks for some again."""
        queue = self._queues[cluster]
        if queue.asked:
            return "another job is in the queue already"
        if self._after is not None:
            return "all reserve nodes for a later start"
        if queue.asks_at is None:
            return "it asks again when the others have their nodes"
        return "it asks again after a pause"

    def _submit(self, name: str, now: float) -> Submit:
        queue = self._queues[name]
        queue.count += 1
        request = QueueRequest(name, queue.count)
        queue.asked[request], queue.asks_at = now, None
        if self._after is not None:
            self._unanswered.add(request)
        return Submit(request, self._after)

    def _ask_all(self, now: float) -> list[Effect]:
        wanted = (name for name, queue in self._queues.items() if not queue.is_given_up)
        return [self._submit(name, now) for name in wanted]

    def _answered(self, request: QueueRequest, now: float) -> list[Effect]:
        """Ask for a later start once all have answered, if not all agree."""
        self._unanswered.discard(request)
        if self._unanswered or not self._refusals:
            return []
        delays = [one for one in self._refusals if one is not None]
        after = (self._after or FIRST_START) * (LATER if 0.0 in delays else 1.0) + 1.0
        can_all = len(delays) == len(self._refusals)
        self._refusals.clear()
        self._after = max(after, *delays) if can_all else None
        if self._after is not None and self._after > LAST_START:
            self._after = None
        return [*self._all_given_back(), *self._ask_all(now)]

    def _all_given_back(self) -> Iterator[Effect]:
        self._unanswered.clear()
        for queue in self._queues.values():
            yield from self._let_go(queue)
        yield from self._cancelled(self._queues.values())

    def _begin(self, holding: list[_Queue], now: float) -> Iterator[Effect]:
        """Use what is held; each of the others has to have a job in its queue."""
        self.has_begun = True
        yield from self._cancelled(holding)
        for queue in self._queues.values():
            queue.asks_at = now if queue.is_resting else None
        yield from self._asked_again(now)
        yield UseNodes(tuple(one.held for one in holding if one.held is not None))

    def _asked_again(self, now: float) -> list[Effect]:
        return [
            self._submit(name, now)
            for name, queue in self._queues.items()
            if queue.asks_at is not None and now >= queue.asks_at
        ]

    def _early(self, queue: _Queue, now: float) -> float | None:
        """Return when a cluster that holds nodes puts a further job into its queue, if it does."""
        if queue.idle == math.inf or self._way is AskingWay.HOLD:
            return None
        if self._way is AskingWay.SURPLUS:
            return now
        return None if queue.is_quick else now + self._pause(queue)

    def _let_go(self, queue: _Queue) -> Iterator[Effect]:
        if queue.held is not None:
            yield GiveBack(queue.held)
            queue.held = None
            queue.returns += 1

    def _cancelled(self, queues: Iterable[_Queue]) -> Iterator[Effect]:
        for queue in queues:
            yield from map(GiveBack, queue.asked)
            queue.asked.clear()
            queue.asks_at = None

    def _pause(self, queue: _Queue) -> float:
        """Return a pause, twice as long after each return, and never the same twice."""
        if queue.returns == 0:
            return 0.0
        doubled = queue.idle * 2.0 ** min(queue.returns - 1, 20)
        return min(doubled, LONGEST_PAUSE) * (0.5 + self._jitter())
