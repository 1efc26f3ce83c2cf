"""Reads which controllers and interceptors a descriptor names, and where they take effect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gcm.documents import CheckedElement, Location, Severity
from runtime.deployment.context import Reading
from runtime.deployment.model import Application, CommWorld, Deployment, NamedClass, ProgramKind

INTERCEPTOR = "interceptor"
PLAN_CHOICE = "plan-choice"
TRANSPORT = "transport"
_LAUNCHER = "launcher"

_CLUSTER = 2
"""How many numbers name a cluster."""


def read_named_classes(root: CheckedElement, reading: Reading) -> tuple[NamedClass, ...]:
    """Return all named classes, in the order in which they are written in each place."""
    found = []
    for scope, entry in _places(root):
        for child in (*entry.each("controller"), *entry.each(INTERCEPTOR)):
            role = INTERCEPTOR if child.type.name == INTERCEPTOR else child["role"]
            if not child["class"] or not role:
                continue  # already reported
            if role == PLAN_CHOICE and len(scope) == _CLUSTER:
                reading.fault(
                    "controller-level",
                    "a cluster has no plan-choice: inside a cluster the native MPI chooses",
                    child.location,
                    hint="name it in the <site> or the <grid>",
                )
            found.append(child.record(reading, scope=scope))
        if not scope:
            found += [
                NamedClass(one, (), entry.location, TRANSPORT)
                for one in entry["transport"]
                if "." in one
            ]
    return tuple(found)


def _places(root: CheckedElement) -> Iterator[tuple[tuple[int, ...], CheckedElement]]:
    for tag in ("grid", "emulate"):
        for grid in root.each(tag):
            yield (), grid
            for site, entry in enumerate(grid.each("site")):
                yield (site,), entry
                for cluster, part in enumerate(entry.each("cluster")):
                    yield (site, cluster), part


def check_named_classes(deployment: Deployment, reading: Reading) -> None:
    """Report classes that do not fit their roles, and warn of those without effect."""
    launchers = [one.launcher for one in deployment.clusters() if one.launcher is not None]
    named = [NamedClass(one.name, (), one.location, _LAUNCHER) for one in launchers]
    reported: set[tuple[str, Location]] = set()
    _find(named, reading.context.folder, reported, reading)
    codes = [one for one in deployment.applications if one.comm_world is CommWorld.GRID]
    for one in deployment.named_classes:
        if why := _useless(one, codes):
            reading.diagnostics.report(
                "named-for-nothing",
                f"{one.role} '{one.name}' has no effect: {why}",
                one.location,
                severity=Severity.WARNING,
            )
    for code in codes:
        search = code.path.rpartition("/")[0] if code.kind is ProgramKind.SCRIPT else code.folder
        _find(deployment.named_classes, search, reported, reading)


def _find(
    named: Sequence[NamedClass], search: str, reported: set[tuple[str, Location]], reading: Reading
) -> None:
    """Report classes that cannot be used where they are looked for, each fault once."""
    look = reading.context.named_classes
    if look is None or not named:
        return
    faults = look(search, tuple((one.role, one.name) for one in named))
    for one, fault in zip(named, faults, strict=True):
        if fault and (fault, one.location) not in reported:
            reported.add((fault, one.location))
            reading.fault(
                "bad-class",
                f"{one.role} '{one.name}' cannot be used: {fault}",
                one.location,
                hint=f"it was looked for in {search} and where {reading.context.python} "
                "finds its modules",
            )


def _useless(named: NamedClass, codes: list[Application]) -> str:
    if not codes:
        return "no program here has the grid for its COMM_WORLD"
    clusters = {one for code in codes for one in code.clusters}
    mine = {one for one in clusters if one[: len(named.scope)] == named.scope}
    others = mine if named.role == PLAN_CHOICE else clusters
    if not any(one != other for one in mine for other in others):
        return "there is no second cluster here to speak to"
    if named.between == "sites" and not any(one[0] != other[0] for one in mine for other in others):
        return "there is no second site here to speak to"
    return ""
