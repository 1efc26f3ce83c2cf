"""Peers and supernodes of a simulated lab, around production's membership and admission control."""

from __future__ import annotations

import random
from typing import Any

from gcm.records import dataclass
from runtime.peers.booking import AdmissionControl, AdmissionRules, PlacesRequest
from runtime.peers.errors import PeerError, Refused
from runtime.peers.membership import (
    MembershipSettings,
    MemberState,
    PeerMembership,
    SupernodeMembership,
)
from runtime.peers.model import Address, Key, Member, Principal, Reason, Share
from runtime.testing.world.engine import Effect, Event
from runtime.testing.world.lab_calls import (
    Answer,
    LabActor,
    LabCalled,
    MemberClock,
    RepeatedWork,
    Then,
)

ALIVE_EVERY, EXPIRE_AFTER, EXCHANGE_EVERY = 20.0, 90.0, 5.0
REFRESH_EVERY, PING_EVERY, LEASE = 300.0, 10.0, 60.0
"""Seconds, as daemons have them where nobody configures others."""

MOST_CHECKS = 4


@dataclass(frozen=True, slots=True)
class JobBegun(Effect):
    """A guard has been started for a user: it lives as long as the user's connection."""

    key: Key
    user: str


@dataclass(frozen=True, slots=True)
class JobLineEnded(Event):
    """The connection of a job has ended, whoever ended it."""

    key: Key


@dataclass(frozen=True, slots=True)
class HostsKept(Effect):
    """The file with the list of hosts has been written."""

    text: str


@dataclass(frozen=True, slots=True)
class MemberLeft(Effect):
    """A daemon has ended in order."""


@dataclass(frozen=True, slots=True)
class MemberAsked(Event):
    """The owner of a daemon wants it to end in order."""


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """What a member knows when it begins: itself, its clock, and where supernodes may be."""

    member: Member
    clock: MemberClock
    chance: random.Random
    supernodes: tuple[Address, ...]


class PeerActor(LabActor):
    """A daemon of a peer."""

    def __init__(self, place: MemberPlace, kept: str = "") -> None:
        super().__init__(str(place.member.principal), place.clock, place.chance)
        self.member = place.member
        self.running: dict[Key, tuple[str, int]] = {}
        """The application and the processes of each job."""
        self.wrong: list[str] = []
        """What must not have happened."""
        self.admission = AdmissionControl(AdmissionRules(place.member.share, lease=LEASE))
        self._place = place
        self._kept = kept
        self._core: PeerMembership | None = None
        self._ticks_at = float("inf")

    @property
    def core(self) -> PeerMembership:
        """Its membership, once it has begun."""
        assert self._core is not None
        return self._core

    def begin(self) -> None:
        """Read what was known, and begin to signal."""
        self._core = PeerMembership(
            self.member, MembershipSettings(), clock=self.read_clock, chance=self.chance
        )
        if self._kept:
            self._core.remember(self._kept)
        self.keep()
        RepeatedWork(self, self._signal, ALIVE_EVERY).now()
        RepeatedWork(self, self._measure, PING_EVERY).now()

    def keep(self) -> None:
        """Write the list of hosts."""
        self.do(HostsKept(self.core.text))

    def happen(self, event: Event) -> None:
        """End a job with its connection, or all."""
        match event:
            case JobLineEnded(key):
                if self.running.pop(key, None) is not None:
                    self.admission.ended(key)
            case MemberAsked():
                self.hold(self.core.leave(), lambda _: self.do(MemberLeft()))

    def _signal(self, then: Then) -> None:
        self.hold(self.core.signal(self.member, self._place.supernodes), then)

    def _measure(self, then: Then) -> None:
        self.hold(self.core.measure(), then)

    # --- what others call -----------------------------------------------------------------------

    def serve(self, called: LabCalled) -> Answer:
        """Answer a call."""
        match called.operation, called.arguments:
            case "ping", ():
                return None
            case "alive", (row,):
                return self.core.alive(called.caller, row)
            case "hosts", (most,):
                return self.core.some_hosts(most)
            case "leave", ():
                self.core.left(called.caller)
                return None
        answer = self._reserve(called)
        self._check_places()
        self._set_tick()
        return answer

    def _reserve(self, called: LabCalled) -> Answer:
        user, now = Principal.parse(called.caller), self.read_clock()
        match called.operation, called.arguments:
            case "reserve", (key, application, processes, lease):
                request = PlacesRequest(key, application, processes, lease)
                return self.admission.reserve(user, called.host, request, now).plain()
            case "renew", (key, lease):
                return self.admission.renew(user, key, lease, now)
            case "release", (key,):
                return self.admission.release(user, key)
            case "stage", (key,):
                if any(one.key == key and one.principal == user for one in self.admission.holds):
                    return True
                raise Refused("there is no reservation of the caller", reason=Reason.UNKNOWN_KEY)
            case "launch", (key, application, ranks):
                hold = self.admission.confirm(user, key, application, now)
                if len(ranks) > hold.processes:
                    self.wrong.append(f"{self.name} runs {len(ranks)} of {hold.processes} ranks")
                if key in self.running:
                    self.wrong.append(f"{self.name} runs a key twice")
                self.running[key] = application, len(ranks)
                self.do(JobBegun(key, called.caller))
                return True
        raise Refused(f"there is no {called.operation}", reason=Reason.BAD_REQUEST)

    def _check_places(self) -> None:
        """See to it that no place is given twice."""
        share, holds = self.member.share, self.admission.holds
        if share.applications and len(holds) > share.applications:
            self.wrong.append(f"{self.name} has {len(holds)} of {share.applications} applications")
        if any(one.processes > share.processes for one in holds):
            self.wrong.append(f"{self.name} has given more than {share.processes} processes")
        if missing := self.running.keys() - {one.key for one in holds}:
            self.wrong.append(f"{self.name} runs {len(missing)} jobs without a reservation")
        if len({one.application for one in holds}) < len(holds):
            self.wrong.append(f"{self.name} has an application twice")

    def _set_tick(self) -> None:
        due = self.admission.next_time
        if due == float("inf"):
            return
        at = max(self.now + 0.01, self.clock.when(due))
        if at < self._ticks_at:
            self._ticks_at = at
            self.at(at, self._tick)

    def _tick(self) -> None:
        self._ticks_at = float("inf")
        self.admission.advance(self.read_clock())
        self._set_tick()


