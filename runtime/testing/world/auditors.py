"""What has to be true after a world, whatever has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcm.records import dataclass
from runtime.testing.world.load import ProgramMessage, Scenario
from runtime.testing.world.network import EndLife, Network
from runtime.testing.world.ranks import RankActor, payload_of


@dataclass(frozen=True, slots=True)
class WorldFindings:
    """What a world leaves; `stuck` says who waits for whom if it has not ended."""

    scenario: Scenario
    ranks: Sequence[RankActor]
    network: Network
    killed: frozenset[str]
    stuck: str


def audit(world: WorldFindings) -> Iterator[str]:
    """Yield what is wrong."""
    if world.stuck:
        yield world.stuck
    for check in (_results, _losses, _left):
        yield from check(world)


def _expected(world: WorldFindings, index: int) -> list[tuple[int, int]]:
    """Return the steps whose messages a rank receives, and their sizes: by a sequential model."""
    steps = enumerate(world.scenario.program)
    mine = (
        (at, one) for at, one in steps if isinstance(one, ProgramMessage) and one.target == index
    )
    return [(at, one.size) for at, one in mine]


def _results(world: WorldFindings) -> Iterator[str]:
    """What came is what was sent, once and in order; all of it where a rank has ended well."""
    for index, rank in enumerate(world.ranks):
        expected = _expected(world, index)
        numbers = [number for number, _ in rank.received]
        if numbers != [number for number, _ in expected[: len(numbers)]]:
            yield f"{rank.name} has received messages {numbers} of {expected}"
            continue
        for (number, payload), (_, size) in zip(rank.received, expected, strict=False):
            if payload != payload_of(number, size):
                yield f"{rank.name} has received something else as message {number}"
        if rank.code == 0 and len(numbers) < len(expected):
            yield f"{rank.name} ends well without messages {expected[len(numbers) :]}"


def _losses(world: WorldFindings) -> Iterator[str]:
    """Who fails says why, and fails only where something was lost."""
    for rank in world.ranks:
        if rank.code and not rank.why:
            yield f"{rank.name} fails without a word"
        if not world.scenario.may_lose:
            if rank.code:
                yield f"{rank.name} fails though nothing was lost: {rank.why}"
            for words in rank.unfair_losses:
                yield f"{rank.name} has lost a peer though none was: {words}"
    is_plain = not (world.killed or world.stuck or world.scenario.is_deaf_where_only_it_dials)
    if world.scenario.may_lose and is_plain:
        yield from _first_causes(world)


def _first_causes(world: WorldFindings) -> Iterator[str]:
    """Where only lines were cut the first loss is that of a link, and names it."""
    failed = [one for one in world.ranks if one.code]
    if failed and not any("link" in one.why or "not answer" in one.why for one in failed):
        yield "nobody names the link that was cut: " + "; ".join(one.why for one in failed)


def _left(world: WorldFindings) -> Iterator[str]:
    """Who has ended leaves nothing open, and systems keep nothing of it."""
    if world.stuck:
        return
    for rank in world.ranks:
        if rank.code is not None and len(rank.process.descriptors):
            there = [rank.process.descriptors[number] for number in range(64)]
            kinds = sorted({type(one).__name__ for one in there if one is not None})
            yield f"{rank.name} leaves {len(rank.process.descriptors)} descriptors: {kinds}"
    for listener in world.network.listeners.values():
        if listener.owner not in world.killed:
            yield f"{listener.owner} still listens at {listener.address}"
    for one in world.network.connections.values():
        for end in one.ends:
            if end.life is EndLife.OPEN and end.owner and end.owner not in world.killed:
                yield f"{end.owner} leaves a connection open ({one.address})"
