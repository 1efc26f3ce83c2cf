"""Reads which controllers and interceptors a descriptor names, and where they take effect."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.documents import CheckedElement, Location, Severity
from runtime.deployment.model import Application, CommWorld, Deployment, NamedClass, ProgramKind
from runtime.deployment.surroundings import Reading

INTERCEPTOR = "interceptor"
PLAN_CHOICE = "plan-choice"
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
    _check_launchers(deployment, reading)
    if not deployment.named_classes:
        return
    codes = [one for one in deployment.applications if _is_concerned(one)]
    for named in deployment.named_classes:
        why = _useless(named, codes)
        if why:
            reading.diagnostics.report(
                "named-for-nothing",
                f"{named.role} '{named.name}' has no effect: {why}",
                named.location,
                severity=Severity.WARNING,
            )
    look = reading.surroundings.named_classes
    if look is None:
        return
    reported: set[tuple[str, Location]] = set()
    for code in codes:
        wanted = [(one.role, one.name) for one in deployment.named_classes]
        search = code.path.rpartition("/")[0] if code.kind is ProgramKind.SCRIPT else code.folder
        faults = look(search, tuple(wanted))
        for named, fault in zip(deployment.named_classes, faults, strict=True):
            if fault and (fault, named.location) not in reported:
                reported.add((fault, named.location))
                reading.fault(
                    "bad-class",
                    f"{named.role} '{named.name}' cannot be used: {fault}",
                    named.location,
                    hint=f"it was looked for in {search} and where {reading.surroundings.python} "
                    "finds its modules",
                )


def _check_launchers(deployment: Deployment, reading: Reading) -> None:
    """Report the launchers whose classes cannot be used."""
    look = reading.surroundings.named_classes
    named = [one.launcher for one in deployment.clusters() if one.launcher is not None]
    if look is None or not named:
        return
    search = reading.surroundings.folder
    faults = look(search, tuple((_LAUNCHER, one.name) for one in named))
    for one, fault in zip(named, faults, strict=True):
        if fault:
            reading.fault(
                "bad-class",
                f"{_LAUNCHER} '{one.name}' cannot be used: {fault}",
                one.location,
                hint=f"it was looked for in {search} and where {reading.surroundings.python} "
                "finds its modules",
            )


def _is_concerned(code: Application) -> bool:
    return code.kind is not ProgramKind.EXECUTABLE and code.comm_world is CommWorld.GRID


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
