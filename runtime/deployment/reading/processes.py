"""Reads the helper processes of a descriptor, and the order in which things start."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from gcm.documents import CheckedElement, Location, did_you_mean
from runtime.deployment.context import Reading, distinct
from runtime.deployment.extent import MachineAmount
from runtime.deployment.model import ASSEMBLY, Application, HelperProcess, ProcessKind
from runtime.deployment.reading.program import read_arguments, read_environment


def read_processes(root: CheckedElement, reading: Reading) -> tuple[HelperProcess, ...]:
    """Return the helper processes."""
    found = tuple(_process(entry, reading) for entry in root.each("process"))
    distinct(reading, "process", ((one.name, one.location) for one in found if one.name))
    return found


def _process(entry: CheckedElement, reading: Reading) -> HelperProcess:
    _check_attributes(entry, entry["kind"], reading)
    number = entry["number"]
    parts = number * max(1, len(entry["hosts"]))
    process: HelperProcess = entry.record(
        reading,
        arguments=read_arguments(entry),
        environment=read_environment(entry, reading),
        number=number if reading.extent.grow(MachineAmount.PARTS, parts, entry.location) else 1,
        folder=_folder(entry, reading),
    )
    return process


def _folder(entry: CheckedElement, reading: Reading) -> str:
    """Return where a helper is started; empty for the home folder of another machine."""
    written: str = entry["folder"]
    if entry["kind"] is not ProcessKind.LOCAL or entry.has("on"):
        return written
    return reading.path(written) or reading.context.folder


def _check_attributes(entry: CheckedElement, kind: ProcessKind, reading: Reading) -> None:
    name = entry["id"]
    useless: dict[ProcessKind, tuple[str, ...]] = {
        ProcessKind.LOCAL: ("hosts", "command-path", "options"),
        ProcessKind.SSH: ("on",),
        ProcessKind.MPI: ("hosts",),
    }
    for attribute in useless[kind]:
        if entry.has(attribute):
            reading.fault(
                "useless-attribute",
                f"'{attribute}' has no meaning for process '{name}' of kind {kind}",
                entry.location,
                hint="remove it, or choose another kind",
            )
    if kind is not ProcessKind.SSH and entry.only("ssh"):
        reading.fault(
            "useless-element",
            f"<ssh> has no meaning for process '{name}' of kind {kind}",
            entry.location,
            hint='remove it, or write kind="ssh"',
        )
    needed = {ProcessKind.SSH: "hosts", ProcessKind.MPI: "on"}.get(kind)
    if needed and not entry.has(needed) and not entry.incomplete:
        reading.fault(
            "incomplete-process",
            f"process '{name}' of kind {kind} needs the attribute '{needed}'",
            entry.location,
        )
    if entry["ready"] and entry.has("ready-line"):
        reading.fault(
            "useless-attribute",
            f"process '{name}' cannot be ready by a line and by its end",
            entry.location,
            hint='keep either ready-line or ready="finished"',
        )


def read_dependencies(
    root: CheckedElement,
    applications: Sequence[Application],
    processes: Sequence[HelperProcess],
    reading: Reading,
) -> dict[str, tuple[str, ...]]:
    """Return what has to be up before each member of the dependent sequences."""
    known = [one.name for one in applications]
    _check_shared_names(applications, processes, reading)
    known += [one.name for one in processes]
    if root.only("assembly"):
        known.append(ASSEMBLY)
    graph: dict[str, list[str]] = {}
    for sequence in root.each("dependent-sequence"):
        members = [_member(entry, known, reading) for entry in sequence.each("process-reference")]
        for before, after in pairwise(members):
            if before and after and before not in graph.setdefault(after, []):
                graph[after].append(before)
    _report_cycles(graph, root, reading)
    return {name: tuple(before) for name, before in graph.items()}


def _check_shared_names(
    applications: Sequence[Application], processes: Sequence[HelperProcess], reading: Reading
) -> None:
    taken = {one.name for one in applications}
    named = [(one.name, one.location) for one in applications if one.name == ASSEMBLY]
    named += [
        (one.name, one.location) for one in processes if one.name in taken or one.name == ASSEMBLY
    ]
    for name, location in named:
        reading.fault(
            "duplicate-name",
            f"the name '{name}' is taken",
            location,
            hint="applications, processes and 'assembly' share one set of names",
        )


def _member(entry: CheckedElement, known: Sequence[str], reading: Reading) -> str:
    name: str = entry["refid"]
    if name and name not in known:
        reading.fault(
            "unknown-reference",
            f"there is no process, application or assembly '{name}'",
            entry.location,
            hint=did_you_mean(name, known) or f"there are: {', '.join(known) or 'none'}",
        )
        return ""
    return name


def _report_cycles(graph: dict[str, list[str]], root: CheckedElement, reading: Reading) -> None:
    left = {name: list(before) for name, before in graph.items()}
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            circle: list[str] = error.args[1]
        else:
            return
        reading.fault(
            "cyclic-dependency",
            "a circle of dependencies: " + " before ".join(f"'{name}'" for name in circle),
            _place_of(circle, root),
            hint="none of them could ever start; take one out of its sequence",
        )
        left[circle[1]].remove(circle[0])


def _place_of(circle: list[str], root: CheckedElement) -> Location:
    """Return the last sequence that orders two neighbours of a cycle: the one that closed it."""
    steps = set(pairwise(circle))
    place = root.location
    for sequence in root.each("dependent-sequence"):
        names = [entry["refid"] for entry in sequence.each("process-reference")]
        if steps.intersection(pairwise(names)):
            place = sequence.location
    return place
