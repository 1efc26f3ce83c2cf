"""A run as its page and its report show it: one document of plain values. A fold.

The document has everything that is drawn, as JSON has it: the machine, each rank with its states
and waits over time, traffic between clusters, who waits for whom, losses, and the log. It is
bounded whatever a run does: of what may grow without end the latest is kept.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from itertools import pairwise

from gcm.cli.output import counted
from gcm.records import dataclass
from runtime.lifecycle.exchanged import route_words
from runtime.machine.deaths import BY_REQUEST, RankDeath
from runtime.part_names import cluster_of
from runtime.rank_name import RankName
from runtime.views.account import RunAccount
from runtime.views.call_times import RankTimes, load_balance, where_time_went
from runtime.views.facts import (
    CallSeen,
    CommunicatorSeen,
    Fact,
    Logged,
    MessagesCounted,
    OutputWritten,
    PlannedCluster,
    RankSeen,
    RankStarted,
    RunDescribed,
    RunPlanned,
    RunSeen,
    StateChanged,
    WaitExplained,
)
from runtime.views.progress_tree import (
    BAD,
    LOST,
    OVER,
    PLANNED,
    RUNNING,
    STUCK,
    ProgressPart,
    ProgressTree,
    SentMessages,
    Way,
)
from runtime.views.summary import Summary, Table, headline, tables
from runtime.waits.findings import CYCLE, ENDED, MISMATCH, NEVER, NOBODY

MOST_WAITS = 200
"""So many of the latest waits of a rank are kept."""

MOST_LINES = 2_000
"""So many of the latest lines of output and of the log are kept."""

LONGEST_LINE = 2_000
"""Longer lines of output are cut."""

Plain = dict[str, object]

_CHAINS = (CYCLE, ENDED, MISMATCH, NOBODY)
"""The findings whose ranks wait each for the next one."""

_SAME_WAIT = 1.5
"""Two looks found the same call if its beginnings differ by fewer seconds."""


@dataclass(slots=True)
class _SeenWait:
    """A wait that was seen: its first call, and when it was over, None if it goes on."""

    begun: float
    over: float | None
    call: CallSeen


class _RankHistory:
    """What became known of one rank."""

    def __init__(self, host: str) -> None:
        self.host, self.pid, self.mpi, self.starts = host, 0, "", 0
        self.states: list[tuple[float, str]] = [(0.0, PLANNED)]
        self.detail = ""
        self.waits: deque[_SeenWait] = deque(maxlen=MOST_WAITS)
        self.communicators: tuple[CommunicatorSeen, ...] = ()
        self.in_mpi: list[tuple[float, float]] = []
        """Until when it had been in MPI for how many seconds, as looks have found."""

    @property
    def wait(self) -> _SeenWait | None:
        """The wait that goes on, if one does."""
        return self.waits[-1] if self.waits and self.waits[-1].over is None else None

    def change(self, time: float, state: str, detail: str) -> None:
        if state != self.states[-1][1]:
            self.states.append((time, state))
        self.detail = detail
        if state in OVER:
            self.end_wait(time)

    def end_wait(self, time: float) -> None:
        if self.wait is not None:
            self.wait.over = time

    def see(self, time: float, seen: RankSeen) -> None:
        self.communicators = seen.communicators
        if seen.in_mpi:
            self.in_mpi.append((time, seen.in_mpi))
            if len(self.in_mpi) > MOST_WAITS:
                del self.in_mpi[::2]
        call = seen.calls[0] if seen.calls else None
        going_on = self.wait
        if going_on is not None and call is not None:
            begun = time - call.seconds
            is_same = (call.text, call.where) == (going_on.call.text, going_on.call.where)
            if is_same and abs(begun - going_on.begun) < _SAME_WAIT:
                going_on.call = call
                return
        self.end_wait(time)
        if call is not None and self.states[-1][1] not in OVER:
            self.waits.append(_SeenWait(time - call.seconds, None, call))


class RunView:
    """Makes the document of a run; `take` is the only way in."""

    def __init__(self) -> None:
        self.account = RunAccount()
        """What is summed up of the run."""
        self._tree = ProgressTree()
        self._time = 0.0
        self._clusters: dict[str, PlannedCluster] = {}
        self._described: RunDescribed | None = None
        self._ranks: dict[str, _RankHistory] = {}
        self._sent: dict[Way, SentMessages] = {}
        self._findings: list[WaitExplained] = []
        self._events: deque[Plain] = deque(maxlen=MOST_LINES)
        self._log: deque[tuple[float, str]] = deque(maxlen=MOST_LINES)
        self._output: deque[Plain] = deque(maxlen=MOST_LINES)
        self.lines = 0
        """How many lines of output there were."""

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        if not isinstance(fact.record, OutputWritten):
            self.account.take(fact)
            self._tree.take(fact)
        name, self._time = fact.name, max(self._time, fact.time)
        if name in self._ranks:
            self._take_of_rank(fact, self._ranks[name])
        match fact.record:
            case RunDescribed() as described:
                self._described = described
            case RunPlanned() as planned:
                self._clusters = planned.clusters()
                self._ranks = {one: _RankHistory(host) for one, host in planned.hosts().items()}
            case StateChanged(state, detail):
                self._change(fact.time, name, state, detail)
            case RunSeen():
                self._findings.clear()
            case WaitExplained() as finding:
                if finding not in self._findings:
                    self._findings.append(finding)
            case MessagesCounted() as sent:
                self._count(name, sent)
            case OutputWritten(stream, data):
                self._write(fact.time, name, stream, data)
            case Logged(text):
                self._log.append((fact.time, text))

    def _take_of_rank(self, fact: Fact, rank: _RankHistory) -> None:
        match fact.record:
            case RankStarted(host, pid, mpi):
                rank.host, rank.pid, rank.mpi = host, pid, mpi
                rank.starts += 1
                if rank.starts > 1:
                    text = f"runs again, as process {pid}"
                    self._tell(fact.time, fact.name, "restarted", text)
            case RankDeath() as death if death.code and death.after != BY_REQUEST:
                self._tell(fact.time, fact.name, "death", death.how, death.observed.traceback)
            case RankSeen() as seen:
                rank.see(fact.time, seen)

    def _change(self, time: float, name: str, state: str, detail: str) -> None:
        if name in self._ranks:
            self._ranks[name].change(time, state, detail)
        elif name in self._clusters and (state, detail) == ("starting", "ranks"):
            for number in range(len(self._clusters[name].hosts)):
                self._ranks[f"{name}:{number}"].change(time, state, "")
        if state in BAD and (state == LOST or name not in self._ranks):
            self._tell(time, name, state, f"{state}: {detail}" if detail else state)

    def _tell(self, time: float, name: str, kind: str, text: str, more: str = "") -> None:
        self._events.append(
            {"time": round(time, 3), "who": self._called(name), "kind": kind, "text": text,
             "more": more}
        )  # fmt: skip

    def _called(self, name: str) -> str:
        """Return how people call a part of the machine."""
        cluster = self._clusters.get(name)
        return self._tree.names.name(name) if cluster is None else cluster.known.path

    def _count(self, name: str, sent: MessagesCounted) -> None:
        if name in self._ranks:
            to = self._sent.setdefault((name, sent.to, sent.between), SentMessages())
            to.messages += sent.messages
            to.bytes += sent.bytes

    def _write(self, time: float, name: str, stream: str, data: bytes) -> None:
        for line in data.decode(errors="replace").splitlines():
            self.lines += 1
            self._output.append(
                {"number": self.lines, "time": round(time, 3), "rank": name, "stream": stream,
                 "text": line[:LONGEST_LINE]}
            )  # fmt: skip

    # --- the document ---------------------------------------------------------------------------

    def document(self, now: float | None = None) -> Plain:
        """Return the whole document, ready for JSON; output is in `output`.

        It is that of `now`, in seconds since the beginning, while the run goes on.
        """
        summary, is_over = self.account.summary(), self.account.has_ended
        described = self._described
        time = summary.seconds if is_over else max(now or 0.0, self._time)
        times = self.account.times()
        codes = {one.rank: one.code for one in self.account.ranks()} if is_over else {}
        machine = f"{self._tree.ranks_in_words()} in {counted(len(self._clusters), 'cluster')}"
        return {
            "kind": "run",
            "title": self._tree.name,
            "headline": headline(summary) if is_over else machine,
            "phase": self._tree.phase(),
            "time": round(time, 1),
            "startup": summary.startup,
            "is_over": is_over,
            "code": summary.code,
            "errors": summary.errors,
            "first_cause": None if summary.first_cause is None else summary.first_cause.as_dict(),
            "sites": [
                {"name": name.partition(" ")[2],
                 "clusters": [self._cluster(one.identifier) for one in clusters]}
                for name, clusters in self._tree.sites
            ],
            "others": [{"name": one.name, "state": one.state, "words": one.words}
                       for one in self._tree.others.values()],
            "ranks": [self._rank(name, one, codes.get(name), times.get(name))
                      for name, one in self._ranks.items()],
            "findings": [asdict(one) | {"is_final": one.kind in NEVER} for one in self._findings
                         if one.kind in NEVER or not is_over],
            "waits_for": self._waits_for(),
            "faults": [asdict(one) for one in summary.faults],
            "traffic": self._traffic(),
            "calls": {
                "rows": [asdict(one) | {"least_rank": self._label(one.least_rank),
                                        "most_rank": self._label(one.most_rank)}
                         for one in self.account.calls.rows()],
                "went": where_time_went([*times.values()]),
                "balance": load_balance([*times.values()]),
                "imbalance": self.account.calls.imbalance(self.account.seconds, self._tree.names),
                "untold": len(self._ranks.keys() - self.account.calls.ranks),
            },
            "communicators": self._communicators(),
            "pairs": [
                {"from": way[0], "to": way[1], "route": self._route(way[2]),
                 "messages": one.messages, "bytes": one.bytes}
                for way, one in self._sent.items()
                if cluster_of(way[0]) != cluster_of(way[1])
            ],
            "events": list(self._events),
            "log": [{"time": round(time, 3), "text": text} for time, text in self._log],
            "lines": self.lines,
            "tables": [_table(one) for one in tables(summary)],
            "core_hours": _core_hours(summary) if is_over else 0,
            "described": None if described is None else asdict(described),
        }  # fmt: skip

    def output(self, after: int = 0) -> list[Plain]:
        """Return the lines of output that are kept, whose number is higher than `after`."""
        found = []
        for line in reversed(self._output):
            if line["number"] == after:
                break
            found.append(line)
        return found[::-1]

    def _label(self, rank: str) -> str:
        """Return a rank as tables have it, in which its cluster would be too much."""
        number, replica = self._tree.names.number(rank), self._tree.names.replica(rank)
        if number is None:
            return rank
        return f"rank {number}.{replica}" if replica else f"rank {number}"

    def _communicators(self) -> list[Plain]:
        """Return the communicators that may lose ranks, each state of them with who tells it."""
        found: dict[CommunicatorSeen, list[str]] = {}
        for name, rank in self._ranks.items():
            if rank.states[-1][1] not in OVER:
                for comm in rank.communicators:
                    found.setdefault(comm, []).append(name)
        return [
            {"name": comm.name or "a communicator", "state": comm.state, "modes": comm.modes,
             "size": comm.size, "present": comm.present,
             "ranks": [self._label(one) for one in ranks]}
            for comm, ranks in found.items()
        ]  # fmt: skip

    def _shares(self, name: str, rank: _RankHistory, times: RankTimes | None) -> list[list[float]]:
        """Return from when to when a rank was in MPI for which part of the time."""
        since = next((time for time, state in rank.states if state == RUNNING), None)
        if since is None or times is None:
            return []
        points = [(since, 0.0), *rank.in_mpi]
        if name in self.account.calls.ranks:  # it has told all
            points.append((max(since, self.account.begun + times.seconds), times.in_mpi))
        return [
            [round(one[0], 2), round(to[0], 2),
             round(min(1.0, max(0.0, to[1] - one[1]) / (to[0] - one[0])), 3)]
            for one, to in pairwise(points)
            if to[0] - one[0] > 0
        ]  # fmt: skip

    def _cluster(self, name: str) -> Plain:
        planned, part = self._clusters[name], self._tree.cluster_of(name)
        assert part is not None
        return {
            "id": name,
            "name": planned.known.path,
            "application": planned.application,
            "state": part.summed_up,
            "words": self._words(part),
            "detail": part.detail,
            "walltime_ends": part.walltime_ends,
            "ranks": len(planned.hosts),
        }

    def _words(self, part: ProgressPart) -> str:
        """Return the state of a cluster in words, with that for which it is shown as a bad one."""
        lost = ", ".join(f"{n} {one}" for one in sorted(BAD) if (n := part.ranks.count(one)))
        is_told = any(one in part.words for one in BAD)
        return part.words if is_told or not lost else f"{part.words}, {lost}"

    def _rank(
        self, name: str, rank: _RankHistory, code: int | None, times: RankTimes | None
    ) -> Plain:
        wait = rank.wait
        memory, cpu = self.account.used(name)
        return {
            "id": name,
            "number": self._tree.names.number(name),
            "replica": self._tree.names.replica(name),
            "name": self._tree.names.name(name),
            "cluster": RankName.parse(name).cluster,
            "host": rank.host,
            "pid": rank.pid,
            "mpi": rank.mpi,
            "starts": rank.starts,
            "state": STUCK if self._tree.is_stuck(name) else rank.states[-1][1],
            "detail": rank.detail,
            "code": code,
            "memory": memory,
            "cpu": cpu,
            "times": None
            if times is None
            else {
                "seconds": times.seconds,
                "computing": round(times.computing, 3),
                "in_mpi": times.in_mpi,
                "waiting": times.waiting,
            },
            "shares": self._shares(name, rank, times),
            "wait": None if wait is None else self._wait(wait),
            "states": [[round(time, 3), state] for time, state in rank.states],
            "waits": [self._wait(one) for one in rank.waits],
        }

    def _wait(self, wait: _SeenWait) -> Plain:
        call = wait.call
        return {
            "begun": round(wait.begun, 2),
            "over": None if wait.over is None else round(wait.over, 2),
            "call": call.call,
            "text": call.text.removesuffix(f" ({call.where})"),
            "where": call.where,
            "for": [one.rank for one in call.waits_for if one.rank],
        }

    def _waits_for(self) -> list[Plain]:
        """Return who waits for whom: what calls say, and what was found out about those stuck."""
        found: dict[tuple[str, str], str] = {}
        for name, rank in self._ranks.items():
            if rank.wait is not None:
                for part in rank.wait.call.waits_for:
                    if part.rank:
                        found[name, part.rank] = "waits"
        for finding in self._findings:
            if finding.kind in _CHAINS:
                circle = finding.ranks[:1] if finding.kind == CYCLE else ()
                found |= dict.fromkeys(pairwise((*finding.ranks, *circle)), "stuck")
        return [{"from": one, "to": to, "kind": kind} for (one, to), kind in found.items()]

    def _traffic(self) -> list[Plain]:
        """Return what went between clusters: at the end what ranks told, until then samples.

        An end that was connected does not know the route; it is that of the other end.
        """
        sums: dict[Way, SentMessages] = {}
        if self.account.has_ended or not self._tree.samples:
            for (rank, to, between), one in self._sent.items():
                way = RankName.parse(rank).cluster, cluster_of(to), between
                whole = sums.setdefault(way, SentMessages())
                whole.messages += one.messages
                whole.bytes += one.bytes
        else:
            sums = self._tree.samples
        chosen = {way[:2]: way[2] for way in sums if way[2] is not None}
        found: dict[Way, SentMessages] = {}
        for (here, there, between), one in sums.items():
            back = chosen.get((there, here)) if between is None else None
            way = here, there, between if back is None else back[::-1]
            whole = found.setdefault(way, SentMessages())
            whole.messages += one.messages
            whole.bytes += one.bytes
            whole.rate += one.rate
        return [
            {"from": way[0], "to": way[1], "route": self._route(way[2]), "messages": one.messages,
             "bytes": one.bytes, "rate": round(one.rate)}
            for way, one in found.items()
            if one.messages and way[0] != way[1]
        ]  # fmt: skip

    def _route(self, between: tuple[str, ...] | None) -> str:
        if between is None:
            return "chosen by the receiver"
        return route_words(between, self._called)


def _core_hours(summary: Summary) -> float:
    seconds = (one.seconds or 0.0 for row in summary.clusters for one in row.ranks)
    return round(sum(seconds) / 3600, 6)


def _table(table: Table) -> Plain:
    return {"heading": table.heading, "rows": table.rows, "numbers": sorted(table.numbers)}
