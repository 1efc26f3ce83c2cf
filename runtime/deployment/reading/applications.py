"""Reads what a descriptor runs: applications, the assembly with its virtual nodes."""

from __future__ import annotations

from gcm.documents import Severity, did_you_mean
from runtime.deployment.environment import travelling
from runtime.deployment.model import (
    Application,
    CommWorld,
    FailureMode,
    PlacedAssembly,
    ProgramKind,
    VirtualNode,
)
from runtime.deployment.reading.environment import read_environment
from runtime.deployment.reading.places import Places
from runtime.deployment.reading.program import read_program
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading, distinct
from runtime.web_address import is_web_address

_RECOVERIES = ("shrink", "blank", "rebuild")
"""The failure modes in which a program continues."""


def read_applications(
    root: CheckedElement, places: Places, reading: Reading
) -> tuple[Application, ...]:
    """Return the applications, each with the clusters it runs on."""
    entries = list(root.each("application"))
    found = [_application(entry, len(entries) == 1, places, reading) for entry in entries]
    distinct(reading, "application", ((one.name, one.location) for one in found))
    return tuple(found)


def read_arguments(entry: CheckedElement) -> tuple[str, ...]:
    """Return the words of `arguments`, then the <argument> elements."""
    return (*entry.words("arguments"), *(child.text("value") for child in entry.each("argument")))


def _application(
    entry: CheckedElement, alone: bool, places: Places, reading: Reading
) -> Application:
    name = entry.text("name")
    kind, path, folder = read_program(entry, name, reading)
    if entry.has("clusters"):
        clusters = places.clusters(entry.names("clusters"), entry.location)
    else:
        clusters = places.everywhere()
        if not alone and not entry.incomplete:
            reading.fault(
                "unmapped-application",
                f"application '{name}' does not say where it runs",
                entry.location,
                hint='with several applications each needs clusters="site/cluster ..."',
            )
        if not alone:
            clusters = ()
    return Application(
        name=name,
        kind=kind,
        path=path,
        folder=folder,
        arguments=read_arguments(entry),
        environment=read_environment(entry, reading),
        clusters=clusters,
        comm_world=_comm_world(entry, kind, name, reading),
        staged=entry.text("stage") != "no" and not is_web_address(entry.text("script")),
        stage_limit=entry.number("stage-limit") or 0,
        location=entry.location,
        travelling=travelling(reading.surroundings.environment),
        failures=_failures(entry, kind, name, reading),
        replicas=entry.number("replicas") or 1,
        restart=entry.text("restart") == "yes",
        recovery=_recovery(entry),
        recovery_messages=_recovery_messages(entry, name, reading),
    )


def _comm_world(entry: CheckedElement, kind: ProgramKind, name: str, reading: Reading) -> CommWorld:
    if kind is not ProgramKind.EXECUTABLE:
        return CommWorld(entry.text("comm-world"))
    if entry.has("comm-world") and entry.text("comm-world") == CommWorld.GRID:
        reading.fault(
            "native-world",
            f"COMM_WORLD of the native application '{name}' cannot be the grid",
            entry.location,
            hint='leave out comm-world="grid"; only Python programs see the grid as one MPI',
        )
    return CommWorld.CLUSTER


def _failures(entry: CheckedElement, kind: ProgramKind, name: str, reading: Reading) -> FailureMode:
    mode = FailureMode(entry.text("failures"))
    recovery = entry.text("recovery")
    if recovery in _RECOVERIES:
        if entry.has("failures") and mode is FailureMode.ABORT:
            reading.fault(
                "cannot-survive",
                f"the application '{name}' cannot recover from a loss that ends the run",
                entry.location,
                hint=f'leave out failures="abort" or recovery="{recovery}"',
            )
        mode = FailureMode.RETURN
    is_of_grid = kind is not ProgramKind.EXECUTABLE and entry.text("comm-world") == CommWorld.GRID
    if mode is FailureMode.RETURN and not is_of_grid:
        reading.fault(
            "cannot-survive",
            f"the application '{name}' cannot survive the loss of a rank: its COMM_WORLD is native",
            entry.location,
            hint='leave out failures="return" and recovery, or run a Python program with'
            ' comm-world="grid"',
        )
    return mode


