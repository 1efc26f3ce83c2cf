"""What was found when all ranks were asked what they do, as facts of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gcm.records import dataclass
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.facts import (
    MACHINE,
    AwaitedPart,
    CallSeen,
    CommunicatorSeen,
    RankSeen,
    StackSeen,
    WaitExplained,
)

# What explains waits is imported when somebody waits for long.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from runtime.machine.rank_states import RankState, Wait
    from runtime.waits import WaitFinding


@dataclass(frozen=True, slots=True)
class ProcessOfRank:
    """In which of FT-MPI's states the process is that has a rank, and which one in its place."""

    state: str
    incarnation: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What all ranks were doing: states of those that answered, and how others have ended."""

    states: dict[str, RankState]
    silent: tuple[str, ...]
    ended: dict[str, str]
    findings: list[WaitFinding]
    names: RankNames


def facts_of(
    seen: Snapshot, processes: Mapping[str, ProcessOfRank]
) -> Iterator[tuple[str, RankSeen | WaitExplained]]:
    """Yield what all ranks were doing, and why they wait, as facts with their names.

    `processes` has the ranks of programs that go on without lost ones.
    """
    for rank, doing in sorted(_doing(seen), key=lambda one: RankName.parse(one[0])):
        state, process = seen.states.get(rank), processes.get(rank)
        found = RankSeen(doing, process.state, process.incarnation) if process else RankSeen(doing)
        if state is not None:
            found = replace(
                found,
                communicators=tuple(
                    CommunicatorSeen(one.comm, one.state, one.modes, one.size, one.present)
                    for one in state.recoveries
                ),
                host=state.host,
                process=state.pid,
                calls=tuple(_call(one, seen.names) for one in state.waits),
                stacks=tuple(StackSeen(thread, text) for thread, text in state.stacks),
                memory=state.memory,
                cpu=round(state.cpu, 2),
                in_mpi=round(state.in_mpi, 3),
            )
        yield rank, found
    for finding in seen.findings:
        yield MACHINE, explained(finding)


def _call(wait: Wait, names: RankNames) -> CallSeen:
    from runtime.waits import described

    parts = tuple(AwaitedPart(part.kind, part.peer, part.tag) for part in wait.parts)
    seconds = round(wait.seconds, 1)
    return CallSeen(wait.call, described(wait, names), seconds, wait.where, str(wait.comm), parts)


def explained(finding: WaitFinding) -> WaitExplained:
    """Return a finding as a fact."""
    from runtime.waits import HEADINGS

    return WaitExplained(finding.kind, HEADINGS[finding.kind], finding.ranks, str(finding))


def _doing(seen: Snapshot) -> Iterator[tuple[str, str]]:
    from runtime.waits import described

    for rank, state in seen.states.items():
        calls = [f"in {described(one, seen.names)}" for one in state.waits]
        if state.may_act and state.at:
            calls.append(f"at {state.at}")
        yield rank, ", ".join(calls) or "at rest"
    yield from ((rank, "does not answer") for rank in seen.silent)
    yield from ((rank, f"has ended ({how})") for rank, how in seen.ended.items())
