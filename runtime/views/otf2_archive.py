"""The events of a trace as an OTF2 archive, for Vampir, Cube and other tools of performance.

The package `otf2` writes it, and is loaded for that alone. Each cluster is a node of the system
tree, each rank a process of it with one location, each front-end a process too. Calls, states and
marks are regions, their details attributes of the entry; messages are those of MPI, over all ranks
of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from gcm.records import dataclass
from runtime.matching.traced import COLLECTIVE, POST, RECEIVE, SEND, WAIT

_RESOLUTION = 10**9
_NANOSECONDS = 1000
"""In a microsecond, in which the times of a trace are."""

_ROLES = {COLLECTIVE: "COLL_OTHER"} | dict.fromkeys((SEND, RECEIVE, POST, WAIT), "POINT2POINT")

Event = dict[str, Any]
Row = tuple[int, int]
"""The process and the row of an event: a location."""


@dataclass(slots=True)
class _Span:
    """A region from its begin to its end, or, without an end, a message."""

    begin: int
    end: int | None
    event: Event


def write_archive(events: Iterable[Event], folder: str) -> None:
    """Write `traces.otf2`, and what belongs to it, into a new folder.

    Raises:
        ImportError: the package otf2 is not there.
    """
    otf2: Any = import_module("otf2")
    clusters: dict[int, str] = {}
    rows: dict[Row, str] = {}
    spans: dict[Row, list[_Span]] = defaultdict(list)
    messages: dict[int, list[Row]] = defaultdict(list)
    for one in events:
        row, begin = (one["pid"], one["tid"]), round(one.get("ts", 0) * _NANOSECONDS)
        match one["ph"]:
            case "M" if one["name"] == "process_name":
                clusters[one["pid"]] = one["args"]["name"]
            case "M" if one["name"] == "thread_name":
                rows[row] = one["args"]["name"]
            case "X" | "i":
                end = begin + round(one.get("dur", 0) * _NANOSECONDS)
                spans[row].append(_Span(begin, end, one))
            case "s" | "f":
                spans[row].append(_Span(begin, None, one))
                messages[one["id"]].append(row)
    first = min((one.begin for several in spans.values() for one in several), default=0)
    with otf2.writer.open(folder, timer_resolution=_RESOLUTION) as archive:
        _Archive(otf2, archive, messages, first).write(clusters, rows, spans)


class _Archive:
    """What is defined in an archive, each once. Times begin with the first one."""

    def __init__(self, otf2: Any, archive: Any, messages: dict[int, list[Row]], first: int) -> None:
        self._otf2 = otf2
        self._archive = archive
        self._messages = messages
        self._first = first
        self._regions: dict[tuple[str, str], Any] = {}
        self._attributes: dict[str, Any] = {}

    def write(
        self, clusters: dict[int, str], rows: dict[Row, str], spans: dict[Row, list[_Span]]
    ) -> None:
        define, enums = self._archive.definitions, self._otf2
        run = define.system_tree_node("run", class_name="machine")
        nodes = {
            number: define.system_tree_node(name, class_name="cluster", parent=run)
            for number, name in clusters.items()
        }
        places = {
            row: define.location(
                name, group=define.location_group(name, system_tree_parent=nodes[row[0]])
            )
            for row, name in rows.items()
        }
        ranks = [row for row, name in rows.items() if name.startswith("rank ")]
        mpi = enums.Paradigm.MPI
        define.group(
            "ranks", group_type=enums.GroupType.COMM_LOCATIONS, paradigm=mpi,
            members=[places[row] for row in ranks],
        )  # fmt: skip
        everybody = define.group(
            "all ranks", group_type=enums.GroupType.COMM_GROUP, paradigm=mpi,
            members=range(len(ranks)),
        )  # fmt: skip
        comm = define.comm("all ranks", group=everybody)
        numbers = {row: number for number, row in enumerate(ranks)}
        for row, place in places.items():
            writer = self._archive.event_writer_from_location(place)
            for time, step, event in _in_order(spans[row]):
                self._write(writer, time - self._first, step, event, numbers=numbers, comm=comm)

    def _write(
        self, writer: Any, time: int, step: str, event: Event, *, numbers: dict[Row, int], comm: Any
    ) -> None:
        if step == "enter":
            writer.enter(time, self._region(event), self._details(event["args"]))
        elif step == "leave":
            writer.leave(time, self._region(event))
        else:
            sender, receiver = (numbers[row] for row in self._messages[event["id"]])
            tag, size = event["args"]["tag"], event["args"].get("bytes", 0)
            if step == "s":
                writer.mpi_send(time, receiver, comm, tag, size)
            else:
                writer.mpi_recv(time, sender, comm, tag, size)

    def _region(self, event: Event) -> Any:
        kind = event["name"], event["cat"]
        if kind not in self._regions:
            role = _ROLES.get(event["cat"])
            roles, paradigms = self._otf2.RegionRole, self._otf2.Paradigm
            self._regions[kind] = self._archive.definitions.region(
                event["name"],
                region_role=getattr(roles, role) if role else roles.FUNCTION,
                paradigm=paradigms.MPI if role else paradigms.USER,
            )
        return self._regions[kind]

    def _details(self, args: Event) -> dict[Any, str]:
        for name in args.keys() - self._attributes.keys():
            self._attributes[name] = self._archive.definitions.attribute(
                name, type=self._otf2.Type.STRING
            )
        return {self._attributes[name]: str(value) for name, value in args.items()}


def _in_order(spans: Iterable[_Span]) -> Iterator[tuple[int, str, Event]]:
    """Yield what happens in a row: enter, leave, or the kind of a message, each in the other.

    Calls of several threads of a rank share its row; one that outlasts the call in which it seems
    to have begun ends with it.
    """
    inside: list[_Span] = []
    for span in sorted(spans, key=lambda one: (one.begin, one.end is None, -(one.end or 0))):
        while inside and (inside[-1].end or 0) + (span.end is None) <= span.begin:
            over = inside.pop()
            yield over.end or 0, "leave", over.event
        if span.end is None:
            yield span.begin, span.event["ph"], span.event
        else:
            span.end = min([span.end, *(one.end or 0 for one in inside[-1:])])
            inside.append(span)
            yield span.begin, "enter", span.event
    for over in reversed(inside):
        yield over.end or 0, "leave", over.event
