"""How an assembly is run: the single operation of its interface `run`, and its result."""

from __future__ import annotations

from inspect import Parameter

from gcm.adl.plan import ComponentPlan
from gcm.documents import Diagnostics, did_you_mean
from gcm.interfaces import InterfaceType, Operation, Role, signature_of
from gcm.records import dataclass

RUN = "run"
HIGHEST_EXIT_CODE = 255
_OPEN = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Result:
    """What an operation returned: an exit code, and a text to print or a complaint about it."""

    code: int = 0
    text: str | None = None
    complaint: str = ""


def result_of(returned: object) -> Result:
    """Return what a returned value means: an int is the exit code, anything but None is printed.

    >>> result_of(3), result_of("done").text
    (Result(code=3, text=None, complaint=''), 'done')
    """
    if returned is None:
        return Result()
    if not isinstance(returned, int) or isinstance(returned, bool):
        return Result(text=str(returned))
    if 0 <= returned <= HIGHEST_EXIT_CODE:
        return Result(code=returned)
    complaint = f"`run` returned {returned}, which is not an exit code (0 to {HIGHEST_EXIT_CODE})"
    return Result(code=1, complaint=complaint)


def has_run(root: ComponentPlan) -> bool:
    """Return whether there is a server interface `run`, whether it can be called or not."""
    found = root.component_type.find(RUN)
    return found is not None and found.role is Role.SERVER


def run_operation(root: ComponentPlan, diagnostics: Diagnostics, interface: str = RUN) -> str:
    """Return the name of the operation, or nothing after reporting why there is none."""
    found = root.component_type.find(interface)
    if found is None or found.role is not Role.SERVER:
        _report_missing(root, diagnostics, interface)
        return ""
    operations = signature_of(found.signature).operations
    fault = _fault(found, list(operations.values()))
    if fault:
        diagnostics.report(
            "not-runnable",
            f"the interface '{interface}' ({found.signature.__qualname__}) {fault}",
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


def _report_missing(root: ComponentPlan, diagnostics: Diagnostics, interface: str) -> None:
    known = [one.name for one in root.component_type.interfaces if one.role is Role.SERVER]
    listed = f"its server interfaces: {', '.join(known) or 'none'}"
    diagnostics.report(
        "no-run-interface",
        f"the definition has no server interface '{interface}' to be called",
        root.location,
        path=root.path,
        hint=did_you_mean(interface, known) or f"add one and bind it inside; {listed}",
    )