class SupernodeActor(LabActor):
    """A daemon of a supernode."""

    def __init__(self, place: MemberPlace) -> None:
        super().__init__(str(place.member.principal), place.clock, place.chance)
        self.member = place.member
        self.gone: list[tuple[float, str]] = []
        """Whom it has taken for gone, and when."""
        self._place = place
        self._core: SupernodeMembership | None = None
        self._checkers: list[RepeatedWork] = []
        self._alive: set[str] = set()

    @property
    def core(self) -> SupernodeMembership:
        """Its membership, once it has begun."""
        assert self._core is not None
        return self._core

    @property
    def living(self) -> set[str]:
        """Whom it lists."""
        return {row.name for row in self.core.table.living}

    def begin(self) -> None:
        """Begin to compare."""
        member = Member(self.member.name, (), Share(0, 0), self.member.role)
        self._core = SupernodeMembership(
            member,
            f"{self.chance.getrandbits(64):016x}",
            expire_after=EXPIRE_AFTER,
            waited=2 * ALIVE_EVERY,
            clock=self.read_clock,
            chance=self.chance,
        )
        RepeatedWork(self, self._beat, ALIVE_EVERY).now()
        RepeatedWork(self, self._exchange, EXCHANGE_EVERY).now()
        self._checkers = [RepeatedWork(self, self._check, ALIVE_EVERY) for _ in range(MOST_CHECKS)]

    def happen(self, event: Event) -> None:
        """End in order."""
        if isinstance(event, MemberAsked):
            self.core.end()
            self._exchange(lambda _: self.do(MemberLeft()))

    def _beat(self, then: Then) -> None:
        self.core.beat(self.member.addresses)
        then(None)

    def _exchange(self, then: Then) -> None:
        others = [one for one in self._place.supernodes if one not in self.member.addresses]
        self.hold(self.core.compare(others), then)

    def _check(self, then: Then) -> None:
        self.hold(self.core.check(), then)

    def serve(self, called: LabCalled) -> Answer:
        """Answer a call."""
        match called.operation, called.arguments:
            case "ping", ():
                return None
            case "alive", (row,):
                answer: Any = self.core.alive(called.caller, row)
                for one in self._checkers if self.core.has_to_check else ():
                    one.now()
                return answer
            case "exchange", (news,):
                return self.core.exchange(called.caller, news)
            case "hosts", (most,):
                return self.core.some_hosts(most, called.host)
            case "leave", ():
                self.core.left(called.caller)
                return None
        raise Refused(f"there is no {called.operation}", reason=Reason.BAD_REQUEST)

    def known_gone(self) -> set[str]:
        """Return whom it remembers as gone."""
        entries = self.core.table._entries.values()
        return {one.row.name for one in entries if one.row.state is MemberState.GONE}


__all__ = [
    "HostsKept",
    "JobBegun",
    "JobLineEnded",
    "MemberAsked",
    "MemberLeft",
    "MemberPlace",
    "PeerActor",
    "PeerError",
    "SupernodeActor",
]
