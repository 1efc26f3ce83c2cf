"""Finds what `gcm run` calls: the one operation of the root's interface `run`."""

from __future__ import annotations

from inspect import Parameter

from gcm.adl.plan import ComponentPlan
from gcm.documents import Diagnostics, did_you_mean
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.types import InterfaceType, Role

RUN = "run"
_OPEN = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def run_operation(root: ComponentPlan, diagnostics: Diagnostics) -> str:
    """Return the name of the operation, or nothing after it was reported why there is none."""
    found = root.component_type.find(RUN)
    if found is None or found.role is not Role.SERVER:
        _report_missing(root, diagnostics)
        return ""
    operations = signature_of(found.signature).operations
    fault = _fault(found, list(operations.values()))
    if fault:
        diagnostics.report(
            "not-runnable",
            f"the interface '{RUN}' ({found.signature.__qualname__}) {fault}",
            root.location,
            path=root.path,
            hint="`gcm run` calls the one operation of that interface, without arguments; "
            "pass values with --set to arguments of the definition",
        )
        return ""
    return next(iter(operations))


def _fault(declared: InterfaceType, operations: list[Operation]) -> str:
    if declared.is_gathercast:
        return "is gathercast and waits for bound clients"
    names = ", ".join(f"'{operation.name}'" for operation in operations)
    if len(operations) != 1:
        return f"has {len(operations)} operations ({names}), not one"
    needed = [
        parameter.name
        for parameter in operations[0].parameters
        if not parameter.has_default and parameter.kind not in _OPEN
    ]
    return f"has the operation {names} with the parameters {', '.join(needed)}" if needed else ""


def _report_missing(root: ComponentPlan, diagnostics: Diagnostics) -> None:
    known = [one.name for one in root.component_type.interfaces if one.role is Role.SERVER]
    listed = f"its server interfaces: {', '.join(known) or 'none'}"
    diagnostics.report(
        "no-run-interface",
        f"the definition has no server interface '{RUN}' to be called",
        root.location,
        path=root.path,
        hint=did_you_mean(RUN, known) or f"add one and bind it inside; {listed}",
    )
