"""One member of a group that watches itself by gossip: messages and time in, effects out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.health.messages import (
    Declare,
    Effect,
    Expel,
    Expelled,
    Heartbeat,
    Join,
    Message,
    Ping,
    PingReply,
    Send,
    Suspect,
    Trust,
)
from runtime.health.settings import DetectorSettings
from runtime.health.table import HeartbeatTable, ListTable

if TYPE_CHECKING:
    from random import Random


@dataclass(slots=True)
class _Suspicion:
    """Since when a member is suspected, and what its count was."""

    since: float
    count: int


class GossipDetector:
    """Watches the other members of a group, and shows them that it lives.

    The counts of all members are one logical clock: each adds 1 every `period`, and one that is
    behind what it hears catches up. So the silence of a member is the own count minus the one that
    is known of it. Time during which the watcher itself was not there does not count.

    `late` is how many seconds ago the group began, as eq. 4.4 has it: T - tr + dt. Who is in
    `only_suspected` is not declared dead for being silent. Where there is an `arbiter`, it is not
    either, and others declare nobody while they do not hear of it: they may be the ones cut off.
    With `random`, which random gossip needs, it chooses who gets each heartbeat.

    >>> settings = DetectorSettings(period=1.0, max_hang=1.0)
    >>> watcher = GossipDetector(["a", "b"], "a", settings, now=0.0)
    >>> for second in range(1, 5): found = watcher.advance(second)
    >>> found[1:]
    [Declare(member='b', incarnation=0, why='silent for 4 s, and a ping was not answered')]
    """

    def __init__(
        self,
        members: Sequence[str],
        own: str,
        settings: DetectorSettings,
        now: float,
        *,
        incarnation: int = 0,
        late: float = 0.0,
        group: str = "",
        arbiter: str = "",
        only_suspected: Collection[str] = (),
        table: Callable[[int], HeartbeatTable] = ListTable,
        indexes: dict[str, int] | None = None,
        random: Random | None = None,
    ) -> None:
        if settings.protocol.row.at_random and random is None:
            raise ValueError("random gossip needs random numbers")
        self.members = members
        self.own = own
        self.settings = settings
        self.incarnation = incarnation
        self.next_time = now + settings.period
        """When `advance` has to be called."""
        self.declared: dict[str, int] = {}
        """Up to which incarnation somebody has been declared dead, here or in another group."""
        self._index = indexes or {name: number for number, name in enumerate(members)}
        self._me = self._index[own]
        self._group = group
        self._arbiter = arbiter
        self._only_suspected = frozenset(only_suspected)
        self._incarnations: dict[str, int] = {own: incarnation} if incarnation else {}
        self._random = random
        self._table = table(len(members))
        self._health = LocalHealth(settings.most_distrust)
        self._count = max(1, math.ceil(late / settings.period))
        self._table.put(self._me, self._count)
        self._present_since = self._count
        self._joined: dict[int, int] = {}  # the own count when a new incarnation came
        self._suspicions: dict[int, _Suspicion] = {}
        self._cleanup = settings.protocol.row.cleanup_rounds(len(members))
        self._patient_until = self._count + math.ceil(settings.start / settings.period)
        self._round = 0
        self._receivers = self._ring()
        self._is_out = False

    @property
    def count(self) -> int:
        """The own heartbeat."""
        return self._count

    @property
    def distrust(self) -> int:
        """How many times longer than usual this watcher waits before it accuses anybody."""
        return self._health.multiplier

    @property
    def suspects(self) -> list[str]:
        """Who is suspected."""
        return [self.members[number] for number in self._suspicions]

    def is_dead(self, member: str) -> bool:
        """Tell whether a member has been declared dead in its latest incarnation."""
        return self.declared.get(member, -1) >= self._incarnations.get(member, 0)

    # --- what happens ---------------------------------------------------------------------------

    def advance(self, now: float) -> list[Effect]:
        """Do what is due: tell a heartbeat, suspect, ask again, declare."""
        if now < self.next_time or self._is_out:
            return []
        period = self.settings.period
        missed = int((now - self.next_time) / period)
        if not missed and now - self.next_time > period / 2:
            self._health.worse()
        self.next_time += (1 + missed) * period
        self._count += 1 + missed
        if missed:
            self._was_absent(missed * period)
        self._table.put(self._me, self._count)
        effects: list[Effect] = [*self._heartbeat(), *self._judge(now)]
        effects += self._suspect(now)
        return effects

    def receive(self, message: Message, now: float) -> list[Effect]:
        """Take what a member says."""
        if self._is_out or message.sender not in self._index:
            return []
        if isinstance(message, Expel):
            return self._expelled(message.sender) if message.incarnation >= self.incarnation else []
        if self.declared.get(message.sender, -1) >= message.incarnation:
            return [self._send(message.sender, Expel(self.own, message.incarnation, self._group))]
        effects = list(self._heard_of(message.sender, message.incarnation))
        match message:
            case Ping():
                effects.append(self._send(message.sender, self._answer()))
            case PingReply():
                self._table.put(self._index[message.sender], message.count)
                self._follow(message.count)
            case Heartbeat():
                effects += self._merge(message)
        return [*effects, *self._refuted(now)]

    def alive(self, member: str, now: float) -> list[Effect]:
        """Record that something else has come from a member: its heartbeats may be behind that."""
        if self._is_out or self.is_dead(member):
            return []
        self._table.put(self._index[member], self._count - 1)
        return list(self._refuted(now))

    def gone(self, member: str, why: str, now: float) -> list[Effect]:  # noqa: ARG002 - as the others
        """Record as certain that a member has ended, as its connection or its host says."""
        if self.is_dead(member):
            return []
        return list(self._declare(member, self._incarnations.get(member, 0), why))

    def expect(self, member: str) -> int:
        """Watch a member from now on that was gone; return the incarnation in which it begins."""
        incarnation = self.declared.get(member, -1) + 1
        for _ in self._heard_of(member, incarnation):
            pass
        return incarnation

    def tell(self, member: str, incarnation: int) -> None:
        """Pass a verdict about a member of another group on with the next heartbeats."""
        self.declared[member] = max(incarnation, self.declared.get(member, -1))

    # --- heartbeats -----------------------------------------------------------------------------

    def _ring(self) -> list[str]:
        """Return the receivers of one cycle, among those that have not been declared dead."""
        living = [name for name in self.members if not self.is_dead(name)]
        if len(living) < 2 or self.own not in living:
            return []
        place, size = living.index(self.own), len(living)
        steps = self.settings.protocol.row.offsets(size)
        return [living[(place + step) % size] for step in steps]

    def _heartbeat(self) -> Iterator[Effect]:
        if not self._receivers:
            return
        heartbeat = Heartbeat(
            self.own, self.incarnation, self._table.counts(), self._incarnations.copy(),
            self.declared.copy(), self._group,
        )  # fmt: skip
        receivers, random = self._receivers, self._random
        to = receivers[self._round] if random is None else random.choice(receivers)
        yield self._send(to, heartbeat)
        self._round = (self._round + 1) % len(self._receivers)
        if not self._round:
            self._health.cycle_over()

    def _merge(self, heartbeat: Heartbeat) -> Iterator[Effect]:
        for member, incarnation in heartbeat.incarnations.items():
            if member != self.own and member in self._index:
                yield from self._heard_of(member, incarnation)
        for member, incarnation in heartbeat.dead.items():
            if member == self.own:
                if incarnation >= self.incarnation:
                    yield from self._expelled(heartbeat.sender)
            elif incarnation > self.declared.get(member, -1):
                yield from self._declare(member, incarnation, f"told by {heartbeat.sender}")
        self._follow(self._table.merge(heartbeat.counts))

    def _follow(self, count: int) -> None:
        """Take the clock of the others, if it is ahead by more than a round.

        It stays one behind: who took all of it before the own round would go ahead of the fastest,
        and all clocks would run faster and faster.
        """
        behind = count - 1 - self._count
        if behind > 0:
            self._count += behind
            self._table.put(self._me, self._count)
            if behind > 1:
                self._was_absent(behind * self.settings.period)

    def _was_absent(self, seconds: float) -> None:
        """Do not hold against others what this member has missed."""
        self._health.worse()
        self._present_since = self._count
        for suspicion in self._suspicions.values():
            suspicion.since += seconds

    def _heard_of(self, member: str, incarnation: int) -> Iterator[Effect]:
        if incarnation > self._incarnations.get(member, 0):
            was_known = self._table.count(self._index[member]) or self.is_dead(member)
            self._incarnations[member] = incarnation
            if self.is_dead(member) or not was_known:
                return
            number = self._index[member]
            self._joined[number] = self._count
            self._suspicions.pop(number, None)
            self._receivers, self._round = self._ring(), 0
            yield Join(member, incarnation)

    # --- suspicions and verdicts ----------------------------------------------------------------

    def _suspect(self, now: float) -> Iterator[Effect]:
        least = self._count - self._cleanup
        if least < self._present_since:
            return
        for number in self._table.below(least + 1):
            if number == self._me or number in self._suspicions:
                continue
            member, known = self.members[number], self._table.count(number)
            begun = max(self._joined.get(number, 0), 0 if known else self._patient_until)
            if self.is_dead(member) or least < begun:
                continue
            self._suspicions[number] = _Suspicion(now, known)
            silent = self._count - max(known, begun, self._present_since)
            yield Suspect(member, silent * self.settings.period)
            yield self._ping(member)

    def _judge(self, now: float) -> Iterator[Effect]:
        """Declare who has not answered in time, and ask the others again: a ping may get lost."""
        timeout = self.settings.ping_timeout * self._health.multiplier
        for number, suspicion in list(self._suspicions.items()):
            member = self.members[number]
            if now - suspicion.since < timeout - 1e-9 or not self._may_declare(member):
                yield self._ping(member)
                continue
            begun = max(self._joined.get(number, 0), self._present_since)
            rounds = self._count - max(suspicion.count, begun)
            silence = f"silent for {rounds * self.settings.period:.3g} s"
            why = f"{silence}, and a ping was not answered"
            yield from self._declare(member, self._incarnations.get(member, 0), why)

    def _may_declare(self, member: str) -> bool:
        if member == self._arbiter or member in self._only_suspected:
            return False
        return self._arbiter in ("", self.own) or self._index[self._arbiter] not in self._suspicions

    def _refuted(self, now: float) -> Iterator[Effect]:
        for number, suspicion in list(self._suspicions.items()):
            if self._table.count(number) > suspicion.count:
                del self._suspicions[number]
                if now - suspicion.since > self.settings.period:
                    self._health.worse()  # this watcher hears late
                yield Trust(self.members[number])

    def _declare(self, member: str, incarnation: int, why: str) -> Iterator[Effect]:
        self.declared[member] = incarnation
        if member in self._index:
            self._suspicions.pop(self._index[member], None)
            self._receivers, self._round = self._ring(), 0
        yield Declare(member, incarnation, why)

    def _expelled(self, by: str) -> list[Effect]:
        self._is_out = True
        self.next_time = math.inf
        return [Expelled(by)]

    def _answer(self) -> PingReply:
        return PingReply(self.own, self.incarnation, self._count, self._group)

    def _ping(self, member: str) -> Send:
        return self._send(member, Ping(self.own, self.incarnation, self._group))

    def _send(self, member: str, message: Message) -> Send:
        return Send(member, message)


class LocalHealth:
    """A score that bad events raise and good cycles lower.

    The time that others have to answer a ping is multiplied by it plus one.

    >>> health = LocalHealth(most=8)
    >>> health.worse(); health.multiplier
    2
    >>> health.cycle_over(); health.multiplier     # the bad event was in this cycle
    2
    >>> health.cycle_over(); health.multiplier
    1
    """

    __slots__ = ("_is_good", "_most", "_score")

    def __init__(self, most: int) -> None:
        self._most = most
        self._score = 0
        self._is_good = True

    @property
    def multiplier(self) -> int:
        """By what the time to answer is multiplied."""
        return 1 + self._score

    def worse(self) -> None:
        """Count a bad event: a late round, or an answer that came late."""
        self._is_good = False
        self._score = min(self._score + 1, self._most)

    def cycle_over(self) -> None:
        """Forgive one bad event after a cycle without any."""
        if self._is_good:
            self._score = max(0, self._score - 1)
        self._is_good = True
