"""Checks the bindings of a composite: both ends, their roles, signatures and number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from gcm.adl.control_ends import control_names, control_type, has_known_membrane
from gcm.adl.definitions import BindingNode
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.adl.plan import BindingPlan, End
from gcm.adl.structure import stands_in_for
from gcm.components import controller_name
from gcm.documents import Location, did_you_mean
from gcm.errors import IllegalTypeError
from gcm.interfaces import Cardinality, InterfaceType, Role, mismatches, redistributes
from gcm.records import dataclass
from gcm.suggestion import nearest

_THIS = "this"
_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FLIPPED = {Role.INTERNAL_CLIENT: Role.SERVER, Role.INTERNAL_SERVER: Role.CLIENT}
"""What an internal interface of a membrane is for the components in the membrane."""

_MANY = (Cardinality.MULTICAST, Cardinality.COLLECTION)


@dataclass(frozen=True, slots=True)
class _Face:
    """An interface as it is seen from inside the composite that holds the binding.

    `calls` is the cardinality of the calls that leave through it. `is_inside` tells, of a binding
    in a membrane, whether it is an end for components in there or for the content; None is both.
    """

    owner: Draft
    is_this: bool
    interface: InterfaceType
    calls: Cardinality = Cardinality.SINGLETON
    is_inside: bool | None = None


@dataclass(slots=True)
class BindingCheck:
    """Checks composites one after the other, and remembers what it compared."""

    findings: Findings
    _compared: dict[tuple[type[Any], type[Any], Cardinality], tuple[str, ...]] = field(
        default_factory=dict
    )

    def check(self, composite: Draft) -> None:
        """Report the faults in a composite's bindings; those without are added to the draft."""
        taken: dict[tuple[str, str], BindingNode] = {}
        for node in composite.node.body.bindings:
            if self._reversed(composite, node):
                continue
            if _REMOTE.match(node.server):
                client = _own_client(composite, node.client)
                client = client or self._end(composite, node.client, "client", node.location)
                if client is not None and self._may_bind(composite, client, node, taken):
                    self._add(composite, client, node, node.server)
                continue
            client = self._end(composite, node.client, "client", node.location)
            server = self._end(composite, node.server, "server", node.location)
            if client is None or not self._may_bind(composite, client, node, taken):
                continue
            if server is not None and self._same_side(composite, client, server, node):
                self._compare(composite, client, server, node)
            self._add(composite, client, node, _parts(node.server))

    # --------------------------------------------------------------------------------- ends

    def _end(self, composite: Draft, text: str, role: str, location: Location) -> _Face | None:
        name, interface_name = _parts(text)
        if not name or not interface_name:
            self._report(
                "malformed-binding",
                f"'{text}' is no {role} end of a binding",
                location,
                composite,
                'write "component.interface" or "this.interface"',
            )
            return None
        owner = _owner(composite, name)
        if owner is None and composite.traits.incomplete:
            return None  # the component may be in what was not found
        if owner is None:
            if role == "client":
                _excuse(
                    composite, _owner(composite, nearest(name, composite.children)), interface_name
                )
            known = (*composite.children, *_content(composite), _THIS)
            hint = _behind_a_border(composite, name) or did_you_mean(name, known)
            hint = hint or f"known: {', '.join(known)}"
            message = f"the {role} end '{text}' names no component '{name}'"
            self._report("unknown-component", message, location, composite, hint)
            return None
        return self._face(composite, owner, interface_name, role, location)

    def _face(
        self, composite: Draft, owner: Draft, name: str, role: str, location: Location
    ) -> _Face | None:
        is_this = owner is composite
        in_content = owner is _content(composite).get(owner.name)
        found = None if in_content else owner.traits.find(name)
        is_control = found is None
        if found is None and (role == "server" or in_content):
            found = control_type(owner, name)
        if found is None:
            self._unknown_interface(composite, owner, name, role, location)
            return None
        seen = _seen(composite, owner, name) or found if not in_content else found
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
        return _Face(owner, is_this, seen, calls, None if is_free else is_inside)

    def _same_side(self, composite: Draft, client: _Face, server: _Face, node: BindingNode) -> bool:
        """Report a binding in a membrane that passes by the membrane's own interfaces."""
        if None in (client.is_inside, server.is_inside) or client.is_inside is server.is_inside:
            return True
        self._report(
            "across-membrane",
            f"'{node.client}' and '{node.server}' are on different sides of the membrane",
            node.location,
            composite,
            "bind both to an interface of the membrane with the role "
            + ("internal-client" if client.is_inside else "internal-server"),
        )
        return False

    def _unknown_interface(
        self, composite: Draft, owner: Draft, name: str, role: str, location: Location
    ) -> None:
        traits = owner.traits
        unresolved = owner.is_reference and owner.target is None
        if traits.incomplete or unresolved or traits.is_broken(name):
            return  # what is missing there was reported already
        if role == "server" and controller_name(name) and not has_known_membrane(owner):
            return  # that membrane was reported already
        if owner is _content(composite).get(owner.name):
            self._unknown_in_content(composite, owner, name, role, location)
            return
        known = [one.name for one in traits.component_type.interfaces]
        if role == "client":
            _excuse(composite, owner, nearest(name, known))
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

    def _reversed(self, composite: Draft, node: BindingNode) -> bool:
        """Report a binding whose two ends were exchanged, once instead of for each end."""
        ends = [_parts(node.client), _parts(node.server)]
        owners = [_owner(composite, name) for name, _ in ends]
        seen = [
            _seen(composite, owner, interface)
            for owner, (_, interface) in zip(owners, ends, strict=True)
        ]
        if composite.is_membrane and not all(
            owner in composite.children.values() for owner in owners
        ):
            return False  # an interface of the membrane has a face to either side
        if None in seen or [one.is_client for one in seen if one] != [False, True]:
            return False
        _excuse(composite, owners[1], ends[1][1])
        message = f"the ends '{node.client}' and '{node.server}' are exchanged"
        hint = f'write client="{node.server}" server="{node.client}"'
        self._report("wrong-role", message, node.location, composite, hint)
        return True

    # ------------------------------------------------------------------------------ the binding

    def _may_bind(
        self,
        composite: Draft,
        client: _Face,
        node: BindingNode,
        taken: dict[tuple[str, str], BindingNode],
    ) -> bool:
        """Report a second binding of an interface that takes one only."""
        many = client.interface.cardinality in _MANY and (
            client.interface.is_multicast or _parts(node.client)[1] == client.interface.name
        )
        key = (node.client, node.server if many else "")
        first = taken.setdefault(key, node)
        if first is node:
            return True
        also = f" to '{node.server}'" if many else ""
        self._report(
            "duplicate-binding",
            f"'{node.client}' is bound{also} twice",
            node.location,
            composite,
            f"the first binding is in {first.location}; remove one",
        )
        return False

    def _compare(self, composite: Draft, client: _Face, server: _Face, node: BindingNode) -> None:
        if client.interface.is_mandatory and not server.interface.is_mandatory:
            self._report(
                "optional-server",
                f"mandatory '{node.client}' is bound to optional '{node.server}'",
                node.location,
                composite,
                "make the server end mandatory, or the client end optional",
            )
        if stands_in_for(client.interface.signature) or stands_in_for(server.interface.signature):
            return
        found = self._mismatches(
            client.interface.signature, server.interface.signature, client.calls
        )
        if found:
            self._report(
                "incompatible-binding",
                f"'{node.client}' cannot be bound to '{node.server}': {'; '.join(found)}",
                node.location,
                composite,
                "make the server's signature the client's, or a subtype of it",
            )

    def _mismatches(
        self, client: type[Any], server: type[Any], calls: Cardinality
    ) -> tuple[str, ...]:
        key = client, server, calls
        if key not in self._compared:
            try:
                self._compared[key] = tuple(map(str, mismatches(client, server, calls)))
            except IllegalTypeError as error:
                self._compared[key] = (error.what,)
        return self._compared[key]

    def _add(self, composite: Draft, client: _Face, node: BindingNode, server: End | str) -> None:
        owner = client.owner.target or client.owner
        bound = owner.linked if client.is_this else owner.bound
        name, interface = _parts(node.client)
        if client.interface.is_collection and interface == client.interface.name:
            interface = _next_member(interface, bound)
        bound.add(interface)
        composite.bindings.append(BindingPlan((name, interface), server, node.location))

    def _report(
        self, code: str, message: str, location: Location, composite: Draft, hint: str
    ) -> None:
        self.findings.report(code, message, location, composite.path, hint=hint)


