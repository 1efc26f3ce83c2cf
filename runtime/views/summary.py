"""The summary of a run, as values: what ran where, how long, how it ended, what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, field

from gcm.cli.output import Paint, counted
from gcm.records import dataclass
from runtime.checks import FaultFound
from runtime.lifecycle.outcome import (
    ComponentReport,
    Connections,
    FirstCause,
    HeldNodes,
    Results,
    RouteTraffic,
    TunnelTraffic,
)
from runtime.shown_text import shown_table
from runtime.views.call_times import RankTimes, where_time_went

MOST_CLUSTERS = 24
"""How many clusters are listed one by one; those that failed always are."""

MOST_COMPONENTS = 24
"""How many components are listed one by one."""


@dataclass(frozen=True, slots=True)
class RankRow:
    """One rank: where it ran, with which MPI, for how long; `code` is None if it was stopped.

    `signal` is the name of the one that ended it, "" for none. `number` is its rank in COMM_WORLD,
    of which this is a `replica`; `name` is how messages call it.
    """

    rank: str
    host: str
    pid: int | None
    mpi: str
    seconds: float | None
    code: int | None
    signal: str = ""
    number: int | None = None
    replica: int = 0
    name: str = ""
    is_missing: bool = False
    """Whether its cluster waits in a queue, or did so until the end."""
    memory: int = 0
    cpu: float = 0.0
    """The bytes that it had at most, and its seconds of processor time; 0 if nobody has looked."""
    in_mpi: float | None = None
    waiting: float | None = None
    """The seconds that it was in MPI, and of these waiting for others; None if nobody counts."""

    @property
    def times(self) -> RankTimes | None:
        """Where its time went, if its calls were counted."""
        if self.in_mpi is None or self.seconds is None:
            return None
        return RankTimes(self.rank, self.seconds, self.in_mpi, self.waiting)


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster with its ranks."""

    cluster: str
    name: str
    application: str
    ranks: tuple[RankRow, ...]

    @property
    def failed(self) -> bool:
        """Return whether a rank is known to have failed."""
        return any(rank.code for rank in self.ranks)


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole run; `startup` is None when the application never ran, `code` before the end."""

    name: str
    code: int | None
    seconds: float
    startup: float | None
    clusters: tuple[ClusterRow, ...]
    traffic: tuple[RouteTraffic, ...]
    errors: tuple[str, ...]
    components: tuple[ComponentReport, ...] = ()
    connections: Connections = field(default_factory=Connections)
    results: tuple[Results, ...] = ()
    first_cause: FirstCause | None = None
    replicas: Mapping[str, int] = field(default_factory=dict)
    """How many processes each rank of an application is, where these are several."""
    held: tuple[HeldNodes, ...] = ()
    faults: tuple[FaultFound, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return plain values, ready for JSON."""
        cause = self.first_cause
        return asdict(self) | {"first_cause": None if cause is None else cause.as_dict()}


def as_json(summary: Summary) -> str:
    """Return a summary for programs: one line, to tell it from the output of the application."""
    return json.dumps(summary.as_dict(), ensure_ascii=False) + "\n"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts below a heading; the columns of `numbers` are aligned to the right."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int]


def headline(summary: Summary) -> str:
    """Return a summary in one sentence."""
    known = summary.replicas
    ranks = sum(len(one.ranks) / known.get(one.application, 1) for one in summary.clusters)
    copies = f" with {max(known.values())} replicas each" if known else ""
    where = counted(len(summary.clusters), "cluster")
    what = f"{counted(round(ranks), 'rank')}{copies} in {where}"
    if summary.components:
        nodes = len({one.node for one in summary.components})
        placed = f"{counted(len(summary.components), 'component')} on {counted(nodes, 'node')}"
        what = f"{what}, {placed}" if ranks else placed
    if summary.code is None:
        return f"{summary.name}: {what}; nothing is known after {summary.seconds:.1f} s"
    if summary.startup is None:
        return f"{summary.name}: did not run; ended after {summary.seconds:.1f} s"
    times = f"{summary.seconds:.1f} s, of which {summary.startup:.1f} s to start"
    return f"{summary.name}: exit code {summary.code}; {what}; {times}"


def where_time(summary: Summary) -> str:
    """Return where the time of all ranks went, in a sentence; "" if nobody counted their calls."""
    times = [rank.times for one in summary.clusters for rank in one.ranks]
    return where_time_went([one for one in times if one is not None])


