"""The account of a run: what ran where, how long, how it ended, and what was sent. A fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TypeVar

from runtime.checks import FaultFound
from runtime.lifecycle.exchanged import Exchanged, Row, is_transport
from runtime.lifecycle.outcome import (
    ComponentReport,
    Connections,
    ForwardedTraffic,
    HeldNodes,
    Outcome,
    RankReport,
    Results,
    RouteTraffic,
    TunnelTraffic,
)
from runtime.machine.deaths import in_words
from runtime.part_names import cluster_of
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.call_times import CallTimes, RankTimes
from runtime.views.facts import (
    CallsChecked,
    CommandEnded,
    ConnectionsCounted,
    Fact,
    MessagesCounted,
    PlannedCluster,
    RankResult,
    RankSeen,
    RankStarted,
    RankUsed,
    RunEnded,
    RunPlanned,
    RunStarted,
    StateChanged,
)
from runtime.views.progress_tree import OVER, QUEUED, RUNNING
from runtime.views.summary import ClusterRow, RankRow, Summary

R = TypeVar("R")

_UNKNOWN = RunEnded(0)

Report = (
    RouteTraffic
    | ForwardedTraffic
    | TunnelTraffic
    | ComponentReport
    | HeldNodes
    | Results
    | FaultFound
)
"""The records that are kept as they come."""

_FIGURES = [one.name for one in fields(Connections) if one.type == "int"]


class RunAccount:
    """Adds up the facts of a run; `outcome` and `summary` are what has come to light until now."""

    def __init__(self) -> None:
        self._planned = RunPlanned("", ())
        self._clusters: dict[str, PlannedCluster] = {}
        self._hosts: dict[str, str] = {}  # as planned, of all ranks that others may tell of
        self._time = 0.0
        self._started_after: float | None = None
        self._running_since: float | None = None
        self._over: dict[str, float] = {}
        self._missing: set[str] = set()
        self._ranks: dict[str, RankStarted] = {}
        self._ends: dict[str, RankResult] = {}
        self._exchanged = Exchanged()
        self.calls = CallTimes()
        """The calls that ranks have counted."""
        self._used: dict[str, tuple[int, float]] = {}
        self._samples: dict[tuple[str, str, tuple[str, ...] | None], Row] = {}
        self._reports: list[Report] = []
        self._checked: int | None = None
        self._end: RunEnded | None = None
        self._command: CommandEnded | None = None

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        name = fact.name
        self._time = fact.time if self._end is None else self._time
        self.calls.take(fact)
        if isinstance(fact.record, RankSeen | RankUsed) and name in self._hosts:
            self._use(name, fact.record)
        match fact.record:
            case RunPlanned() as planned:
                self._planned, self._clusters = planned, planned.clusters()
                self._hosts = planned.hosts()
            case StateChanged(state):
                self._change(name, state, fact.time)
            case RankStarted() as started if name in self._hosts:
                self._ranks[name] = started
            case RunStarted():
                self._started_after = fact.time
            case MessagesCounted() as counted:
                self._count(name, counted)
            case ConnectionsCounted(figures) if name in self._hosts:
                known = {one: figures[one] for one in _FIGURES if one in figures}
                self._exchanged.add(name, (), known)
            case CallsChecked(calls):
                self._checked = calls
            case RankResult() as end if name in self._hosts:
                self._ends[name] = end
            case RunEnded() as end_of_all:
                self._end = end_of_all
            case CommandEnded() as command:
                self._command = command
            case report if isinstance(report, Report):
                self._reports.append(report)

    def _use(self, rank: str, used: RankSeen | RankUsed) -> None:
        before = self._used.get(rank, (0, 0.0))
        self._used[rank] = max(before[0], used.memory), max(before[1], used.cpu)

    def _count(self, name: str, counted: MessagesCounted) -> None:
        way = counted.to, counted.between
        row = (*way, counted.peers, counted.messages, counted.bytes)
        between = counted.between or ()
        front_ends = () if is_transport(between) else between
        if not self._clusters.keys() >= {cluster_of(counted.to), *front_ends}:
            return
        if name in self._clusters:
            self._samples[name, *way] = row
        elif name in self._hosts:
            self._exchanged.add(name, [row], {})

    def _sent(self) -> Exchanged:
        """Return what ranks have sent: until the run ends, what is known of clusters."""
        if self._end is not None:
            return self._exchanged
        so_far = Exchanged()
        for (cluster, *_), row in self._samples.items():
            so_far.add(f"{cluster}:0", [row], {})
        return so_far

    def _change(self, name: str, state: str, time: float) -> None:
        if name not in self._hosts:
            return
        (self._missing.add if state == QUEUED else self._missing.discard)(name)
        if state == RUNNING and self._running_since is None:
            self._running_since = time
        elif state in OVER:
            self._over.setdefault(name, time)

    @property
    def is_planned(self) -> bool:
        """Whether the machine has been told of, which every run does first."""
        return bool(self._planned.sites)

    @property
    def has_ended(self) -> bool:
        """Whether the run has come to its end."""
        return self._end is not None

    def seconds(self, rank: str) -> float | None:
        """Return how long a rank has run; None if it never ran or has not ended."""
        if self._running_since is None or rank not in self._over:
            return None
        return self._over[rank] - self._running_since

    @property
    def begun(self) -> float:
        """When the application began to run, 0 if it has not."""
        return self._running_since or 0.0

    def times(self) -> dict[str, RankTimes]:
        """Return where the time of each rank went that has told of it."""
        return self.calls.times(self.seconds, self._running_since)

    def used(self, rank: str) -> tuple[int, float]:
        """Return the bytes that a rank had at most and its seconds of processor time, if known."""
        return self._used.get(rank, (0, 0.0))

    def ranks(self) -> tuple[RankReport, ...]:
        """Return all ranks that have started, in order."""
        reports = []
        for rank in sorted(self._ranks, key=RankName.parse):
            one, end = self._ranks[rank], self._ends.get(rank)
            code, signal = (None, 0) if end is None else (end.code, end.signal)
            reports.append(RankReport(rank, one.host, one.pid, one.mpi, code, signal))
        return tuple(reports)

    def outcome(self) -> Outcome:
        """Return how the run has ended."""
        paths = {name: one.known.path for name, one in self._clusters.items()}
        connections = self._exchanged.connections(paths)
        end = self._end or _UNKNOWN
        return Outcome(
            exit_code=end.code,
            errors=end.errors,
            first_cause=end.first_cause,
            ranks=self.ranks(),
            traffic=(*self._all(RouteTraffic), *self._sent().traffic(paths)),
            connections=replace(
                connections,
                relays=self._all(ForwardedTraffic),
                tunnels=self._all(TunnelTraffic),
            ),
            exits={rank: one.code for rank, one in self._ends.items()},
            started_after=self._started_after,
            seconds=self._time,
            components=self._all(ComponentReport),
            results=self._all(Results),
            held=self._all(HeldNodes),
            faults=self._all(FaultFound),
            checked=self._checked,
        )

    def _all(self, kind: type[R]) -> tuple[R, ...]:
        return tuple(one for one in self._reports if isinstance(one, kind))

    def summary(self) -> Summary:
        """Return the whole run, for people and for programs."""
        outcome, startup = self.outcome(), self._started_after
        last, names = self._command or self._end, self._planned.names()
        times = self.times()
        return Summary(
            name=self._planned.deployment,
            code=None if last is None else last.code,
            seconds=round(outcome.seconds, 3),
            startup=None if startup is None else round(startup, 3),
            clusters=tuple(
                ClusterRow(
                    name, one.known.path, one.application, self._rows(name, one.hosts, names, times)
                )
                for name, one in self._clusters.items()
                if one.hosts
            ),
            traffic=outcome.traffic,
            errors=() if last is None else last.errors,
            first_cause=outcome.first_cause,
            components=outcome.components,
            connections=outcome.connections,
            results=outcome.results,
            held=outcome.held,
            replicas=self._planned.replicas,
            faults=outcome.faults,
        )

    def _rows(
        self,
        cluster: str,
        hosts: tuple[str, ...],
        names: RankNames,
        times: Mapping[str, RankTimes],
    ) -> tuple[RankRow, ...]:
        ranks = enumerate(hosts)
        return tuple(self._row(f"{cluster}:{number}", host, names, times) for number, host in ranks)

    def _row(
        self, rank: str, planned: str, names: RankNames, times: Mapping[str, RankTimes]
    ) -> RankRow:
        seconds, spent = self.seconds(rank), times.get(rank)
        memory, cpu = self.used(rank)
        started, end = self._ranks.get(rank), self._ends.get(rank)
        return RankRow(
            rank,
            planned if started is None else started.host,
            None if started is None else started.pid,
            "" if started is None else started.mpi,
            None if seconds is None else round(seconds, 3),
            None if end is None else end.code,
            in_words(end.code, end.signal) if started and end and end.signal else "",
            names.number(rank),
            names.replica(rank),
            names.name(rank),
            rank in self._missing,
            memory,
            cpu,
            None if spent is None else spent.in_mpi,
            None if spent is None else spent.waiting,
        )