def _owner(composite: Draft, name: str) -> Draft | None:
    if name == _THIS:
        return composite
    return composite.children.get(name) or _content(composite).get(name)


def _behind_a_border(composite: Draft, name: str) -> str:
    """Return what to do where a name is not that of a part, but of a part of a part."""
    for child in composite.children.values():
        if name in child.children:
            return f"'{name}' is inside '{child.name}': bind an interface of '{child.name}'"
    return ""


def _own_client(composite: Draft, text: str) -> _Face | None:
    """Return a composite's client interface as seen from outside, where remote servers are."""
    name, interface = _parts(text)
    found = composite.traits.find(interface) if name == _THIS else None
    if found is None or not found.is_client or found.is_internal or composite.is_membrane:
        return None
    return _Face(composite, False, found)


def _content(composite: Draft) -> Mapping[str, Draft]:
    """Return the sub-components around whose membranes the bindings of a membrane may lead."""
    if not composite.is_membrane or composite.parent is None:
        return {}
    return {
        name: one
        for name, one in composite.parent.children.items()
        if name not in composite.children
    }


def _seen(composite: Draft, owner: Draft | None, name: str) -> InterfaceType | None:
    """Return an interface as it is seen from inside the composite."""
    found = owner.traits.find(name) if owner else None
    return found.inner() if found and owner is composite and not found.is_internal else found


def _excuse(composite: Draft, owner: Draft | None, interface: str) -> None:
    """Count an interface as bound, because a binding that was reported is probably meant for it."""
    if owner is composite:
        owner.linked.add(interface)
    elif owner is not None:
        (owner.target or owner).bound.add(interface)


def _parts(text: str) -> End:
    name, _, interface = text.strip().partition(".")
    return name, interface


def _next_member(collection: str, bound: set[str]) -> str:
    """Name a member of a collection whose binding gives the collection's own name only."""
    number = 1
    while f"{collection}{number}" in bound:
        number += 1
    return f"{collection}{number}"