def tables(summary: Summary, *, is_whole: bool = True) -> Iterator[Table]:
    """Yield what ran where, what came home, and if it `is_whole` what was sent."""
    if summary.startup is not None and summary.clusters:
        yield _clusters_table(summary)
    if summary.startup is not None and summary.components:
        listed = summary.components[:MOST_COMPONENTS]
        rows = [(one.path, one.node, one.host, str(one.pid)) for one in listed]
        if left := len(summary.components) - len(listed):
            rows.append((f"{left} more", "", "", ""))
        yield Table(("component", "node", "runs on", "process"), tuple(rows), frozenset({3}))
    if any(one.files or one.others or one.kept for one in summary.results):
        yield _results_table(summary.results)
    if summary.held:
        yield _held_table(summary.held)
    if not is_whole:
        return
    if summary.startup is not None and any(one.memory for one in _all_ranks(summary)):
        yield _ranks_table(summary)
    if summary.traffic:
        sent = map(_traffic_row, _bounded(summary.traffic))
        heading = ("route", "messages", "bytes sent", "bytes received")
        yield Table(heading, tuple(sent), frozenset({1, 2, 3}))
    if summary.connections.tries:
        one = summary.connections
        names = ("tries", "failures", "hits", "misses", "evictions", "resumptions", "lanes")
        row = ("between ranks", *(f"{getattr(one, name):,}" for name in names))
        yield Table(("connections", *names), (row,), frozenset(range(1, 8)))
    if tunnels := summary.connections.tunnels:
        yield Table(
            ("tunnel over this machine", "connections", "bytes there", "bytes back", "round trip"),
            tuple(map(_tunnel_row, tunnels[:MOST_CLUSTERS])),
            frozenset({1, 2, 3, 4}),
        )


def as_text(
    summary: Summary,
    paint: Paint = Paint(enabled=False),  # noqa: B008
    width: int = 0,
    *,
    is_whole: bool = True,
) -> str:
    """Return headline and tables as text, for a terminal of `width` columns; 0 is any width."""
    head = paint(headline(summary), "bold", "red" if summary.code else "green")
    times = where_time(summary)
    shown = (
        shown_table(one.heading, one.rows, numbers=one.numbers, width=width)
        for one in tables(summary, is_whole=is_whole)
    )
    return "\n".join([f"{head}\n{times}\n" if times else f"{head}\n", *shown])


def _all_ranks(summary: Summary) -> list[RankRow]:
    return [rank for one in summary.clusters for rank in one.ranks]


def _clusters_table(summary: Summary) -> Table:
    """Return what ran where, with where the time of its ranks went if that is known."""
    has_times = any(one.times is not None for one in _all_ranks(summary))
    more = ("computing", "waiting", "other MPI") if has_times else ()
    return Table(
        ("cluster", "name", "runs on", "application", "ranks", "seconds", *more, "exit codes"),
        tuple(_rows(summary, has_times=has_times)),
        frozenset(range(4, 6 + len(more))),
    )


def _ranks_table(summary: Summary) -> Table:
    """Return how much memory and processor time ranks have used, those with most memory first."""
    used = sorted((one for one in _all_ranks(summary) if one.memory), key=lambda one: -one.memory)
    rows = [
        (
            one.name or one.rank,
            one.host,
            *_shares([one]),
            in_megabytes(one.memory),
            f"{one.cpu:.1f}",
        )
        for one in used[:MOST_CLUSTERS]
    ]
    if left := len(used) - len(rows):
        rows.append((f"{left} more", "", "", "", "", "", ""))
    heading = ("rank", "host", "computing", "waiting", "other MPI", "memory", "processor s")
    return Table(heading, tuple(rows), frozenset(range(2, 7)))


def in_megabytes(size: int) -> str:
    """Return a number of bytes as people compare the memory of processes."""
    return f"{size / 1e6:,.0f} MB"


def _shares(ranks: Sequence[RankRow]) -> tuple[str, str, str]:
    """Return which parts of the time of ranks were computing, waiting, and other MPI."""
    times = [one.times for one in ranks if one.times is not None]
    whole = sum(one.seconds for one in times)
    if not whole:
        return "-", "-", "-"
    waiting = sum(one.waiting or 0.0 for one in times)
    parts = sum(one.computing for one in times), waiting, sum(one.in_mpi for one in times) - waiting
    computing, waited, other = (f"{one / whole:.0%}" for one in parts)
    return computing, waited, other


