"""What has to be true after a world of programs, whatever has happened in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gcm.records import dataclass
from runtime.testing.world.program_load import ProgramScenario, SurvivalKind
from runtime.testing.world.program_process import ProgramProcess
from runtime.testing.world.programs import expected

PATIENCE = 5.0
"""Seconds for which a step may last longer where one is killed, beside what is computed."""

MENDED = 10.0
"""Seconds after a fault of a line in which ranks have found out and are connected again."""


@dataclass(frozen=True, slots=True)
class ProgramFindings:
    """What a world of programs leaves; `stuck` says who waits for whom if it has not ended."""

    scenario: ProgramScenario
    processes: Sequence[ProgramProcess]
    ranks: Mapping[str, int]
    """The rank of each process."""
    killed: frozenset[str]
    stuck: str


def audit_program(made: ProgramFindings) -> Iterator[str]:
    """Yield what is wrong."""
    if made.stuck:
        yield made.stuck
    for check in (_results, _ends, _haste):
        yield from check(made)


def _results(made: ProgramFindings) -> Iterator[str]:
    """What each step has found is what a sequential model finds."""
    scenario = made.scenario
    for one in made.processes:
        rank = made.ranks[one.name]
        for number, found in one.results.items():
            wanted = expected(scenario, number, rank)
            if found != wanted and number != scenario.odd_step:
                yield f"{one.name} has found {found} in step {number}, not {wanted}"
        if one.code == 0 and not one.is_short and len(one.results) < len(scenario.steps):
            newcomer = scenario.kind is SurvivalKind.SURVIVES and one.incarnation > 1
            if not newcomer:
                yield f"{one.name} ends well after steps {list(one.results)}"


def _ends(made: ProgramFindings) -> Iterator[str]:
    """A process fails only where one was lost that nobody replaces, and says why."""
    if made.stuck:
        return
    is_odd = made.scenario.odd_step >= 0
    for one in made.processes:
        if one.name in made.killed:
            continue
        if is_odd and not one.code:
            yield f"{one.name} ends well though a call gave it another size"
        elif is_odd and "bytes" not in one.why:
            yield f"{one.name} fails without a word of the sizes: {one.why}"
        elif one.code and not is_odd:
            yield from _failure(made, one)


def _failure(made: ProgramFindings, one: ProgramProcess) -> Iterator[str]:
    if not made.killed and not made.scenario.fails_to_start:
        yield f"{one.name} fails though nobody was killed: {one.why}"
    elif made.scenario.replicas > 1 and one.has_joined:
        yield f"{one.name} fails though each rank has a replica: {one.why}"
    elif "nobody is left" in one.why and one.incarnation == 1:
        yield f"{one.name} has nobody to join, though it was there from the start: {one.why}"
    elif not one.why.startswith(("ProcessGone", "GridError")):
        yield f"{one.name} fails with {one.why}"


def _haste(made: ProgramFindings) -> Iterator[str]:
    """Nobody waits for one who has yet to join, nor for one who has gone for longer than needed."""
    scenario = made.scenario
    if made.stuck or scenario.replicas == 1:
        return
    most = scenario.seconds + PATIENCE + 4 * scenario.told
    most += sum(one.seconds + MENDED for one in scenario.cuts)
    for one in made.processes:
        for number, seconds in one.waited.items():
            if seconds > most:
                yield f"{one.name} was in step {number} for {seconds:.1f} s, not {most:.1f}"
