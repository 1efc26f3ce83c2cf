"""What has to be true after a world, whatever has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcm.records import dataclass
from runtime.exit_codes import INTERRUPTED, LOST, NEVER_STARTED
from runtime.testing.world.launching import LauncherActor
from runtime.testing.world.load import LOSSY, FaultKind, ProgramMessage, Scenario
from runtime.testing.world.network import EndLife, Network
from runtime.testing.world.ranks import RankActor, payload_of

KILLED = 128 + 9


@dataclass(frozen=True, slots=True)
class WorldFindings:
    """What a world leaves; `stuck` says who waits for whom if it has not ended."""

    scenario: Scenario
    launcher: LauncherActor
    ranks: Sequence[RankActor]
    network: Network
    killed: frozenset[str]
    struck: tuple[str, ...]
    """The ranks that were killed by faults while their programs ran and none had failed yet."""
    ended_at: float
    """When the run had ended, and all its processes."""
    stuck: str


def audit(world: WorldFindings) -> Iterator[str]:
    """Yield what is wrong."""
    if world.stuck:
        yield world.stuck
    for check in (_results, _losses, _end, _haste, _left):
        yield from check(world)


def _expected(world: WorldFindings, index: int) -> list[tuple[int, int]]:
    """Return the steps whose messages a rank receives, and their sizes: by a sequential model."""
    steps = enumerate(world.scenario.program)
    messages = ((at, one) for at, one in steps if isinstance(one, ProgramMessage))
    mine = ((at, one) for at, one in messages if one.target == index and not one.is_notice)
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
    """Who fails says why, and fails only where something was lost.

    Who sends a notice to a rank that has ended may find nobody there.
    """
    messages = (one for one in world.scenario.program if isinstance(one, ProgramMessage))
    noticed = {(one.source, one.target) for one in messages if one.is_notice}
    for rank in world.ranks:
        if rank.code and not rank.why:
            yield f"{rank.name} fails without a word"
        if not world.scenario.may_lose:
            if rank.code:
                yield f"{rank.name} fails though nothing was lost: {rank.why}"
            for peer, words in rank.unfair_losses:
                if (rank.place.index, peer) not in noticed:
                    yield f"{rank.name} has lost a peer though none was: {words}"


def _end(world: WorldFindings) -> Iterator[str]:
    """The exit code and the first cause are those of the fault that was first."""
    launcher, scenario = world.launcher, world.scenario
    yield from (f"it happened though it cannot: {one}" for one in launcher.illegal)
    if world.stuck:
        return
    code, cause = launcher.code, launcher.first_cause
    kinds = {one.kind for one in scenario.faults if one.kind in LOSSY}
    told = f"code {code}, cause {cause and cause.failure.who}: {cause and cause.what}"
    if not scenario.may_lose:
        if code:
            yield f"the run fails though nothing was lost: {told}"
        return
    if code == 0 and any(one.code for one in world.ranks):
        yield f"the run ends well though ranks have failed: {told}"
    if code and cause is None and code not in (INTERRUPTED, NEVER_STARTED):
        yield f"the run fails without a cause: {told}"
    was_struck = kinds == {FaultKind.KILL} and not scenario.is_cut_for_long and world.struck
    if was_struck and (code != KILLED or cause is None or cause.failure.who not in world.struck):
        names = ", ".join(world.struck)
        yield f"{names} were killed while their programs ran, and the run ends with {told}"
    is_interrupted = kinds == {FaultKind.CTRL_C} and not scenario.is_cut_for_long
    if is_interrupted and code not in (0, INTERRUPTED, NEVER_STARTED):
        yield f"Ctrl-C was pressed, and the run ends with {told}"
    is_named = cause is not None and "the link from" in cause.what
    if not kinds and code not in (0, LOST) and not is_named:
        yield f"only lines were cut, and the run ends with {told}"


def _haste(world: WorldFindings) -> Iterator[str]:
    """Where nothing fails nobody waits for what does not come."""
    most = world.scenario.seconds + 8.0 + 40 * world.scenario.latency
    if not world.scenario.faults and not world.stuck and world.ended_at > most:
        yield f"without a fault it takes {world.ended_at:.1f} s, which is more than {most:.1f} s"


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