def _rows(summary: Summary, *, has_times: bool = False) -> Iterator[tuple[str, ...]]:
    clusters, unknown = summary.clusters, "-" if summary.code is None else "stopped"
    listed = [one for number, one in enumerate(clusters) if number < MOST_CLUSTERS or one.failed]
    for one in listed:
        hosts = list(dict.fromkeys(rank.host for rank in one.ranks))
        longest = max(
            (rank.seconds for rank in one.ranks if rank.seconds is not None), default=None
        )
        yield (
            one.cluster,
            one.name,
            _some(hosts),
            one.application,
            str(len(one.ranks)),
            "-" if longest is None else f"{longest:.1f}",
            *(_shares(one.ranks) if has_times else ()),
            _codes(one.ranks, unknown),
        )
    if left := len(clusters) - len(listed):
        more = [""] * (8 if has_times else 5)
        yield ("", f"and {left} more, none of which failed", *more)


def _results_table(results: tuple[Results, ...]) -> Table:
    """Return what came home; what a descriptor lets be discarded has a column where that is so."""
    columns = 5 if any(one.others and one.kept is None for one in results) else 4
    rows = [_results_row(one)[:columns] for one in results[:MOST_CLUSTERS]]
    if left := len(results) - len(rows):
        rows.append((f"and {left} more", *[""] * (columns - 1)))
    heading = ("results of", "files", "bytes", "came to", "files discarded")
    return Table(heading[:columns], tuple(rows), frozenset({1, 2, 4}) & set(range(columns)))


def _results_row(one: Results) -> tuple[str, ...]:
    folders, discarded = ", ".join(one.folders) or "-", f"{one.others:,}"
    if one.kept is not None:
        folders, discarded = f"kept in {one.kept.where}", "0"
    return (one.cluster, f"{one.files:,}", f"{one.bytes:,}", folders, discarded)


def _held_table(held: tuple[HeldNodes, ...]) -> Table:
    """Return what each site counts: the cores of its jobs times how long these held them."""
    sites: dict[str, list[HeldNodes]] = {}
    for one in held:
        sites.setdefault(one.cluster.partition("/")[0], []).append(one)
    rows = [
        (
            site,
            ", ".join(one.job for one in jobs),
            str(sum(one.nodes for one in {one.cluster: one for one in jobs}.values())),
            str(sum(one.cores for one in {one.cluster: one for one in jobs}.values())),
            f"{max(one.seconds for one in jobs):.1f}",
            f"{sum(one.core_hours for one in jobs):.3f}",
            f"{sum(one.idle_core_hours for one in jobs):.3f}",
        )
        for site, jobs in sites.items()
    ]
    heading = ("nodes of", "jobs", "nodes", "cores", "seconds", "core-hours", "idle")
    return Table(heading, tuple(rows), frozenset({2, 3, 4, 5, 6}))


def _traffic_row(one: RouteTraffic) -> tuple[str, ...]:
    return (one.route, f"{one.messages:,}", f"{one.sent:,}", f"{one.received:,}")


def _tunnel_row(one: TunnelTraffic) -> tuple[str, ...]:
    return (
        f"{one.first} - {one.second}",
        f"{one.connections:,}",
        f"{one.sent:,}",
        f"{one.received:,}",
        "-" if one.round_trip is None else f"{1000 * one.round_trip:.1f} ms",
    )


def _bounded(traffic: tuple[RouteTraffic, ...]) -> Iterator[RouteTraffic]:
    """Yield the first ones, and the rest as one sum."""
    yield from traffic[:MOST_CLUSTERS]
    if rest := traffic[MOST_CLUSTERS:]:
        yield RouteTraffic(
            f"{len(rest)} more",
            sum(one.messages for one in rest),
            sum(one.sent for one in rest),
            sum(one.received for one in rest),
        )


def _codes(ranks: tuple[RankRow, ...], unknown: str) -> str:
    """Return the one exit code of all, or each code other than 0 with its ranks."""
    by_code: dict[str, list[str]] = {}
    for rank in ranks:
        missing = "never there" if rank.is_missing else unknown
        code = missing if rank.code is None else rank.signal or str(rank.code)
        by_code.setdefault(code, []).append(_brief(rank))
    if len(by_code) == 1:
        return next(iter(by_code))
    return ", ".join(f"{code} ({_some(who)})" for code, who in by_code.items() if code != "0")


def _brief(rank: RankRow) -> str:
    """Return how a rank is called in the row of its cluster."""
    replica = f", replica {rank.replica}" if rank.replica else ""
    return rank.rank if rank.number is None else f"rank {rank.number}{replica}"


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
