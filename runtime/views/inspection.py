"""What a run was doing when somebody asked: `ps`, `waits` and `stacks`. A fold."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from gcm.cli.output import counted
from runtime.lifecycle.run_life import RunPhase
from runtime.shown_text import shown_table
from runtime.topology import RankNames
from runtime.views.facts import (
    Fact,
    RankSeen,
    Record,
    RunPlanned,
    RunSeen,
    StateChanged,
    WaitExplained,
)

MOST_FINDINGS = 12
"""So many findings are printed at a time while the run goes on."""

_NO_RANK: Mapping[str, str] = {
    RunPhase.RUNNING: "no rank has answered",
    **dict.fromkeys(
        (RunPhase.PLANNED, RunPhase.STARTING, RunPhase.HANDSHAKING), "no rank runs yet"
    ),
}
"""What is said where there are no ranks, by the phase of the run."""

_MOST_IN_LINE, _AND_SO_ON = 120, ", which waits in"
"""Findings with more characters get a line for each rank that waits for another one."""


class RunInspection:
    """A run as its `process` has answered; `is_answered` tells whether that says what it runs."""

    def __init__(self, process: int) -> None:
        self.is_answered = False
        self._process = process
        self._deployment = ""
        self._names = RankNames()
        self._state = ""
        self._clusters: dict[str, str] = {}
        self._jobs: dict[str, str] = {}
        self._has_queued = False
        self._ranks: dict[str, RankSeen] = {}
        self._findings: list[WaitExplained] = []

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        match fact.record:
            case RunPlanned() as planned:
                self._deployment, self._names = planned.deployment, planned.names()
                known = planned.clusters().items()
                self._clusters = {name: one.known.path for name, one in known}
            case StateChanged(state, words) if fact.name in self._clusters:
                self._jobs[self._clusters[fact.name]] = words
                self._has_queued |= state == "queued"
            case RunSeen(state):
                self.is_answered, self._state = True, state
            case RankSeen() as rank:
                self._ranks[fact.name] = rank
            case WaitExplained() as finding:
                self._findings.append(finding)

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        names = self._names
        return {
            "deployment": self._deployment,
            "process": self._process,
            "state": self._state,
            "jobs": self._jobs,
            "ranks": [
                {
                    "rank": rank,
                    "number": names.number(rank),
                    "replica": names.replica(rank),
                    "where": names.where(rank),
                    "name": names.name(rank),
                    **asdict(one),
                }
                for rank, one in self._ranks.items()
            ],
            "findings": [asdict(one) for one in self._findings],
        }

    def ps(self, width: int = 0) -> Iterator[str]:
        """Yield what each rank is doing, as lines for a terminal of `width` columns."""
        yield self._heading()
        yield from self._jobs_of_clusters()
        rows = [
            (name, one.host, str(one.process or ""), _state_of(one), one.doing)
            for name, one in self._named()
        ]
        filled = [at for at in range(5) if any(row[at] for row in rows)]
        cells = [[row[at] for at in filled] for row in rows]
        for line in shown_table([""] * len(filled), cells, width=max(0, width - 2)).splitlines():
            yield f"  {line}"
        comms: dict[tuple[str, str, str, str], list[str]] = {}
        for name, one in self._named():
            for comm in one.communicators:
                there = f", {comm.present} of {comm.size} there" if comm.size else ""
                known = comm.name or "a communicator", comm.modes, comm.state, there
                comms.setdefault(known, []).append(name)
        for (comm_name, modes, state, there), ranks in comms.items():
            yield f"  {comm_name} ({modes}): {state}{there} at {', '.join(ranks)}"

    def waits(self) -> Iterator[str]:
        """Yield for whom ranks wait, and which of them can never go on."""
        yield self._heading()
        if self._has_queued:
            yield from self._jobs_of_clusters()
        if not self._ranks:
            yield f"  {_NO_RANK.get(self._state, 'no rank runs any more')}"
            return
        for name, one in self._named():
            for call in one.calls:
                yield f"  {name} has waited for {call.seconds:.0f} s in {call.text}"
        yield from _headed(self._findings)
        if not self._findings and not any(one.calls for one in self._ranks.values()):
            yield "  no rank waits"

    def stacks(self) -> Iterator[str]:
        """Yield the stacks of all threads; ranks with the same one have it once."""
        yield self._heading()
        for name, one in self._named():
            if not one.stacks:
                yield f"  {name}: {one.doing}"
        for (thread, text), ranks in _stacks(self._named()).items():
            yield f"  {thread} of {', '.join(ranks)}:"
            yield from (f"  {line}" for line in text.rstrip().splitlines())

    def _jobs_of_clusters(self) -> Iterator[str]:
        for cluster, words in self._jobs.items():
            yield f"  {cluster}: {words}"

    def _heading(self) -> str:
        many = counted(len(self._ranks), "rank")
        return f"{self._deployment} (process {self._process}): {self._state}, {many}"

    def _named(self) -> Iterator[tuple[str, RankSeen]]:
        return ((self._names.name(rank), one) for rank, one in self._ranks.items())


def _state_of(rank: RankSeen) -> str:
    """Return the state of the process of a rank where losses are survived, and which one it is."""
    state, number = rank.process_state, rank.incarnation
    return f"{state} (process {number} in its place)" if number > 1 else state or ""


def explanation(
    seen: Iterable[tuple[str, Record]], names: RankNames, reported: Collection[WaitExplained] = ()
) -> Iterator[str]:
    """Yield what all ranks do, why they wait, and their stacks, as lines for the log of a run.

    Nothing is there twice: the call of a rank is not repeated where a finding has it, which is not
    repeated where it was `reported` before.
    """
    facts = list(seen)
    ranks = [(name, one) for name, one in facts if isinstance(one, RankSeen)]
    findings = [one for _, one in facts if isinstance(one, WaitExplained)]
    fresh = [one for one in findings if one not in reported]
    known = [*reported, *fresh[:MOST_FINDINGS]]
    alike: dict[str, list[str]] = {}
    for name, one in ranks:
        call = one.doing.removeprefix("in ")
        if not any(name in finding.ranks and call in finding.text for finding in known):
            alike.setdefault(one.doing, []).append(name)
    if alike:
        yield "what the ranks are doing:"
    yield from (f"  {names.names(those)}: {doing}" for doing, those in alike.items())
    yield from finding_lines(fresh)
    for (thread, text), those in _stacks(ranks).items():
        yield f"stack of {thread} in {names.names(those)}:"
        yield from text.rstrip().splitlines()


def finding_lines(findings: Sequence[WaitExplained]) -> Iterator[str]:
    """Yield findings as lines of bearable length, and not too many of them."""
    for line in _headed(findings[:MOST_FINDINGS]):
        is_long = len(line) > _MOST_IN_LINE
        whole = line.replace(_AND_SO_ON, f",\n   {_AND_SO_ON[1:]}") if is_long else line
        yield from whole.splitlines()
    if left := findings[MOST_FINDINGS:]:
        yield f"  and {len(left)} more"


def _headed(findings: Iterable[WaitExplained]) -> Iterator[str]:
    heading = ""
    for one in findings:
        if one.heading != heading:
            heading = one.heading
            yield heading
        yield f"  {one.text}"


def _stacks(ranks: Iterable[tuple[str, RankSeen]]) -> dict[tuple[str, str], list[str]]:
    """Return which ranks have each stack of a thread."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, one in ranks:
        for stack in one.stacks:
            found.setdefault((stack.thread, stack.stack), []).append(name)
    return found