def _recovery(entry: CheckedElement) -> str:
    words = entry.text("recovery")
    return "" if words == "none" else words


def _recovery_messages(entry: CheckedElement, name: str, reading: Reading) -> str:
    has_recovery = entry.text("recovery") in _RECOVERIES
    if entry.has("recovery-messages") and not has_recovery:
        reading.fault(
            "no-recovery",
            f"the application '{name}' says recovery-messages, and no recovery that would need it",
            entry.location,
            hint='add recovery="shrink", "blank" or "rebuild", or leave out recovery-messages',
        )
    return entry.text("recovery-messages") if has_recovery else ""


def read_assembly(root: CheckedElement, reading: Reading) -> PlacedAssembly | None:
    """Return the assembly, if there is one."""
    entry = root.only("assembly")
    if entry is None:
        return None
    arguments: dict[str, str] = {}
    for word in entry.words("arguments"):
        name, equals, value = word.partition("=")
        if not name or not equals:
            reading.fault(
                "bad-words",
                f"'{word}' in arguments of <assembly> is not name=value",
                entry.location,
            )
        arguments[name] = value
    return PlacedAssembly(
        reading.existing(entry.text("file"), "the assembly", entry.location),
        arguments,
        entry.location,
    )


def read_virtual_nodes(
    root: CheckedElement, assembly: PlacedAssembly | None, places: Places, reading: Reading
) -> tuple[VirtualNode, ...]:
    """Return the mapping of virtual nodes, compared with those that the assembly uses."""
    found = [_virtual_node(entry, places, reading) for entry in root.each("virtual-node")]
    distinct(
        reading,
        "a mapping of virtual node",
        ((one.name, one.location) for one in found if one.name),
        "virtual-node-mapped-twice",
    )
    if assembly is None:
        for one in found:
            _warn_unused(one, "there is no <assembly> that could use it", reading)
        return tuple(found)
    if reading.surroundings.virtual_nodes is None or not assembly.file:
        return tuple(found)
    used = reading.surroundings.virtual_nodes(
        assembly.file, assembly.arguments, reading.diagnostics
    )
    if used is not None:
        _compare(assembly, list(dict.fromkeys(used)), found, reading)
    return tuple(found)


def _virtual_node(entry: CheckedElement, places: Places, reading: Reading) -> VirtualNode:
    name, single = entry.text("name"), entry.text("cardinality") == "single"
    nodes = places.nodes(entry.names("nodes"), entry.location)
    if single and len(nodes) > 1:
        reading.fault(
            "too-many-nodes",
            f"virtual node '{name}' is single, but is mapped to {len(nodes)} nodes",
            entry.location,
            hint='name one node, or write cardinality="multiple"',
        )
    return VirtualNode(name, nodes, single, entry.location)


def _compare(
    assembly: PlacedAssembly, used: list[str], mapped: list[VirtualNode], reading: Reading
) -> None:
    names = [one.name for one in mapped]
    for name in used:
        if name not in names:
            reading.fault(
                "unmapped-virtual-node",
                f"the assembly uses virtual node '{name}', which is mapped to no node",
                assembly.location,
                hint=did_you_mean(name, names)
                or f'add <virtual-node name="{name}" nodes="site/cluster/node"/>',
            )
    for one in mapped:
        if one.name not in used:
            _warn_unused(
                one, did_you_mean(one.name, used) or "the assembly does not use it", reading
            )


def _warn_unused(one: VirtualNode, hint: str, reading: Reading) -> None:
    reading.diagnostics.report(
        "unused-virtual-node",
        f"virtual node '{one.name}' is mapped for nothing",
        one.location,
        hint=hint,
        severity=Severity.WARNING,
    )
