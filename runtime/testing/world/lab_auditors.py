"""What has to be true of a lab after all that has happened in it."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.peers.booking import Demand, Offer, missing
from runtime.testing.world.lab_load import LabFaultKind, LabScenario
from runtime.testing.world.lab_simulation import LabSimulation
from runtime.testing.world.lab_users import LabUser, UserStage

QUICK = 20.0
"""Seconds within which a booking that needs nobody's places has them, over slow lines too."""

MOST_STALLED = 50.0
"""Seconds of standing still, of all members together, that may not look like a death."""


def audit_lab(lab: LabSimulation) -> Iterator[str]:
    """Yield what is wrong."""
    if lab.stuck:
        yield lab.stuck
    yield from lab.wrong
    for check in (_places, _ends, _rights, _leases, _members):
        yield from check(lab)


def _places(lab: LabSimulation) -> Iterator[str]:
    """No place is booked twice, and no host runs two copies of a rank."""
    for peer in lab.peers.values():
        yield from peer.wrong
    for user in lab.users.values():
        for booked in user.bookings:
            copies = [copy for one in booked.hosts for copy in one.allocation.copies]
            if not len(copies) == len(set(copies)) == user.demand.places:
                yield f"{user.name} has booked {copies}"
            for one in booked.hosts:
                ranks = [copy.rank for copy in one.allocation.copies]
                if len(ranks) != len(set(ranks)):
                    yield f"{user.name} has two copies of a rank at {one.allocation.offer.peer}"


def _ends(lab: LabSimulation) -> Iterator[str]:
    """Each booking ends in a run or a refusal that says why, within its bound."""
    for user in lab.users.values():
        if user.name in lab.vanished:
            continue
        if user.stage in (UserStage.REFUSED, UserStage.FAILED) and not user.why.strip():
            yield f"{user.name} is {user.stage} without a word"
        yield from _refusal(user)
        bound = lab.bound_of(user.asked)
        if user.ended_at is not None and user.ended_at > bound:
            yield f"{user.name} ends at {user.ended_at:.0f} s, which is after {bound:.0f} s"


def _refusal(user: LabUser) -> Iterator[str]:
    """A shortfall names what is missing, and for each host that gave none why."""
    short = user.shortfall
    if short is None or user.stage is not UserStage.REFUSED:
        return
    if not 0 <= short.found < short.demand.places:
        yield f"{user.name} is refused with {short.found} of {short.demand.places} places"
    if short.known and not short.hosts and not short.refusals:
        yield f"{user.name} is refused by nobody: {short}"
    if any(not why for why in short.refusals.values()):
        yield f"{user.name} is refused without a word: {short}"
    asked = user.asked
    if not user.bookings and short.waited > asked.search + 35.0:  # else it searched again
        yield f"{user.name} searched for {short.waited:.0f} s instead of {asked.search:g}"


def _rights(lab: LabSimulation) -> Iterator[str]:
    """Where nothing fails, a booking alone gets what there is, and soon."""
    scenario = lab.scenario
    if scenario.faults or len(scenario.bookings) != 1:
        return
    (asked,) = scenario.bookings
    (user,) = lab.users.values()
    demand = Demand(asked.ranks, asked.replicas)
    offers = [Offer(f"p{number}", one.processes) for number, one in enumerate(scenario.shares)]
    is_possible = not missing(offers, demand)
    if is_possible and user.stage is not UserStage.RAN:
        yield f"{user.name} is {user.stage} though there are places: {user.why}"
    if not is_possible and user.stage is not UserStage.REFUSED:
        yield f"{user.name} is {user.stage} though there are no places"
    if is_possible and user.ended_at is not None:
        took = user.ended_at - asked.at
        most = asked.staging + asked.job + QUICK
        if took > most:
            yield f"{user.name} takes {took:.1f} s, which is more than {most:.1f} s"


def _leases(lab: LabSimulation) -> Iterator[str]:
    """No lease is left, and no job, once all users have ended."""
    if lab.stuck:
        return
    for peer in lab.peers.values():
        if lab.is_there(peer.name):
            for hold in peer.admission.holds:
                yield f"{peer.name} keeps {hold.phase.value} places of {hold.principal}"
            if peer.running:
                yield f"{peer.name} still runs {len(peer.running)} jobs"


def _members(lab: LabSimulation) -> Iterator[str]:
    """Supernodes list those who are there, and take nobody for gone who was there."""
    if lab.stuck:
        return
    there = {name for name in (*lab.peers, *lab.supernodes) if not lab.world.is_gone(name)}
    for supernode in lab.supernodes.values():
        if lab.world.is_gone(supernode.name):
            continue
        found = supernode.living
        if missing_ := sorted(there - found):
            yield f"{supernode.name} does not list {missing_}"
        if dead := sorted(found - there):
            yield f"{supernode.name} lists {dead}, which are gone"
        if keeps_members(lab.scenario) and (gone := sorted(supernode.known_gone())):
            yield f"{supernode.name} took {gone} for gone, which were there"
    if not any(name in there for name in lab.supernodes):
        return
    for name, peer in lab.peers.items():
        if name in there and peer.core.supernode is None:
            yield f"{name} has no supernode: {peer.core.state}: {peer.core.faults}"


def keeps_members(scenario: LabScenario) -> bool:
    """Tell whether no member may be taken for gone."""
    stalls = (one.seconds for one in scenario.faults if one.kind is LabFaultKind.STALL)
    return scenario.keeps_members and sum(stalls) <= MOST_STALLED
