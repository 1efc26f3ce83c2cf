"""Detects duplicate and ambiguous names of interfaces of a component."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.adl.control_ends import control_names
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.components import controller_name
from gcm.documents import Location


def check_names(draft: Draft, findings: Findings) -> None:
    """Report interfaces that hide, or are indistinguishable from, another one of the component."""
    if draft.is_reference or draft.is_membrane:
        return
    for name, location in _servers(draft):
        if controller_name(name) and name in control_names(draft):
            _report(f"a control interface named '{name}'", location, draft, findings)
    for declared in draft.membrane.node.body.interfaces if draft.membrane else ():
        functional = draft.traits.find(declared.name)
        if functional is not None and not functional.is_internal:
            known = f"a functional interface named '{functional.name}'"
            if functional.name != declared.name:
                known = (
                    f"a functional collection '{functional.name}', which '{declared.name}' is in"
                )
            _report(known, declared.location, draft, findings)
        elif declared.name in control_names(draft):
            known = f"a control interface named '{declared.name}'"
            _report(known, declared.location, draft, findings)


def _servers(draft: Draft) -> Iterator[tuple[str, Location]]:
    for interface in draft.traits.component_type.interfaces:
        if interface.is_server and not interface.is_internal:
            yield interface.name, draft.location_of(interface.name)


def _report(known: str, location: Location, draft: Draft, findings: Findings) -> None:
    findings.report(
        "duplicate-name",
        f"component '{draft.name}' has {known} already",
        location,
        draft.path,
        hint="give this one another name",
    )
