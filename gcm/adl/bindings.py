"""Checks the bindings of a composite: both ends, their roles, signatures and number."""

from __future__ import annotations

import re
from dataclasses import field
from typing import Any

from gcm.adl.binding_ends import (
    EndReader,
    Face,
    excuse,
    own_client,
    owner_of,
    parts_of_end,
    seen_inside,
)
from gcm.adl.definitions import BindingNode
from gcm.adl.drafts import Draft
from gcm.adl.findings import Findings
from gcm.adl.plan import BindingPlan, End
from gcm.adl.structure import stands_in_for
from gcm.documents import Location
from gcm.errors import IllegalTypeError
from gcm.interfaces import Cardinality, cure_for, mismatches
from gcm.records import dataclass

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MANY = (Cardinality.MULTICAST, Cardinality.COLLECTION)


@dataclass(slots=True)
class BindingCheck:
    """Checks composites one after the other, and remembers what it compared."""

    findings: Findings
    _ends: EndReader = field(init=False)
    _compared: dict[tuple[type[Any], type[Any], Cardinality], tuple[str, ...]] = field(
        default_factory=dict
    )

    def __post_init__(self) -> None:
        """Read the ends with the same findings."""
        self._ends = EndReader(self.findings)

    def check(self, composite: Draft) -> None:
        """Report the errors in a composite's bindings; valid ones are added to the draft."""
        taken: dict[tuple[str, str], BindingNode] = {}
        for node in composite.node.body.bindings:
            if self._reversed(composite, node):
                continue
            if _REMOTE.match(node.server):
                client = own_client(composite, node.client)
                client = client or self._ends.read(composite, node.client, "client", node.location)
                if client is not None and self._may_bind(composite, client, node, taken):
                    self._add(composite, client, node, node.server)
                continue
            client = self._ends.read(composite, node.client, "client", node.location)
            server = self._ends.read(composite, node.server, "server", node.location)
            if client is None or not self._may_bind(composite, client, node, taken):
                continue
            if server is not None and self._same_side(composite, client, server, node):
                self._compare(composite, client, server, node)
            self._add(composite, client, node, parts_of_end(node.server))

    def _same_side(self, composite: Draft, client: Face, server: Face, node: BindingNode) -> bool:
        """Report a binding in a membrane that bypasses the membrane's own interfaces."""
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

    def _reversed(self, composite: Draft, node: BindingNode) -> bool:
        """Report a binding with swapped ends once, instead of once for each end."""
        ends = [parts_of_end(node.client), parts_of_end(node.server)]
        owners = [owner_of(composite, name) for name, _ in ends]
        seen = [
            seen_inside(composite, owner, interface)
            for owner, (_, interface) in zip(owners, ends, strict=True)
        ]
        if composite.is_membrane and not all(
            owner in composite.children.values() for owner in owners
        ):
            return False  # an interface of the membrane has a face to either side
        if None in seen or [one.is_client for one in seen if one] != [False, True]:
            return False
        excuse(composite, owners[1], ends[1][1])
        message = f"the ends '{node.client}' and '{node.server}' are exchanged"
        hint = f'write client="{node.server}" server="{node.client}"'
        self._report("wrong-role", message, node.location, composite, hint)
        return True

    # ------------------------------------------------------------------------------ the binding

    def _may_bind(
        self,
        composite: Draft,
        client: Face,
        node: BindingNode,
        taken: dict[tuple[str, str], BindingNode],
    ) -> bool:
        """Report a second binding of an interface that takes only one."""
        many = client.interface.cardinality in _MANY and (
            client.interface.is_multicast or parts_of_end(node.client)[1] == client.interface.name
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

    def _compare(self, composite: Draft, client: Face, server: Face, node: BindingNode) -> None:
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
                cure_for(
                    client.interface.signature,
                    server.interface.signature,
                    client.interface.cardinality,
                    server.interface.cardinality,
                ),
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

    def _add(self, composite: Draft, client: Face, node: BindingNode, server: End | str) -> None:
        owner = client.owner.target or client.owner
        bound = owner.linked if client.is_this else owner.bound
        name, interface = parts_of_end(node.client)
        if client.interface.is_collection and interface == client.interface.name:
            interface = _next_member(interface, bound)
        bound.add(interface)
        if isinstance(server, str) or owner_of(composite, server[0]) is not None:
            composite.bindings.append(BindingPlan((name, interface), server, node.location))

    def _report(
        self, code: str, message: str, location: Location, composite: Draft, hint: str
    ) -> None:
        self.findings.report(code, message, location, composite.path, hint=hint)


def _next_member(collection: str, bound: set[str]) -> str:
    """Name a member of a collection whose binding gives the collection's own name only."""
    number = 1
    while f"{collection}{number}" in bound:
        number += 1
    return f"{collection}{number}"
