"""The trace of a run: a fold, whose events are those of Chrome's format, for Perfetto.

A cluster is a process of the trace, with a row for its front-end and one for each rank. Slices are
the calls of ranks, collectives with their plan, and the states of clusters; arrows lead from a send
to its receive, and what happens to a rank or to the run is a mark. Times are those of the launcher,
in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from math import isfinite
from typing import Any

from gcm.records import dataclass
from runtime.lifecycle.exchanged import route_words
from runtime.machine.deaths import BY_REQUEST, RankDeath
from runtime.matching.traced import (
    COLLECTIVE,
    NO_COMMUNICATOR,
    POST,
    RECEIVE,
    RECEIVED,
    SEND,
    SENT,
    UNKNOWN,
    MessageEnd,
    TracedRow,
    joined,
    rows_of,
)
from runtime.rank_name import RankName
from runtime.topology import RankNames
from runtime.views.facts import (
    CallsTraced,
    Fact,
    MessagesCounted,
    PlannedCluster,
    RankStarted,
    RunEnded,
    RunPlanned,
    StateChanged,
    TracedCommunicator,
    WaitExplained,
)

INSIDE = 0.2
"""So many microseconds before the end of a slice an arrow ends: it belongs to the slice there."""

_SCALE = 1e6
_PEERS = {SEND: "dest", RECEIVE: "source", POST: "source"}
"""What the other rank of a call is; that of a collective is its root."""

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Piece:
    """What a rank has told of its calls."""

    rank: str
    traced: CallsTraced


class Trace:
    """Makes the trace of a run; `take` is the only way in."""

    def __init__(self) -> None:
        self._clusters: dict[str, PlannedCluster] = {}
        self._processes: dict[str, int] = {}
        self._names = RankNames()
        self._states: list[tuple[float, str, StateChanged]] = []
        self._marks: list[tuple[float, str, str, Event]] = []
        self._starts: set[str] = set()
        self._pieces: list[_Piece] = []
        self._routes: dict[tuple[str, str], tuple[str, ...]] = {}
        self._time = 0.0

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        self._time = max(self._time, fact.time)
        match fact.record:
            case RunPlanned() as planned:
                self._clusters, self._names = planned.clusters(), planned.names()
                self._processes = {name: at for at, name in enumerate(self._clusters, 1)}
            case StateChanged() as changed if fact.name in self._clusters:
                self._states.append((fact.time, fact.name, changed))
            case RankStarted(host, pid):
                if fact.name in self._starts:
                    self._mark(fact, "started again", {"host": host, "process": pid})
                self._starts.add(fact.name)
            case RankDeath() as death if death.code and death.after != BY_REQUEST:
                self._mark(fact, "lost" if death.observed.is_loss else "failed", {"how": death.how})
            case WaitExplained(kind, _, _, text):
                self._mark(fact, f"wait: {kind}", {"text": text})
            case MessagesCounted(to, between) if between is not None:
                self._routes[fact.name, to] = between
            case CallsTraced() as traced if self._is_rank(fact.name):
                self._pieces.append(_Piece(fact.name, traced))
            case RunEnded(code, errors):
                self._mark(fact, f"exit code {code}", {"errors": list(errors)})

    def _mark(self, fact: Fact, what: str, args: Event) -> None:
        self._marks.append((fact.time, fact.name, what, args))

    def lines(self) -> Iterator[bytes]:
        """Yield the document in Chrome's format, one event in a line."""
        head = json.dumps({"displayTimeUnit": "ms", "otherData": self._other()})
        yield head[:-1].encode() + b', "traceEvents": [\n'
        before = b""
        for event in self.events():
            yield before + json.dumps(event, separators=(",", ":")).encode()
            before = b",\n"
        yield b"\n]}\n"

    def _other(self) -> Event:
        """Return how exact the times are, and what is missing."""
        errors: dict[str, float | None] = {}
        for one in self._pieces:
            errors[self._names.name(one.rank)] = one.traced.error
        dropped = {self._names.name(one.rank): one.traced.dropped for one in self._pieces}
        return {
            "made by": "gcm-deploy --trace",
            "clocks": "those of other hosts may be wrong by these seconds; null: nobody knows",
            "error of clocks": {rank: error for rank, error in errors.items() if error != 0.0},
            "older calls that were dropped": {rank: n for rank, n in dropped.items() if n},
        }

    def events(self) -> Iterator[Event]:
        """Yield the events as Chrome's format has them: rows first, and both ends of a message."""
        yield from self._rows_in_words()
        yield from self._states_of_clusters()
        for time, name, what, args in self._marks:
            # one of the whole run has no name in Perfetto: the first front-end tells it
            yield self._event(name, time, ph="i", name=what, cat="run", s="t", args=args)
        sends: list[MessageEnd] = []
        receives: list[MessageEnd] = []
        for piece in self._pieces:
            for row in rows_of(piece.traced.rows):
                if not (isfinite(row.begun) and isfinite(row.ended)):
                    continue  # no rank of ours tells that
                yield from self._slice(piece, row)
                end, is_send = self._end(piece, row)
                if end is not None:
                    (sends if is_send else receives).append(end)
        cut = {one.rank for one in self._pieces if one.traced.dropped}
        for number, (sent, received) in enumerate(joined(sends, receives, cut), 1):
            yield from self._arrow(number, sent, received)

    def _rows_in_words(self) -> Iterator[Event]:
        for name, cluster in self._clusters.items():
            number = self._processes[name]
            words = f"{cluster.known.path} ({cluster.application})"
            yield _named("process_name", number, 0, words)
            yield {"ph": "M", "name": "process_sort_index", "pid": number, "tid": 0,
                   "args": {"sort_index": number}}  # fmt: skip
            yield _named("thread_name", number, number, "front-end")
            for place in range(len(cluster.hosts)):
                rank = f"{name}:{place}"
                words = f"rank {self._names.number(rank)}"
                if replica := self._names.replica(rank):
                    words += f", replica {replica}"
                yield _named("thread_name", number, _row_of(number, place), words)

    def _states_of_clusters(self) -> Iterator[Event]:
        by_cluster = sorted(self._states, key=lambda one: (one[1], one[0]))
        for name, those in groupby(by_cluster, key=lambda one: one[1]):
            states = list(those)
            ends = [time for time, _, _ in states[1:]] + [self._time]
            for (time, _, changed), end in zip(states, ends, strict=True):
                args = {"detail": changed.detail} if changed.detail else {}
                yield self._event(
                    name, time, ph="X", dur=_microseconds(end - time), name=changed.state,
                    cat="state", args=args,
                )  # fmt: skip

    def _slice(self, piece: _Piece, row: TracedRow) -> Iterator[Event]:
        """Yield the slice of a call; a message that is complete is none."""
        name, kind = _call(piece.traced, row)
        if kind in ("", SENT, RECEIVED):
            return
        comm = _communicator(piece.traced, row)
        args: Event = {} if comm is None else {"communicator": comm.name}
        if row.peer != UNKNOWN:
            args[_PEERS.get(kind, "root")] = row.peer
        if kind == COLLECTIVE and 0 <= row.tag < len(piece.traced.plans):
            args["plan"] = piece.traced.plans[row.tag]
        elif row.tag != UNKNOWN:
            args["tag"] = row.tag
        if row.bytes != UNKNOWN:
            args["bytes"] = row.bytes
        yield self._event(
            piece.rank, piece.traced.begun + row.begun, ph="X",
            dur=_microseconds(row.ended - row.begun), name=name, cat=kind, args=args,
        )  # fmt: skip

    def _end(self, piece: _Piece, row: TracedRow) -> tuple[MessageEnd | None, bool]:
        """Return the end of a message that a row has, and whether it is the first one."""
        _, kind = _call(piece.traced, row)
        comm = _communicator(piece.traced, row)
        is_send = kind in (SEND, SENT)
        if comm is None or not (is_send or kind in (RECEIVE, RECEIVED)):
            return None, is_send
        if not (0 <= row.peer < len(comm.members) and self._is_rank(comm.members[row.peer])):
            return None, is_send
        other, begun = comm.members[row.peer], piece.traced.begun
        ends = (piece.rank, other) if is_send else (other, piece.rank)
        end = MessageEnd(*ends, comm.key, row.tag, begun + row.begun, begun + row.ended, row.bytes)
        return end, is_send

    def _arrow(self, number: int, sent: MessageEnd, received: MessageEnd) -> Iterator[Event]:
        route = self._route(sent.sender, sent.receiver)
        args: Event = {"route": route, "tag": sent.tag}
        if (size := received.bytes if sent.bytes == UNKNOWN else sent.bytes) != UNKNOWN:
            args["bytes"] = size
        args["from"], args["to"] = map(self._names.name, (sent.sender, sent.receiver))
        common = {"id": number, "name": "message", "cat": "message", "args": args}
        yield self._event(sent.sender, sent.posted, ph="s", **common)
        end = self._event(received.receiver, received.at, ph="f", bp="e", **common)
        yield end | {"ts": round(end["ts"] - INSIDE, 3)}

    def _route(self, sender: str, receiver: str) -> str:
        here, there = RankName.parse(sender).cluster, RankName.parse(receiver).cluster
        if here == there:
            return "native MPI"
        between = self._known_route(sender, receiver)
        if between is None:
            back = self._known_route(receiver, sender)
            between = None if back is None else back[::-1]
        if between is None:
            return "between clusters"
        return route_words(between, self._names.name)

    def _known_route(self, sender: str, receiver: str) -> tuple[str, ...] | None:
        cluster = RankName.parse(receiver).cluster
        exact = self._routes.get((sender, receiver))
        return self._routes.get((sender, cluster)) if exact is None else exact

    def _is_rank(self, name: str) -> bool:
        rank = RankName.find(name)
        return rank is not None and rank.cluster in self._processes

    def _event(self, who: str, time: float, **fields: Any) -> Event:
        """Return an event in the row of a rank, of a cluster, or, for the whole run, the first."""
        process = row = self._processes.get(who, 1)
        rank = RankName.find(who)
        if rank is not None and rank.cluster in self._processes:
            process = self._processes[rank.cluster]
            row = _row_of(process, rank.rank)
        return {"pid": process, "tid": row, "ts": round(time * _SCALE, 3), **fields}


def _row_of(process: int, place: int) -> int:
    """Return the number of the row of a rank.

    The row with the number of its process is the first, as the main thread: that of the front-end.
    """
    return process + 1 + place


def _microseconds(seconds: float) -> float:
    return round(max(0.0, seconds) * _SCALE, 3)


def _call(traced: CallsTraced, row: TracedRow) -> tuple[str, str]:
    return traced.calls[row.call] if row.call < len(traced.calls) else ("", "")


def _communicator(traced: CallsTraced, row: TracedRow) -> TracedCommunicator | None:
    known = traced.communicators
    return known[row.communicator] if row.communicator < min(len(known), NO_COMMUNICATOR) else None


def _named(kind: str, process: int, row: int, name: str) -> Event:
    return {"ph": "M", "name": kind, "pid": process, "tid": row, "args": {"name": name}}
