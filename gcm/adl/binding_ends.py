"""Reads the ends of bindings: the interface that each refers to, and its role seen from there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gcm.adl.control_ends import control_names, control_type, has_known_membrane
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.adl.plan import End
from gcm.components import controller_name
from gcm.documents import Location, Severity, did_you_mean
from gcm.interfaces import Cardinality, InterfaceType, Role, redistributes
from gcm.records import dataclass
from gcm.suggestion import nearest

_THIS = "this"
_FLIPPED = {Role.INTERNAL_CLIENT: Role.SERVER, Role.INTERNAL_SERVER: Role.CLIENT}
"""The role of an internal interface of a membrane, for the components in the membrane."""


@dataclass(frozen=True, slots=True)
class Face:
    """An interface as seen from inside the composite that holds the binding.

    `calls` is the cardinality of the calls that leave through it. `is_inside` says, in a membrane,
    whether it is an end for components there or for the content; None means both.
    """

    owner: Draft
    is_this: bool
    interface: InterfaceType
    calls: Cardinality = Cardinality.SINGLETON
    is_inside: bool | None = None


@dataclass(frozen=True, slots=True)
class EndReader:
    """Reads the ends of the bindings of composites."""

    findings: Findings

    def read(self, composite: Draft, text: str, role: str, location: Location) -> Face | None:
        """Return the interface that an end refers to; None where that was reported.

        `role` is the required role of the end: `client` or `server`.
        """
        name, interface_name = parts_of_end(text)
        if not name or not interface_name:
            self._report(
                "malformed-binding",
                f"'{text}' is no {role} end of a binding",
                location,
                composite,
                'write "component.interface" or "this.interface"',
            )
            return None
        owner = owner_of(composite, name)
        if owner is None and composite.traits.incomplete:
            return None  # the component may be in a definition that was not found
        if owner is None:
            if role == "client":
                excuse(
                    composite,
                    owner_of(composite, nearest(name, composite.children)),
                    interface_name,
                )
            known = (*composite.children, *_content(composite), _THIS)
            hint = _behind_a_border(composite, name) or did_you_mean(name, known)
            message = f"the {role} end '{text}' names no component '{name}'"
            if not hint and composite.parent is None and self.findings.missing is not None:
                self.findings.report(
                    "unknown-component",
                    f"{message} yet, so the assembly cannot be made",
                    location,
                    composite.path,
                    hint="supply it in a definition that extends this one, or where this one is"
                    " used",
                    severity=Severity.WARNING,
                )
                return None
            hint = hint or f"known: {', '.join(known)}"
            self._report("unknown-component", message, location, composite, hint)
            return None
        return self._face(composite, owner, interface_name, role, location)

    def _face(
        self, composite: Draft, owner: Draft, name: str, role: str, location: Location
    ) -> Face | None:
        is_this = owner is composite
        in_content = owner is _content(composite).get(owner.name)
        found = None if in_content else owner.traits.find(name)
        is_control = found is None
        if found is None and (role == "server" or in_content):
            found = control_type(owner, name)
        if found is None:
            self._unknown_interface(composite, owner, name, role, location)
            return None
        seen = seen_inside(composite, owner, name) or found if not in_content else found
        flipped = (
            composite.is_membrane and found.is_internal and seen.is_client != (role == "client")
        )
        seen = replace(found, role=_FLIPPED[found.role]) if flipped else seen
        shown = f"'{_THIS if is_this else owner.name}.{name}'"
        if found.is_internal and not is_this:
            hint = "bind an external interface"
            message = f"{shown} lies inside '{owner.name}'"
            self._report("internal-interface", message, location, composite, hint)
            return None
        if seen.is_client != (role == "client"):
            kind = "client" if seen.is_client else "server"
            side = " seen from inside" if is_this else ""
            hint = "exchange the two ends, or name another interface"
            message = f"{shown} is a {kind} interface{side}, not a {role}"
            self._report("wrong-role", message, location, composite, hint)
            return None
        blocks = redistributes(seen.signature)  # each member sees a block of its own
        spreads = seen.is_multicast and not blocks
        calls = seen.cardinality if spreads else Cardinality.SINGLETON
        gathers_here = (
            not blocks and found.is_gathercast and (found.is_server if is_this else found.is_client)
        )
        is_inside = not in_content and (flipped or not found.is_internal)
        is_free = not composite.is_membrane or (is_control and role == "server" and not in_content)
        calls = Cardinality.GATHERCAST if gathers_here else calls
        return Face(owner, is_this, seen, calls, None if is_free else is_inside)

    def _unknown_interface(
        self, composite: Draft, owner: Draft, name: str, role: str, location: Location
    ) -> None:
        traits = owner.traits
        unresolved = owner.is_reference and owner.target is None
        if traits.incomplete or unresolved or traits.is_broken(name):
            return  # missing parts were reported already
        if role == "server" and controller_name(name) and not has_known_membrane(owner):
            return  # that membrane was reported already
        if owner is _content(composite).get(owner.name):
            self._unknown_in_content(composite, owner, name, role, location)
            return
        known = [one.name for one in traits.component_type.interfaces]
        if role == "client":
            excuse(composite, owner, nearest(name, known))
        control = control_names(owner) if role == "server" else ()
        hint = did_you_mean(name, (*known, *control)) or f"it has: {', '.join(known) or 'none'}"
        shown = "the composite" if owner is composite else f"component '{owner.name}'"
        message = f"{shown} has no interface '{name}' to be the {role} end"
        self._report("unknown-interface", message, location, composite, hint)

    def _unknown_in_content(
        self, composite: Draft, owner: Draft, name: str, role: str, location: Location
    ) -> None:
        """Report an end that is no non-functional interface of a sub-component."""
        made = owner.target or owner
        inside = made.membrane.traits.component_type.interfaces if made.membrane else ()
        known = (*(one.name for one in inside), *control_names(owner))
        message = f"component '{owner.name}' has no non-functional interface '{name}'"
        hint = did_you_mean(name, known) or f"it has: {', '.join(known)}"
        if owner.traits.find(name):
            hint = "it is a functional one: bind it in the composite, outside of <controller>"
        self._report(
            "unknown-interface", f"{message} to be the {role} end", location, composite, hint
        )

    def _report(
        self, code: str, message: str, location: Location, composite: Draft, hint: str
    ) -> None:
        self.findings.report(code, message, location, composite.path, hint=hint)


def owner_of(composite: Draft, name: str) -> Draft | None:
    """Return the component that an end of a binding names, if it is there."""
    if name == _THIS:
        return composite
    return composite.children.get(name) or _content(composite).get(name)


def _behind_a_border(composite: Draft, name: str) -> str:
    """Return a hint for a name that is not that of a part, but of a part of a part."""
    for child in composite.children.values():
        if name in child.children:
            return f"'{name}' is inside '{child.name}': bind an interface of '{child.name}'"
    return ""


def own_client(composite: Draft, text: str) -> Face | None:
    """Return a composite's client interface as seen from outside, where remote servers are."""
    name, interface = parts_of_end(text)
    found = composite.traits.find(interface) if name == _THIS else None
    if found is None or not found.is_client or found.is_internal or composite.is_membrane:
        return None
    return Face(composite, False, found)


def _content(composite: Draft) -> Mapping[str, Draft]:
    """Return the sub-components around whose membranes the bindings of a membrane may lead."""
    if not composite.is_membrane or composite.parent is None:
        return {}
    return {
        name: one
        for name, one in composite.parent.children.items()
        if name not in composite.children
    }


def seen_inside(composite: Draft, owner: Draft | None, name: str) -> InterfaceType | None:
    """Return an interface as it is seen from inside the composite."""
    found = owner.traits.find(name) if owner else None
    return found.inner() if found and owner is composite and not found.is_internal else found


def excuse(composite: Draft, owner: Draft | None, interface: str) -> None:
    """Count an interface as bound, because a reported binding is probably meant for it."""
    if owner is composite:
        owner.linked.add(interface)
    elif owner is not None:
        (owner.target or owner).bound.add(interface)


def parts_of_end(text: str) -> End:
    """Return the component and the interface of an end.

    >>> parts_of_end("worker.task")
    ('worker', 'task')
    """
    name, _, interface = text.strip().partition(".")
    return name, interface
