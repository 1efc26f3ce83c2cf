"""Types of interfaces and components: names, roles, contingency and cardinality."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gcm.errors import IllegalTypeError
from gcm.interfaces.annotations import describe, fits
from gcm.interfaces.compatibility import mismatches
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.kinds import Cardinality, Contingency, Role
from gcm.interfaces.signature import is_abstract, signature_of
from gcm.records import dataclass

__all__ = [
    "Cardinality",
    "ComponentType",
    "Contingency",
    "InterfaceType",
    "Role",
    "is_interface_name",
]


# A composite's server interface may be multicast and its client interface gathercast, because
# the inner face does the collective work there.
_FORBIDDEN = {
    (Role.INTERNAL_SERVER, Cardinality.MULTICAST): (
        "an internal server interface receives calls and cannot be multicast"
    ),
    (Role.INTERNAL_CLIENT, Cardinality.GATHERCAST): (
        "an internal client interface sends calls and cannot be gathercast"
    ),
}

# The inner face keeps these collective cardinalities, because there the work is done; the others
# are the work of the outer face, and the inner face is then a singleton.
_COLLECTIVE_INSIDE = {
    (Role.SERVER, Cardinality.MULTICAST),
    (Role.CLIENT, Cardinality.GATHERCAST),
}

_INNER_ROLES = {Role.SERVER: Role.INTERNAL_CLIENT, Role.CLIENT: Role.INTERNAL_SERVER}


def is_interface_name(text: str) -> bool:
    """Return whether the text is a valid interface name: an identifier, with '-' and '.' inside."""
    first, *others = re.split(r"[-.]", text)
    return first.isidentifier() and all(part and f"_{part}".isidentifier() for part in others)


@dataclass(frozen=True, slots=True)
class InterfaceType:
    """The type of one interface.

    Raises IllegalTypeError, with every fault listed, for an invalid name, a signature that is not a
    class, and a cardinality that the role cannot have.

    >>> InterfaceType("greeter", Greeter, Role.CLIENT)  # doctest: +SKIP
    """

    name: str
    signature: type[Any]
    role: Role = Role.SERVER
    contingency: Contingency = Contingency.MANDATORY
    cardinality: Cardinality = Cardinality.SINGLETON

    def __post_init__(self) -> None:
        """Refuse a contradictory type."""
        signature: Any = self.signature
        faults = []
        if not is_interface_name(self.name):
            faults.append(
                f"'{self.name}' is not an interface name: use an identifier, '-' and '.' inside"
            )
        if not isinstance(signature, type):
            faults.append(f"its signature {signature!r} is not a class")
        elif not is_abstract(signature):
            faults.append(
                f"its signature {signature.__qualname__} is a plain class, which says how its "
                "objects work: use a Protocol or an abstract class, which says what can be called"
            )
        elif self.cardinality is Cardinality.MULTICAST:
            faults += _unlisted(signature)
        faults += _misspelled(self.role, self.contingency, self.cardinality)
        forbidden = _FORBIDDEN.get((self.role, self.cardinality))
        if forbidden:
            faults.append(forbidden)
        _refuse(f"the type of interface '{self.name}' is illegal", faults)

    @property
    def is_client(self) -> bool:
        """Whether calls leave through the interface."""
        return self.role.is_client

    @property
    def is_server(self) -> bool:
        """Whether calls arrive at the interface."""
        return self.role.is_server

    @property
    def is_internal(self) -> bool:
        """Whether the interface lies on the inner face of a composite."""
        return self.role.is_internal

    @property
    def is_mandatory(self) -> bool:
        """Whether the component cannot start without it."""
        return self.contingency is Contingency.MANDATORY

    @property
    def is_collection(self) -> bool:
        """Whether the type stands for any number of interfaces that share its prefix."""
        return self.cardinality is Cardinality.COLLECTION

    @property
    def is_multicast(self) -> bool:
        """Whether one call goes to several servers."""
        return self.cardinality is Cardinality.MULTICAST

    @property
    def is_gathercast(self) -> bool:
        """Whether the calls of several clients become one."""
        return self.cardinality is Cardinality.GATHERCAST

    def with_name(self, name: str) -> InterfaceType:
        """Return the same type under another name, such as that of a collection's member."""
        return replace(self, name=name)

    def is_subtype_of(self, other: InterfaceType) -> bool:
        """Return whether an interface of this type can take the place of one of the other.

        A server offers at least as much: a subtype of the signature, mandatory where the other is.
        A client asks for at most as much: a supertype, optional where the other is. Name and role
        are the same, and so is the cardinality, but for a collection in the place of a singleton.

        >>> InterfaceType("a", Louder).is_subtype_of(InterfaceType("a", Echo))  # doctest: +SKIP
        True
        """
        if (self.name, self.role) != (other.name, other.role):
            return False
        if self.cardinality is not other.cardinality and not (
            self.is_collection and other.cardinality is Cardinality.SINGLETON
        ):
            return False
        if self.is_server:
            return not mismatches(other.signature, self.signature) and (
                self.is_mandatory or not other.is_mandatory
            )
        return not mismatches(self.signature, other.signature) and (
            other.is_mandatory or not self.is_mandatory
        )

    def inner(self) -> InterfaceType:
        """Return the type of the inner face of this external interface of a composite.

        A server interface is a client inside, and the reverse. Multicast is kept inside a server
        and gathercast inside a client interface, where the inner face does that work; where the
        outer face does it, the inner face is a singleton. Behind a server that redistributes arrays
        the inner face is multicast, to meet all members. Raises IllegalTypeError for an internal
        type.
        """
        if self.is_internal:
            raise IllegalTypeError(
                f"interface '{self.name}' is already internal and has no inner face",
                interface=self.name,
            )
        cardinality = self.cardinality
        if self.is_server and redistributes(self.signature):
            cardinality = Cardinality.MULTICAST  # every member behind it gets its own block
        elif not (self.is_collection or (self.role, cardinality) in _COLLECTIVE_INSIDE):
            cardinality = Cardinality.SINGLETON
        return replace(self, role=_INNER_ROLES[self.role], cardinality=cardinality)


