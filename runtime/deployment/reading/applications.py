"""Reads what a descriptor runs: applications, the assembly with its virtual nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Any

from gcm.documents import CheckedElement, Severity, did_you_mean
from runtime.deployment.capacities import GREEDY, Claim, shared
from runtime.deployment.context import Reading, distinct
from runtime.deployment.environment import travelling
from runtime.deployment.model import (
    Application,
    CommWorld,
    FailureMode,
    PlacedAssembly,
    ProgramKind,
    VirtualNode,
)
from runtime.deployment.reading.program import read_arguments, read_environment, read_program
from runtime.web_address import is_web_address

REBUILDS = ("rebuild", "rebuild-at-end")
"""The failure modes in which lost ranks are restarted."""

_RECOVERIES = ("shrink", "blank", *REBUILDS)
"""The failure modes in which a program continues."""


def read_applications(root: CheckedElement, reading: Reading) -> tuple[Application, ...]:
    """Return the applications, each with the clusters it runs on."""
    entries = list(root.each("application"))
    found = [_application(entry, len(entries) == 1, reading) for entry in entries]
    distinct(reading, "application", ((one.name, one.location) for one in found))
    return tuple(found)


def _application(entry: CheckedElement, alone: bool, reading: Reading) -> Application:
    name = entry["name"]
    kind, path, folder = read_program(entry, name, reading)
    placed: dict[str, Any] = {}
    if not alone and not entry.has("clusters"):
        placed = {"clusters": ()}
        if not entry.incomplete:
            reading.fault(
                "unmapped-application",
                f"application '{name}' does not say where it runs",
                entry.location,
                hint='with several applications each needs clusters="site/cluster ..."',
            )
    found: Application = entry.record(
        reading,
        kind=kind,
        path=path,
        folder=folder,
        arguments=read_arguments(entry),
        environment=read_environment(entry, reading),
        comm_world=_comm_world(entry, kind, path, reading),
        staged=entry["stage"] and not is_web_address(entry["script"]),
        travelling=travelling(reading.context.environment),
        failures=_failures(entry, kind, reading),
        recovery_messages=_recovery_messages(entry, reading),
        settings=_settings(entry, name, reading),
        **placed,
    )
    return found


def _settings(entry: CheckedElement, code: str, reading: Reading) -> dict[str, str]:
    """Return the settings of a code; the values of `--set` win."""
    written = [one for one in entry.each("setting") if one.has("name")]
    distinct(reading, "setting", ((one["name"], one.location) for one in written))
    given = reading.context.settings
    return {one["name"]: given.get(f"{code}.{one['name']}", one["value"]) for one in written}


def _comm_world(entry: CheckedElement, kind: ProgramKind, path: str, reading: Reading) -> CommWorld:
    """Return what COMM_WORLD is to a program; a native one that calls no MPI has none."""
    world: CommWorld = entry["comm-world"]
    if kind is not ProgramKind.EXECUTABLE or world is CommWorld.CLUSTER:
        return world
    needed = reading.context.needed_libraries(path)
    if needed is None:  # it is not here: the clusters will see
        return world
    from runtime.shim import Linked, verdict

    found = verdict(needed)
    is_joined = len(reading.places.everywhere()) > 1
    if found.linked is Linked.REFUSED and is_joined:
        reading.fault(
            "no-shared-world",
            f"the application '{entry['name']}' cannot have one MPI_COMM_WORLD over several "
            f"clusters: {found.cause}",
            entry.location,
            hint=f'{found.cure}; comm-world="cluster" gives each cluster a world of its own',
        )
    return CommWorld.CLUSTER if found.linked is Linked.ALONE else world


def _failures(entry: CheckedElement, kind: ProgramKind, reading: Reading) -> FailureMode:
    mode: FailureMode = entry["failures"]
    recovery = entry["recovery"]
    if recovery in _RECOVERIES:
        if entry.has("failures") and mode is FailureMode.ABORT:
            reading.fault(
                "cannot-survive",
                f"the application '{entry['name']}' cannot recover from a loss that ends the run",
                entry.location,
                hint=f'leave out failures="abort" or recovery="{recovery}"',
            )
        mode = FailureMode.RETURN
    is_native = kind is ProgramKind.EXECUTABLE and recovery in _RECOVERIES
    if mode is FailureMode.RETURN and (is_native or entry["comm-world"] is not CommWorld.GRID):
        reading.fault(
            "cannot-survive",
            f"the application '{entry['name']}' cannot survive the loss of a rank: "
            + (
                f'a native program recovers by itself, not by recovery="{recovery}"'
                if is_native
                else "its COMM_WORLD is native"
            ),
            entry.location,
            hint='leave out recovery; failures="return" gives it the functions of MPI for that'
            if is_native
            else 'leave out failures="return" and recovery, or use comm-world="grid"',
        )
    return mode


def _recovery_messages(entry: CheckedElement, reading: Reading) -> str:
    has_recovery = entry["recovery"] in _RECOVERIES
    if entry.has("recovery-messages") and not has_recovery:
        reading.fault(
            "no-recovery",
            f"the application '{entry['name']}' says recovery-messages, and no recovery that would "
            "need it",
            entry.location,
            hint=f"add a recovery ({', '.join(_RECOVERIES)}), or leave out recovery-messages",
        )
    return entry["recovery-messages"] if has_recovery else ""


def read_virtual_nodes(
    root: CheckedElement, assembly: PlacedAssembly | None, reading: Reading
) -> tuple[VirtualNode, ...]:
    """Return the mapping of virtual nodes, compared with those that the assembly uses."""
    written = [_virtual_node(entry, reading) for entry in root.each("virtual-node")]
    found = [_checked_size(one, reading) for one in _with_shares(written, reading)]
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
    if reading.context.virtual_nodes is None or not assembly.file:
        return tuple(found)
    used = reading.context.virtual_nodes(assembly.file, assembly.arguments, reading.diagnostics)
    if used is not None:
        _compare(assembly, list(dict.fromkeys(used)), found, reading)
    return tuple(found)


def _virtual_node(entry: CheckedElement, reading: Reading) -> VirtualNode:
    found: VirtualNode = entry.record(reading)
    if not entry.has("nodes") and not found.providers and not entry.incomplete:
        reading.fault(
            "virtual-node-without-nodes",
            "<virtual-node> needs the attribute 'nodes', or a <provider>",
            found.location,
        )
    return found


def _with_shares(written: list[VirtualNode], reading: Reading) -> Iterator[VirtualNode]:
    """Yield virtual nodes with their own nodes in place of all that they may have."""
    claims = [_claims(one, reading) for one in written]
    shares = iter(shared([*chain.from_iterable(claims)]))
    for one, wanted in zip(written, claims, strict=True):
        given = [next(shares) for _ in wanted]
        least = sum(int(claim.count) for claim in wanted if claim.count != GREEDY) or 1
        missing = any(
            len(nodes) < claim.count != GREEDY for claim, nodes in zip(wanted, given, strict=True)
        )
        nodes = tuple(chain.from_iterable(given))
        if all(claim.nodes for claim in wanted) and (missing or (wanted and not nodes)):
            reading.fault(
                "too-few-nodes",
                f"virtual node '{one.name}' gets {len(nodes)} nodes for itself, and needs {least}",
                one.location,
                hint="list more nodes or a smaller capacity; others have the rest of those listed",
            )
        yield replace(one, nodes=nodes) if wanted else one


def _claims(one: VirtualNode, reading: Reading) -> list[Claim]:
    """Return what a virtual node wants for itself; nothing if it shares its nodes with others."""
    claims = [Claim(provider.nodes, provider.capacity) for provider in one.providers]
    provided = sum(provider.capacity for provider in one.providers)
    rest = one.capacity - provided if one.capacity else GREEDY
    if rest < 0 or (0 < rest < GREEDY and claims and not one.nodes):
        reading.fault(
            "bad-capacity",
            f"virtual node '{one.name}' has a capacity of {one.capacity}, and {provided} of its"
            " providers",
            one.location,
        )
    if one.nodes and rest > 0 and (one.capacity or claims):
        claims.append(Claim(one.nodes, rest))
    return claims


def _checked_size(found: VirtualNode, reading: Reading) -> VirtualNode:
    if found.single and len(found.nodes) > 1:
        reading.fault(
            "too-many-nodes",
            f"virtual node '{found.name}' is single, but is mapped to {len(found.nodes)} nodes",
            found.location,
            hint='name one node, or write cardinality="multiple"',
        )
    return found


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
