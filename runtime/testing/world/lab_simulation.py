"""Plays the scenario of a lab: hosts, lines, processes, and the faults."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from gcm.records import dataclass
from runtime.peers.errors import PeerUnreachable
from runtime.peers.model import Address, Key, Member, MemberRole, PeerName, Share
from runtime.testing.world.engine import Actor, Effect, World, WorldStuck
from runtime.testing.world.lab_calls import (
    CONNECT,
    LabActor,
    LabAnswer,
    LabAnswered,
    LabCall,
    LabCalled,
    MemberClock,
)
from runtime.testing.world.lab_load import BookingAsked, LabFault, LabFaultKind, LabScenario
from runtime.testing.world.lab_members import (
    EXPIRE_AFTER,
    LEASE,
    HostsKept,
    JobBegun,
    JobLineEnded,
    MemberAsked,
    MemberLeft,
    MemberPlace,
    PeerActor,
    SupernodeActor,
)
from runtime.testing.world.lab_users import Cancelled, HangUp, JobLost, LabUser

PORT = 7700

SETTLED = 180.0
"""Seconds after the last fault within which all supernodes list exactly those who are there."""

JOINED_WITHIN = 22.0
"""Seconds within which all are listed where nothing fails: a round of alive signals."""


@dataclass(frozen=True, slots=True)
class JobLine:
    """The connection over which a user holds a job at a peer."""

    user: str
    peer: str


class LabSimulation:
    """One lab in its world."""

    def __init__(self, world: World, scenario: LabScenario) -> None:
        self.world = world
        self.scenario = scenario
        self.peers: dict[str, PeerActor] = {}
        """The last life of each peer."""
        self.supernodes: dict[str, SupernodeActor] = {}
        self.users: dict[str, LabUser] = {}
        self.wrong: list[str] = []
        self.stuck = ""
        self.gone: list[str] = []
        """Who was ended by a fault and has not come back."""
        self.vanished: set[str] = set()
        """The users who were killed or lost their host."""
        self.settled_at = 0.0
        self._chance = random.Random(f"lab {scenario.seed} lines")
        self._at: dict[Address, str] = {}  # who listens
        self._where: dict[str, Address] = {}
        self._is_down: set[str] = set()
        self._flaky: dict[str, float] = {}
        self._cuts: dict[tuple[str, str], float] = {}
        self._lines: dict[Key, JobLine] = {}
        self._hung_up: set[Key] = set()
        self._kept: dict[str, list[str]] = {}
        self._calls: dict[tuple[str, int], str] = {}  # who is asked
        self._clocks: dict[str, MemberClock] = {}
        self._addresses = 0
        effects: dict[type[Effect], Callable[[Actor, Any], None]] = {
            LabCall: self._call,
            LabAnswer: self._answer,
            JobBegun: self._job_begun,
            HangUp: self._hang_up,
            HostsKept: self._keep,
            MemberLeft: self._left,
        }
        for kind, do in effects.items():
            world.own(kind, do)
        self._build()

    # --- its run ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Let it run until all users have ended, all is healed, and the lab has settled."""
        scenario, world = self.scenario, self.world
        limit = max((self.bound_of(one) for one in scenario.bookings), default=0.0)
        try:
            if not world.run(self._are_over, limit):
                self.stuck = f"it has not ended after {limit:.0f} s:\n{self._who_waits()}"
            until = max(scenario.healed_at + SETTLED, world.now + 2 * LEASE)
            world.run(lambda: False, until)
        except WorldStuck as fault:
            self.stuck = str(fault)
        self.settled_at = world.now

    def bound_of(self, asked: BookingAsked) -> float:
        """Return when a user has ended in any case.

        Each of three launches may look for hosts, book, and then search again for each host that
        is lost, as long as faults go on.
        """
        attempt = 60.0 + 2 * asked.search + 2 * asked.staging + 40.0
        last = max(asked.at, self.scenario.healed_at)
        return last + 3 * attempt + asked.job + EXPIRE_AFTER

    def _are_over(self) -> bool:
        begun = all(one.stage != "new" or one.name in self.vanished for one in self.users.values())
        over = (one.is_over or one.name in self.vanished for one in self.users.values())
        return begun and all(over)

    def _who_waits(self) -> str:
        waiting = [one for one in self.users.values() if not one.is_over]
        return "\n".join(f"  {one.name} waits: {one.waits_for()}" for one in waiting)

    def is_there(self, name: str) -> bool:
        """Tell whether a member's process lives on a host that is up."""
        return not self.world.is_gone(name) and name in self._where

    # --- the machine ------------------------------------------------------------------------------

    def _build(self) -> None:
        scenario = self.scenario
        supernodes = []
        for number in range(scenario.supernodes):
            name, address = PeerName(f"n{number}"), self._new_address()
            share = Share(0, 0)
            supernodes.append(Member(name, (address,), share, MemberRole.SUPERNODE))
        self._known = tuple(one.addresses[0] for one in supernodes)
        for member in supernodes:
            self._start(member, at=0.0)
        for number, share in enumerate(scenario.shares):
            member = Member(PeerName(f"p{number}"), (self._new_address(),), share)
            self._start(member, at=self._chance.uniform(0, 1.0))
        for number, asked in enumerate(scenario.bookings):
            member = Member(PeerName(f"u{number}"), (self._new_address(),), Share(0, 0))
            user = LabUser(self._place(member), asked)
            self.users[user.name] = user
            self._where[user.name] = member.addresses[0]
            self.world.add(user, asked.at)
        for fault in scenario.faults:
            self.world.at(fault.at, partial(self._strike, fault))

    def _new_address(self) -> Address:
        self._addresses += 1
        network, host = divmod(self._addresses, 4)
        return Address(f"10.{network >> 8}.{network & 255}.{host + 1}", PORT)

    def _place(self, member: Member) -> MemberPlace:
        name = str(member.name)
        if name not in self._clocks:
            skew = self.scenario.skew
            ahead = 1e5 + self._chance.uniform(-skew, skew)
            drift = self._chance.uniform(-1e-4, 1e-4) if skew else 0.0
            self._clocks[name] = MemberClock(ahead, drift)
        chance = random.Random(self._chance.getrandbits(64))
        return MemberPlace(member, self._clocks[name], chance, self._known)

    def _start(self, member: Member, at: float, kept: str = "") -> None:
        """Begin a life of a daemon."""
        place = self._place(member)
        made: PeerActor | SupernodeActor
        if member.role is MemberRole.PEER:
            made = PeerActor(place, kept)
            before = self.peers.get(made.name)
            if before is not None:
                self.wrong += before.wrong
            self.peers[made.name] = made
        else:
            made = SupernodeActor(place)
            self.supernodes[made.name] = made
        self._at[member.addresses[0]] = self._where_of(made, member)
        self.world.add(made, at)

    def _where_of(self, made: LabActor, member: Member) -> str:
        self._where[made.name] = member.addresses[0]
        return made.name

    # --- lines ------------------------------------------------------------------------------------

    def _latency(self, source: str, target: str) -> float:
        near = source.rpartition(".")[0] == target.rpartition(".")[0]
        least = 2e-4 if near else self.scenario.latency
        return least * (1.0 + self._chance.random())

    def _is_lost(self, source: str, target: str) -> bool:
        """Tell whether a message between two hosts is lost."""
        now = self.world.now
        if target in self._is_down or source in self._is_down:
            return True
        if self._cuts.get((source, target), 0.0) > now:
            return True
        is_flaky = max(self._flaky.get(source, 0.0), self._flaky.get(target, 0.0)) > now
        return is_flaky and self._chance.random() < 0.3

    def _call(self, actor: Actor, effect: LabCall) -> None:
        """Carry a call; one that opens a connection takes three times as long."""
        source, target = self._where[actor.name].host, effect.to.host
        owner = self._at.get(effect.to, "")
        if self._is_lost(source, target):
            return
        trips = 3 if effect.operation == CONNECT else 1
        at = self.world.now + trips * self._latency(source, target)
        number = effect.number
        if not owner or self.world.is_gone(owner) or not self._has_begun(owner):
            if not self._is_lost(target, source):
                self._fail(actor.name, number, effect.to, at)
            return
        self._calls[actor.name, number] = owner
        called = LabCalled(number, actor.name, source, effect.operation, effect.arguments)
        if effect.operation not in (CONNECT, "ping"):
            self.world.tape.note(self.world.now, actor.name, effect.operation, owner)
        self.world.tell(owner, called, at)

    def _has_begun(self, name: str) -> bool:
        actor = self.world.actors[name]
        assert isinstance(actor, LabActor)
        return actor.has_begun

    def _fail(self, caller: str, number: int, place: Address, at: float) -> None:
        fault = PeerUnreachable("it cannot be reached", place=str(place))
        self.world.tell(caller, LabAnswered(number, fault), at)

    def _answer(self, actor: Actor, effect: LabAnswer) -> None:
        self._calls.pop((effect.to, effect.number), None)
        source, target = self._where[actor.name].host, self._where[effect.to].host
        if not self._is_lost(source, target):
            at = self.world.now + self._latency(source, target)
            self.world.tell(effect.to, LabAnswered(effect.number, effect.what), at)

    # --- jobs -------------------------------------------------------------------------------------

    def _job_begun(self, actor: Actor, effect: JobBegun) -> None:
        self._lines[effect.key] = JobLine(effect.user, actor.name)
        if effect.key in self._hung_up:
            self._end_line(effect.key, is_told=True)
        if self.world.is_gone(effect.user):
            self._end_line(effect.key, is_told=effect.user not in self._is_down)

    def _hang_up(self, _: Actor, effect: HangUp) -> None:
        self._hung_up.add(effect.key)
        self._end_line(effect.key, is_told=True)

    def _end_line(self, key: Key, *, is_told: bool) -> None:
        """Let a peer hear that a connection has ended: at once, or once nothing comes any more."""
        line = self._lines.pop(key, None)
        if line is not None:
            peer = self._where.get(line.peer)
            source = self._where[line.user].host
            is_lost = peer is None or self._is_lost(source, peer.host)
            after = LEASE if not is_told or is_lost else self._latency(source, peer.host)  # type: ignore[union-attr]
            self.world.tell(line.peer, JobLineEnded(key), self.world.now + after)

    def _lose_jobs_of(self, peer: str, *, is_told: bool) -> None:
        for key, line in list(self._lines.items()):
            if line.peer == peer:
                del self._lines[key]
                after = 0.05 if is_told else LEASE
                self.world.tell(line.user, JobLost(key), self.world.now + after)

    # --- daemons ----------------------------------------------------------------------------------

    def _keep(self, actor: Actor, effect: HostsKept) -> None:
        self._kept.setdefault(actor.name, []).append(effect.text)

    def _left(self, actor: Actor, _: MemberLeft) -> None:
        self._end_process(actor.name, is_told=True)

    def _end_process(self, name: str, *, is_told: bool) -> None:
        """End a process; who waits for its answer is told, if its system still lives."""
        self.world.tape.note(self.world.now, name, "ends" if is_told else "is gone")
        self.world.remove(name)
        self._lose_jobs_of(name, is_told=is_told)
        for (caller, number), owner in list(self._calls.items()):
            if owner == name:
                del self._calls[caller, number]
                if is_told:
                    self._fail(caller, number, self._where[name], self.world.now + 0.05)
        for key, line in list(self._lines.items()):
            if line.user == name:
                self._end_line(key, is_told=is_told)

    def _come_back(self, name: str, how: int, *, elsewhere: bool = False) -> None:
        """Begin a daemon again: with its file, one of before, or without; perhaps elsewhere."""
        if not self.world.is_gone(name):
            return
        self.gone.remove(name)
        member = (self.peers.get(name) or self.supernodes[name]).member
        kept = self._kept.get(name, [])
        text = "" if how % 3 == 0 or not kept else kept[-1 if how % 3 == 1 else len(kept) // 2]
        if elsewhere:
            free = [
                one
                for one, who in self._at.items()
                if who in self.peers and self.world.is_gone(who)
            ]
            address = self._new_address() if how % 2 or not free else free[how % len(free)]
            member = replace(member, addresses=(address,))
        elif not self.world.is_gone(self._at[member.addresses[0]]):
            member = replace(member, addresses=(self._new_address(),))  # another one is there now
        self._is_down.discard(member.addresses[0].host)
        self.world.tape.note(self.world.now, name, f"begins again at {member.addresses[0]}")
        self.world.revive(name)
        self._start(member, self.world.now, text)

    # --- faults -----------------------------------------------------------------------------------

    def _strike(self, fault: LabFault) -> None:
        members = [*self.peers, *self.supernodes]
        there = [one for one in members if not self.world.is_gone(one)]
        users = [name for name, one in self.users.items() if not self.world.is_gone(name)]
        match fault.kind:
            case LabFaultKind.CANCEL | LabFaultKind.VANISH | LabFaultKind.USER_DOWN:
                if users:
                    self._strike_user(fault, users[fault.target % len(users)])
            case LabFaultKind.STALL if there:
                anybody = [*there, *users]
                name = anybody[fault.target % len(anybody)]
                self._note(name, f"stands still for {fault.seconds:g} s")
                self.world.pause(name, self.world.now + fault.seconds)
            case LabFaultKind.FLAKY if there:
                name = there[fault.target % len(there)]
                self._note(name, f"loses messages for {fault.seconds:g} s")
                self._flaky[self._where[name].host] = self.world.now + fault.seconds
            case LabFaultKind.CUT | LabFaultKind.CUT_ONE_WAY:
                self._cut(fault)
            case _ if there:
                self._end_member(fault, there[fault.target % len(there)])

    def _note(self, who: str, what: str) -> None:
        self.world.tape.note(self.world.now, who, what)

    def _strike_user(self, fault: LabFault, name: str) -> None:
        if fault.kind is LabFaultKind.CANCEL:
            self._note(name, "is cancelled")
            self.world.tell(name, Cancelled())
            return
        self.vanished.add(name)
        if fault.kind is LabFaultKind.USER_DOWN:
            self._is_down.add(self._where[name].host)
        self._end_process(name, is_told=fault.kind is LabFaultKind.VANISH)

    def _cut(self, fault: LabFault) -> None:
        hosts = sorted({one.host for one in self._where.values()})
        one, other = hosts[fault.target % len(hosts)], hosts[fault.other % len(hosts)]
        until = self.world.now + fault.seconds
        self._note("faults", f"{fault.kind}: {one} to {other} for {fault.seconds:g} s")
        self._cuts[one, other] = until
        if fault.kind is LabFaultKind.CUT:
            self._cuts[other, one] = until

    def _end_member(self, fault: LabFault, name: str) -> None:
        self.gone.append(name)
        if fault.kind is LabFaultKind.LEAVE:
            self.world.tell(name, MemberAsked())
            last = self.world.now + 30.0
            self.world.at(last, partial(self._end_if_there, name))
            again = last + fault.seconds
        else:
            if fault.kind is LabFaultKind.DOWN:
                self._is_down.add(self._where[name].host)
            self._end_process(name, is_told=fault.kind is not LabFaultKind.DOWN)
            again = self.world.now + fault.seconds
        is_peer = name in self.peers
        elsewhere = fault.kind is LabFaultKind.MOVE and is_peer
        self.world.at(again, partial(self._come_back, name, fault.other, elsewhere=elsewhere))

    def _end_if_there(self, name: str) -> None:
        if not self.world.is_gone(name):
            self._end_process(name, is_told=True)