def _unlisted(signature: type[Any]) -> list[str]:
    """Return a sentence for each operation that cannot give its caller the results of many."""
    if redistributes(signature):  # every member passes its own block, and has its own result
        return []
    return [
        f"a multicast call of '{operation.name}' gives a list of results, and it returns "
        f"{describe(operation.result)}: return list[{describe(operation.result)}] or None, or "
        "declare a reduction"
        for operation in signature_of(signature).operations.values()
        if operation.reduction is None
        and not operation.returns_nothing
        and not fits(list[Any], operation.result)
    ]


def _misspelled(role: object, contingency: object, cardinality: object) -> list[str]:
    words = ((role, Role), (contingency, Contingency), (cardinality, Cardinality))
    return [
        f"{word!r} is no {kind.__name__}: use "
        + ", ".join(f"{kind.__name__}.{one.name}" for one in kind)
        for word, kind in words
        if not isinstance(word, kind)
    ]


@dataclass(frozen=True, slots=True)
class ComponentType:
    """The interface types of a component, in the order of their declaration.

    Raises IllegalTypeError, with every fault listed, for names used twice and for names that begin
    with the name of a collection.
    """

    interfaces: tuple[InterfaceType, ...] = ()

    def __post_init__(self) -> None:
        """Refuse names that a lookup could not distinguish."""
        names = [interface.name for interface in self.interfaces]
        faults = [
            f"{count} interfaces are named '{name}'"
            for name, count in Counter(names).items()
            if count > 1
        ]
        collections = [interface.name for interface in self.interfaces if interface.is_collection]
        faults += [
            f"the name '{name}' begins with the name of the collection '{prefix}'"
            for prefix in dict.fromkeys(collections)
            for name in dict.fromkeys(names)
            if name != prefix and name.startswith(prefix)
        ]
        _refuse("the component type is illegal", faults)

    def is_subtype_of(self, other: ComponentType) -> bool:
        """Return whether a component of this type can take the place of one of the other.

        It offers all that the other offers and asks for nothing that the other does not ask for:
        each of the other's servers has a subtype here, each client here a supertype there.
        """
        return all(
            any(own.is_subtype_of(server) for own in self.interfaces)
            for server in other.interfaces
            if server.is_server
        ) and all(
            any(client.is_subtype_of(theirs) for theirs in other.interfaces)
            for client in self.interfaces
            if client.is_client
        )

    def find(self, name: str) -> InterfaceType | None:
        """Return the type that declares the interface of that name, or None.

        A collection's type is found by the name of a member, its own name and a suffix that is not
        empty; the bare name of a collection names no interface.
        """
        for interface in self.interfaces:
            if interface.is_collection:
                if name.startswith(interface.name) and name != interface.name:
                    return interface if is_interface_name(name) else None
            elif interface.name == name:
                return interface
        return None


def _refuse(what: str, faults: Iterable[str]) -> None:
    listed = "; ".join(faults)
    if listed:
        raise IllegalTypeError(f"{what}: {listed}")
