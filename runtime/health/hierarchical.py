"""Groups that watch themselves, and each other through their first living members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from runtime.health.gossip import GossipDetector
from runtime.health.messages import (
    Declare,
    Effect,
    Expel,
    Expelled,
    Join,
    Message,
    Send,
    Suspect,
    Trust,
)
from runtime.health.protocols import DetectorProtocol
from runtime.health.settings import DetectorSettings
from runtime.health.table import HeartbeatTable, ListTable


class Groups:
    """Who belongs to which group: one value for all members of a grid.

    >>> groups = Groups([["a", "b"], ["c"]])
    >>> groups.names, groups.number_of["c"], groups.members[0]
    (['group0', 'group1'], 1, ['a', 'b'])
    """

    def __init__(self, members: Sequence[Sequence[str]]) -> None:
        self.members = members
        self.names = [f"group{number}" for number in range(len(members))]
        self.number_of = {name: at for at, group in enumerate(members) for name in group}
        self.indexes = [{name: at for at, name in enumerate(group)} for group in members]
        self.group_indexes = {name: at for at, name in enumerate(self.names)}


class HierarchicalDetector:
    """A member of one of several groups; driven like a `GossipDetector`.

    Inside the group everybody watches everybody. The first living member of each group also takes
    part in a group of groups; there its place in its own group is its incarnation, so a successor
    is told from who was first before. A verdict of one group is passed on in the others. A group
    is lost when no successor has been heard of in the time that finding one takes.
    """

    def __init__(
        self,
        groups: Groups,
        own: str,
        settings: DetectorSettings,
        now: float,
        *,
        late: float = 0.0,
        table: Callable[[int], HeartbeatTable] = ListTable,
    ) -> None:
        self._groups = groups
        self._number = groups.number_of[own]
        self._table = table
        self.own = own
        self.settings = replace(settings, protocol=DetectorProtocol.DBRR)
        members = groups.members[self._number]
        self._inner = GossipDetector(
            members, own, self.settings, now, late=late, table=table,
            indexes=groups.indexes[self._number],
        )  # fmt: skip
        # The first member of a group may have to be found dead before its successor shows itself.
        succession = self.settings.cleanup(len(members)) + self.settings.ping_timeout
        self._between = replace(self.settings, max_hang=self.settings.ping_timeout + succession)
        self._upper: GossipDetector | None = None
        self._dead: set[str] = set()
        self._lead(now)

    @property
    def next_time(self) -> float:
        """When `advance` has to be called."""
        upper = self._inner.next_time if self._upper is None else self._upper.next_time
        return min(self._inner.next_time, upper)

    @property
    def count(self) -> int:
        """The own heartbeat."""
        return self._inner.count

    @property
    def suspects(self) -> list[str]:
        """Who is suspected: members of the own group, and other groups."""
        return [*self._inner.suspects, *([] if self._upper is None else self._upper.suspects)]

    def is_dead(self, member: str) -> bool:
        """Tell whether a member of any group has been declared dead."""
        return member in self._dead

    def advance(self, now: float) -> list[Effect]:
        """Do what is due in the group and between groups."""
        found = self._from_inner(self._inner.advance(now), now)
        if self._upper is not None:
            found += self._from_upper(self._upper.advance(now))
        return found

    def receive(self, message: Message, now: float) -> list[Effect]:
        """Take what a member of the own group says, or the first one of another group."""
        if not message.group:
            return self._from_inner(self._inner.receive(message, now), now)
        if self._upper is None:
            return []
        return self._from_upper(self._upper.receive(message, now))

    def gone(self, member: str, why: str, now: float) -> list[Effect]:
        """Record as certain that a member of the own group has ended."""
        return self._from_inner(self._inner.gone(member, why, now), now)

    def _lead(self, now: float) -> None:
        """Speak for the group, if this is its first living member."""
        if self._upper is not None or self._first(self._number) != self.own:
            return
        groups = self._groups
        place = groups.indexes[self._number][self.own]
        self._upper = GossipDetector(
            groups.names, groups.names[self._number], self._between, now,
            incarnation=place, late=self._inner.count * self.settings.period,
            group=groups.names[self._number], table=self._table, indexes=groups.group_indexes,
        )  # fmt: skip
        for member in self._dead:
            self._upper.tell(member, 0)

    def _first(self, group: int) -> str:
        living = (name for name in self._groups.members[group] if name not in self._dead)
        return next(living, "")

    def _receiver(self, group: int, message: Message) -> str:
        """Return who speaks for a group, or spoke for it in the incarnation that is expelled."""
        if isinstance(message, Expel):
            return self._groups.members[group][message.incarnation]
        return self._first(group)

    def _from_inner(self, effects: Sequence[Effect], now: float) -> list[Effect]:
        found: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Declare):
                found += self._verdict(effect)
                if self._upper is not None:
                    self._upper.tell(effect.member, effect.incarnation)
            else:
                found.append(effect)
            if isinstance(effect, Expelled):
                self._upper = None
        if found and self._upper is None and not any(isinstance(one, Expelled) for one in found):
            self._lead(now)
        return found

    def _from_upper(self, effects: Sequence[Effect]) -> list[Effect]:
        found: list[Effect] = []
        for effect in effects:
            match effect:
                case Send(to, message):
                    if first := self._receiver(self._groups.group_indexes[to], message):
                        found.append(Send(first, message))
                case Declare(member, incarnation, _):
                    found += self._verdict(effect)
                    self._inner.tell(member, incarnation)
                case Suspect() | Trust() | Expelled():
                    found.append(effect)
                case Join(group, place):  # the former first one is dead
                    for member in self._groups.members[self._groups.group_indexes[group]][:place]:
                        if member not in self._dead:
                            found += self._verdict(Declare(member, 0, f"succeeded in {group}"))
                            self._inner.tell(member, 0)
        return found

    def _verdict(self, effect: Declare) -> list[Effect]:
        """Keep a verdict about a member, or about all members of a group."""
        at = self._groups.group_indexes.get(effect.member)
        members = [effect.member] if at is None else self._groups.members[at]
        fresh = [name for name in members if name not in self._dead]
        self._dead.update(fresh)
        return [Declare(name, effect.incarnation, effect.why) for name in fresh]
