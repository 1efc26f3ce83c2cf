"""The interceptors of an interface: reads `interceptors="..."` and checks each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from gcm.adl.classes import ClassFault, LoadClass
from gcm.adl.control_ends import control_names, control_type, has_known_membrane
from gcm.adl.definitions.model import Body, InterfaceNode
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.adl.plan import InterceptorPlan
from gcm.adl.structure import is_missing, stands_in_for
from gcm.documents import did_you_mean
from gcm.factory import can_intercept
from gcm.interfaces import ComponentType, InterfaceType

THIS = "this"
_NEEDED = "before(call) and after(call, error)"
_WAYS = "write component.interface of the membrane, this.name-controller, or a dotted Python name"


def read_interceptors(
    body: Body, load_class: LoadClass, findings: Findings, path: str
) -> Iterator[InterceptorPlan]:
    """Yield the interceptors that the interfaces of a component name, in the order written.

    A name is `component.interface` of the membrane, `component` where one interface of it is fit,
    `this.name-controller`, or the dotted Python name of what makes an interceptor.
    """
    reading = _Reading(body, load_class, findings, path)
    for node in body.interfaces:
        for written in filter(None, map(str.strip, node.interceptors.split(","))):
            owner, dot, interface = written.partition(".")
            if owner in reading.inside or (owner == THIS and dot):
                yield InterceptorPlan(node.name, owner, interface)
                continue
            factory = reading.python(written, node)
            if factory is not None:
                yield InterceptorPlan(node.name, factory=factory)


class _Reading:
    """The reading of the interceptors of one component."""

    def __init__(self, body: Body, load_class: LoadClass, findings: Findings, path: str) -> None:
        self._load_class = load_class
        self._findings = findings
        self._path = path
        self._content = {one.name for one in body.components}
        self.inside = {one.name for one in body.controller.components} if body.controller else set()

    def python(self, written: str, node: InterfaceNode) -> object:
        """Return what makes an interceptor by its dotted name, or report that nothing does."""
        owner = written.partition(".")[0]
        if owner in self._content:
            message = f"the interceptor '{written}' is in the content, not in the membrane"
            hint = f"move the component '{owner}' into <controller>"
            self._report("unknown-interceptor", message, node, hint)
            return None
        hint = did_you_mean(owner, (*self.inside, THIS)) or _WAYS
        if "." not in written and ":" not in written:
            message = f"there is no interceptor '{written}'"
            self._report("unknown-interceptor", message, node, hint)
            return None
        try:
            found = self._load_class(written)
        except ClassFault as fault:
            missing = self._findings.missing
            no_part = _names_a_part(written) or (self.inside and missing is None)
            if fault.code == "missing-module" and no_part:
                if missing is not None:
                    missing.stand_ins.pop(written, None)
                message = f"the membrane has no component '{owner}', and {fault.message}"
                self._report("unknown-interceptor", message, node, hint)
            else:
                if missing is not None and is_missing(fault.code):
                    missing.interceptors.add(written)
                self._findings.class_fault(fault, node.location, self._path)
            return None
        if isinstance(found, type) and stands_in_for(found):
            return found
        if not callable(found) or (isinstance(found, type) and not _has_hooks(found)):
            message = f"'{written}' makes no interceptor"
            self._report("not-an-interceptor", message, node, f"name a class with {_NEEDED}")
            return None
        return found

    def _report(self, code: str, message: str, node: InterfaceNode, hint: str) -> None:
        self._findings.report(code, message, node.location, self._path, hint=hint)


def check_interceptors(draft: Draft, findings: Findings) -> tuple[InterceptorPlan, ...]:
    """Report invalid interceptors; return all of them with the names of their interfaces."""
    if draft.is_reference:
        return draft.traits.interceptors
    checked = []
    for planned in draft.traits.interceptors:
        found, fault = _checked(draft, planned)
        checked.append(found)
        if fault is not None:
            message, hint = fault
            where = draft.location_of(planned.interface)
            findings.report("not-an-interceptor", message, where, draft.path, hint=hint)
    return tuple(checked)


_Fault = tuple[str, str]
"""A message and a hint."""


def _checked(draft: Draft, planned: InterceptorPlan) -> tuple[InterceptorPlan, _Fault | None]:
    if planned.component == THIS:
        return planned, _control_fault(draft, planned.server)
    return _found(draft, planned) if planned.component else (planned, None)


def _control_fault(draft: Draft, name: str) -> _Fault | None:
    if not has_known_membrane(draft):
        return None  # that was reported already
    found = control_type(draft, name)
    if found is None:
        known = control_names(draft)
        hint = did_you_mean(name, known) or f"it has: {', '.join(known)}"
        return f"the interceptor 'this.{name}' is not a controller of the component", hint
    if not stands_in_for(found.signature) and not _has_hooks(found.signature):
        hint = f"give the controller {_NEEDED}, or name another one"
        return f"the controller 'this.{name}' is not an interceptor", hint
    return None


def _found(draft: Draft, planned: InterceptorPlan) -> tuple[InterceptorPlan, _Fault | None]:
    membrane = draft.membrane
    part = membrane.children.get(planned.component) if membrane else None
    if part is None or part.traits.incomplete or planned.server in part.traits.broken:
        return planned, None  # that was reported already
    fit = fit_interfaces(part.traits.component_type)
    if not planned.server:
        if len(fit) == 1:
            return replace(planned, server=fit[0]), None
        which = "several interceptors" if fit else "no interceptor"
        hint = f"write {' or '.join(f'{part.name}.{name}' for name in fit)}" if fit else _offer()
        return planned, (f"component '{part.name}' of the membrane offers {which}", hint)
    declared = part.traits.find(planned.server)
    return planned, _interface_fault(part, planned.server, declared, fit)


def _interface_fault(
    part: Draft, name: str, declared: InterfaceType | None, fit: Collection[str]
) -> _Fault | None:
    shown = f"'{part.name}.{name}'"
    known = [one.name for one in part.traits.component_type.interfaces]
    if declared is None:
        hint = did_you_mean(name, known) or f"it has: {', '.join(known) or 'none'}"
        return f"the interceptor {shown} is not an interface of the component in the membrane", hint
    if name in fit:
        return None
    if declared.is_client:
        return f"the interceptor {shown} is a client interface", "name a server interface"
    return f"{shown} is not an interceptor", _offer()


def _offer() -> str:
    return f"offer a server interface with the signature gcm.Interceptor: {_NEEDED}"


def fit_interfaces(component_type: ComponentType) -> list[str]:
    """Return the names of the server interfaces through which a component can intercept."""
    return [
        one.name
        for one in component_type.interfaces
        if one.is_server
        and not one.is_internal
        and (stands_in_for(one.signature) or can_intercept(one.signature))
    ]


def _names_a_part(written: str) -> bool:
    """Return whether `part.interface` of a membrane is meant, and not a class: those are in
    packages, or at least begin with a capital letter.
    """
    names = written.split(".")
    return len(names) == 2 and names[1][:1].islower()


def _has_hooks(known: type) -> bool:
    return all(callable(getattr(known, name, None)) for name in ("before", "after"))
