"""What documents tell about missing classes: signatures and contents, as values."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, TypeVar

from gcm.adl.drafts import Draft
from gcm.adl.port.counterparts import counterpart
from gcm.adl.structure import stands_in_for
from gcm.errors import IllegalTypeError
from gcm.interfaces import Cardinality, Contingency, InterfaceType, signature_of
from gcm.records import dataclass

T = TypeVar("T")
Operations = dict[str, inspect.Signature]

_USED = {
    *("Annotated", "BaseException", "Cardinality", "Controller", "Invocation", "Mapping"),
    *("NotImplementedError", "Protocol", "Runnable"),
    *("attribute", "bool", "float", "int", "interfaces", "provides", "requires", "str"),
}
"""Names that skeletons use, and that no class or attribute in their modules may have."""

_SPREADING = (Cardinality.MULTICAST, Cardinality.GATHERCAST)


@dataclass(slots=True)
class WantedSignature:
    """A missing signature: its operations as far as they are known, and what it is a subtype of."""

    dotted: str
    operations: Operations = field(default_factory=dict)
    bases: list[str] = field(default_factory=list)
    attributes: dict[str, list[str]] = field(default_factory=dict)
    offered_by: list[str] = field(default_factory=list)
    used_by: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Content:
    """A missing content class: its interfaces, the values its attributes have, and where it is.

    Of each interface there are the declarations of all components that have it.
    """

    dotted: str
    declared: dict[str, list[InterfaceType]] = field(default_factory=dict)
    attributes: dict[str, list[str]] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    primitives: int = 0

    @property
    def interfaces(self) -> list[InterfaceType]:
        """What the class declares.

        A client that not every component has is optional, a server that one needs is mandatory:
        the documents of the other components say of themselves that it is optional there.
        """
        return [self._common(those) for those in self.declared.values()]

    def _common(self, those: list[InterfaceType]) -> InterfaceType:
        if those[0].is_server:
            return next((one for one in those if one.is_mandatory), those[0])
        everywhere = len(those) == self.primitives and all(one.is_mandatory for one in those)
        return those[0] if everywhere else replace(those[0], contingency=Contingency.OPTIONAL)


@dataclass(slots=True)
class Wanted:
    """Everything that is missing, by dotted name."""

    signatures: dict[str, WantedSignature] = field(default_factory=dict)
    contents: dict[str, Content] = field(default_factory=dict)
    acting: set[str] = field(default_factory=set)
    """The control interfaces of components themselves that are named as interceptors."""

    def add(self, root: Draft) -> None:
        """Add what the components below `root` tell."""
        for draft in root.walk():
            if not draft.is_reference:
                self.acting |= {
                    one.server for one in draft.traits.interceptors if one.component == "this"
                }
                self._add_content(draft)
                self._add_interfaces(draft)
        for draft in root.walk():
            self._add_bindings(draft)

    def add_others(self, root: Draft) -> None:
        """Add what the components below `root` tell about classes that nothing else names."""
        more = Wanted()
        more.add(root)
        for dotted, signature in more.signatures.items():
            self.signatures.setdefault(dotted, signature)
        for dotted, content in more.contents.items():
            self.contents.setdefault(dotted, content)
        self.acting |= more.acting

    def _add_content(self, draft: Draft) -> None:
        traits = draft.traits
        values = {name: str(value) for name, value in traits.attributes}
        written = draft.node.body.attributes
        dotted = stands_in_for(traits.content) if traits.content else ""
        if written is not None and dotted and written.signature:
            _append(self._signature(written.signature).attributes, values)
        if not dotted or "${" in dotted:
            return
        content = self.contents.setdefault(dotted, Content(dotted))
        where = draft.node.location
        place = f"{draft.path} ({Path(where.file).name}:{where.line})"
        if place not in content.places:
            content.places.append(place)
        _append(content.attributes, values)
        if not traits.kind.is_composite:
            content.primitives += 1
            _append(content.declared, {one.name: one for one in traits.component_type.interfaces})

    def _add_interfaces(self, draft: Draft) -> None:
        content = draft.traits.content
        for one in draft.traits.component_type.interfaces:
            dotted = stands_in_for(one.signature)
            if not dotted or "${" in dotted:
                continue
            signature = self._signature(dotted)
            ends = signature.offered_by if one.is_server else signature.used_by
            ends.append(f"{draft.path}.{one.name}")
            is_real = content is not None and not stands_in_for(content)
            if content is not None and is_real and one.is_server and not one.is_gathercast:
                signature.operations.update(_own_operations(content))

    def _add_bindings(self, composite: Draft) -> None:
        for binding in composite.bindings:
            if isinstance(binding.server, str):
                continue
            client = _found(composite, *binding.client)
            server = _found(composite, *binding.server)
            if client is not None and server is not None:
                self._bound(client, server)

    def _bound(self, client: InterfaceType, server: InterfaceType) -> None:
        """Learn from a binding: the server offers what the client asks for, and maybe more."""
        if client.cardinality in _SPREADING or server.cardinality in _SPREADING:
            return
        asks, offers = stands_in_for(client.signature), stands_in_for(server.signature)
        if asks and offers and asks != offers:
            if not self._is_below(asks, offers) and not self._is_below(offers, asks):
                self._signature(offers).bases.append(asks)
        elif asks and not offers:
            self._signature(asks).operations.update(operations_of(server.signature))
        elif offers and not asks:
            self._signature(offers).operations.update(operations_of(client.signature))

    def _is_below(self, lower: str, upper: str) -> bool:
        """Return whether a signature is, or is to be, a subtype of another."""
        known = self._signature(lower).bases
        return upper in known or any(self._is_below(one, upper) for one in known)

    def _signature(self, dotted: str) -> WantedSignature:
        return self.signatures.setdefault(dotted, WantedSignature(dotted))

    def in_order(self) -> Iterator[WantedSignature]:
        """Yield the signatures, each after its supertypes."""
        done: set[str] = set()

        def visit(one: WantedSignature) -> Iterator[WantedSignature]:
            if one.dotted not in done:
                done.add(one.dotted)
                for base in one.bases:
                    yield from visit(self.signatures[base])
                yield one

        for dotted in sorted(self.signatures):
            yield from visit(self.signatures[dotted])

    def bases(self, dotted: str) -> list[str]:
        """Return the supertypes of a signature that no other one of them is below.

        They come in one order for all signatures, because Python derives no class from two that
        disagree on the order of their own bases.
        """
        known = self.signatures[dotted].bases
        order = [one.dotted for one in self.in_order()]
        nearest = {one for one in known if not any(self._is_below(each, one) for each in known)}
        return sorted(nearest, key=order.index, reverse=True)

    def operations(self, signature: type[Any]) -> Operations:
        """Return what is known of the operations of a signature, be it missing or not."""
        dotted = stands_in_for(signature)
        if not dotted:
            return operations_of(signature)
        if (known := counterpart(dotted)) is not None:
            return operations_of(known)
        return self._operations_of_missing(dotted) if dotted in self.signatures else {}

    def _operations_of_missing(self, dotted: str) -> Operations:
        found: Operations = {}
        for base in self.signatures[dotted].bases:
            found |= self._operations_of_missing(base)
        return found | self.signatures[dotted].operations


def _append(lists: dict[str, list[T]], values: Mapping[str, T]) -> None:
    for name, value in values.items():
        lists.setdefault(name, []).append(value)


def operations_of(signature: type[Any]) -> Operations:
    """Return the operations of a class, or nothing where they cannot be read."""
    try:
        return {one.name: one.python for one in signature_of(signature).operations.values()}
    except IllegalTypeError:
        return {}


def _own_operations(content: type[Any]) -> Operations:
    hooks = re.compile("on_")
    return {name: one for name, one in operations_of(content).items() if not hooks.match(name)}


def _found(composite: Draft, owner: str, interface: str) -> InterfaceType | None:
    part = composite if owner == "this" else composite.children.get(owner)
    return None if part is None else part.traits.find(interface)


def can_be_attribute(name: str) -> bool:
    """Return whether a class of a skeleton can have an attribute of that name.

    >>> [can_be_attribute(name) for name in ("size", "max-size", "class")]
    [True, False, False]
    """
    is_name = name.isidentifier() and not keyword.iskeyword(name)
    return is_name and not name.startswith("_") and name not in _USED


def class_names(dotted: Iterable[str], kept: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a name in Python for each class, from as much of its own as tells it from the others.

    Classes that were given a name before keep it, and no other class gets that name.

    >>> class_names(["org.a.Worker", "org.b.Worker", "org.b.Outer$Inner"])["org.b.Worker"]
    'BWorker'
    """
    known = kept or {}
    names: dict[str, str] = {}
    taken = {*known.values(), *_USED}

    def is_free(name: str) -> bool:
        return name.isidentifier() and not keyword.iskeyword(name) and name not in taken

    for one in sorted(dotted):
        if one in known:
            names[one] = known[one]
            continue
        parts = [re.sub(r"\W", "_", part) for part in re.split(r"[.:]", one.replace("$", ""))]
        name = parts.pop()
        while not is_free(name) and parts:
            name = parts.pop().capitalize() + name
        while not is_free(name):
            name = f"{name}_" if name.isidentifier() else f"_{name}"
        taken.add(name)
        names[one] = name
    return names
