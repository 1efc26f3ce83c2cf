"""What has to be true after a world of links, whatever has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcm.records import dataclass
from runtime.peers.connections.connection import CALL_TIMEOUT
from runtime.testing.world.link_load import LinkKind, LinkScenario
from runtime.transport.lean import HANDSHAKE_SECONDS, HOST_SILENCE

_SOON = 0.5
"""Seconds in which a thread sees that its connection was closed."""

_PATIENT = HANDSHAKE_SECONDS - 1.0
"""Seconds for which both ends wait at least until their connection is open."""

_FOUND_SILENT = 1.5 * 1.25 * HOST_SILENCE
"""Seconds after which each end has given up a host that does not answer."""


@dataclass(frozen=True, slots=True)
class LinkAsked:
    """Something was told, or asked: by which thread, when, what was answered, or why nothing."""

    number: int
    by: int
    began: float
    ended: float
    answer: object = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class LinkFindings:
    """What a world of links leaves; `lost` and `other_lost` say when and why ends gave up."""

    scenario: LinkScenario
    asked: Sequence[LinkAsked]
    lost: Sequence[tuple[float, str]]
    heard: Sequence[int]
    answered: Sequence[int]
    other_lost: Sequence[tuple[float, str]]
    closed_for: float
    """For how many seconds the thread waited that closed the connection."""
    has_opened: bool
    gone_at: float | None
    """When the other end was killed, or lost its host."""
    ended_at: float
    stuck: str


def audit_link(world: LinkFindings) -> Iterator[str]:
    """Yield what is wrong."""
    if world.stuck:
        yield world.stuck
        return
    yield from _opening(world)
    yield from _order(world)
    yield from (_rank if world.scenario.kind is LinkKind.RANK else _lab)(world)


def _opening(world: LinkFindings) -> Iterator[str]:
    """A connection opens where nothing keeps it from that, else its failure is told in time."""
    if world.has_opened:
        return
    words = "; ".join(f"at {at:.3f} s: {why}" for at, why in world.lost)
    if world.scenario.opens_by <= _PATIENT:
        yield f"a connection does not open though nothing hinders it for long: {words}"
    if not all(why for _, why in world.lost) or not world.lost:
        yield "a connection does not open, and nobody says why"
    elif max(at for at, _ in world.lost) > 2 * HANDSHAKE_SECONDS + _SOON:
        yield f"that a connection does not open is told late: {words}"


def _order(world: LinkFindings) -> Iterator[str]:
    """What is heard was told, once, and in the order of each thread."""
    steps = world.scenario.steps
    for by in {one.by for one in steps}:
        mine = [at for at, one in enumerate(steps) if one.by == by]
        heard = [at for at in world.heard if steps[at].by == by]
        if heard != mine[: len(heard)]:
            yield f"{heard} was heard of what thread {by} has told: {mine}"


def _rank(world: LinkFindings) -> Iterator[str]:
    """A rank keeps its front-end for as long as that one's host answers, and not for longer."""
    scenario = world.scenario
    words = "; ".join(f"at {at:.3f} s: {why}" for at, why in (*world.lost, *world.other_lost))
    if world.has_opened and not scenario.may_lose:
        if len(world.heard) < len(scenario.steps):
            yield f"{world.heard} were heard of {len(scenario.steps)} that were told: {words}"
        if sorted(world.answered) != list(range(scenario.calls)):
            yield f"{world.answered} were answered of {scenario.calls} calls: {words}"
        if world.other_lost:
            yield f"the front-end loses its rank though nothing is lost: {words}"
    elif world.gone_at is not None:
        until = max(world.gone_at, scenario.healed_at) + _FOUND_SILENT
        last = max((one.at for one in scenario.steps), default=0.0)
        if world.ended_at > max(until, last + _SOON):
            yield f"a rank goes on until {world.ended_at:.1f} s without its front-end: {words}"


def _lab(world: LinkFindings) -> Iterator[str]:
    """Each call has its own answer, or an end in time that says why."""
    scenario, closes_at = world.scenario, world.scenario.closes_at
    by_themselves = len(scenario.steps) * (CALL_TIMEOUT + _SOON)
    waits = {one.by for one in scenario.steps}
    for one in world.asked:
        took = one.ended - one.began
        if not one.why and one.answer != one.number:
            yield f"call {one.number} was answered with {one.answer}"
        if took > by_themselves if len(waits) > 1 else took > CALL_TIMEOUT + _SOON:
            yield f"call {one.number} has taken {took:.1f} s"
        if (
            closes_at is not None
            and one.ended > max(closes_at, one.began) + _SOON
            and (one.began >= closes_at or one.why)
        ):
            yield f"call {one.number} waits until {one.ended:.1f} s, closed at {closes_at:.1f} s"
    if world.closed_for > _SOON:
        yield f"a thread that closes the connection waits for {world.closed_for:.1f} s"
    if not scenario.faults and closes_at is None and scenario.late < 1.0:
        for one in world.asked:
            if one.why:
                yield f"call {one.number} fails though nothing is lost: {one.why}"
