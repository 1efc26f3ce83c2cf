"""The text of the skeletons: a Protocol for each signature, a class for each content."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from gcm.adl.port.counterparts import counterpart, public_name
from gcm.adl.port.operations import operation_text
from gcm.adl.port.wanted import Content, Operations, Wanted, WantedSignature
from gcm.adl.structure import stands_in_for
from gcm.factory import described
from gcm.interfaces import Cardinality, InterfaceType
from gcm.membranes import descriptions
from gcm.records import dataclass

_INDENT = "    "
_MEMBRANES = ("PRIMITIVE", "COMPOSITE", "PARAMETRIC_COMPOSITE")


@dataclass(frozen=True, slots=True)
class Skeleton:
    """One class as text, and the lines that import what it needs."""

    name: str
    text: str
    imports: frozenset[str]


@dataclass(frozen=True, slots=True)
class Names:
    """The names in Python of the missing classes, and the package they will be in."""

    package: str
    signatures: Mapping[str, str]
    contents: Mapping[str, str]
    around: Mapping[str, str]

    def signature(self, dotted: str) -> str:
        """Return the dotted name that a document has for a signature from now on."""
        if (known := counterpart(dotted)) is not None:
            return public_name(known)
        return f"{self.package}.interfaces.{self.signatures[dotted]}"

    def content(self, dotted: str) -> str:
        """Return the dotted name that a document has for a content class from now on."""
        return f"{self.package}.components.{self.contents[dotted]}"

    def around_contents(self, dotted: str) -> str:
        """Return the dotted name that a controller or an interceptor has from now on."""
        return f"{self.package}.membranes.{self.around[dotted]}"


def signature_skeleton(signature: WantedSignature, wanted: Wanted, names: Names) -> Skeleton:
    """Return the Protocol of a signature."""
    name = names.signatures[signature.dotted]
    supertypes = wanted.bases(signature.dotted)
    bases = [names.signatures[one] for one in supertypes if one in names.signatures]
    head = f"class {name}({', '.join([*bases, 'Protocol'])}):  # {signature.dotted}"
    lines = [head, *_told_of_signature(signature)]
    imports = {"from typing import Protocol"}
    lines += [
        f"{_INDENT}{one}: {_common_type(values)}" for one, values in signature.attributes.items()
    ]
    for operation, python in signature.operations.items():
        written, needed = operation_text(python)
        lines += ["", f"{_INDENT}def {operation}{written}: ..."]
        imports |= needed
    return Skeleton(name, "\n".join(lines), frozenset(imports))


def _told_of_signature(signature: WantedSignature) -> Iterator[str]:
    if signature.attributes:
        yield f'{_INDENT}"""{signature.dotted}: the attributes of a component."""'
        yield ""
        return
    yield f'{_INDENT}"""{signature.dotted}.'
    yield ""
    for word, ends in (("Offered by", signature.offered_by), ("Used by", signature.used_by)):
        if ends:
            yield f"{_INDENT}{word}:"
            yield from (f"{_INDENT}- {end}" for end in dict.fromkeys(ends))
    if not signature.operations and not signature.bases:
        yield f"{_INDENT}Nothing tells its operations: write a method for each of them."
    yield f'{_INDENT}"""'


def content_skeleton(content: Content, wanted: Wanted, names: Names) -> Skeleton:
    """Return the class of a content."""
    name = names.contents[content.dotted]
    interfaces = content.interfaces
    operations: Operations = {}
    for one in interfaces:
        if one.is_server and not one.is_internal:
            operations |= wanted.operations(one.signature)
    members = _Members(names, taken={*operations, *content.attributes})
    decorators = [members.provided(one) for one in interfaces if one.is_server]
    lines = [*decorators, f"class {name}:  # {content.dotted}"]
    lines += [f'{_INDENT}"""{content.dotted}.', ""]
    lines += [f"{_INDENT}It is {place}." for place in content.places]
    lines += [f'{_INDENT}"""', ""]
    lines += [_INDENT + members.required(one) for one in interfaces if one.is_client]
    lines += [_INDENT + members.attribute(*one) for one in content.attributes.items()]
    for operation, python in operations.items():
        written, needed = operation_text(python)
        lines += ["", f"{_INDENT}def {operation}{written}:"]
        lines += [f'{_INDENT * 2}raise NotImplementedError("{content.dotted}: {operation}")']
        members.imports |= needed
    text = "\n".join(lines).rstrip()
    return Skeleton(name, re.sub(r"\n{3,}", "\n\n", text), frozenset(members.imports))


def controller_skeleton(dotted: str, interface: str, wanted: Wanted, names: Names) -> Skeleton:
    """Return the class of a controller that a controller file lists."""
    concern = re.sub(r"(Controller)?(Itf|Impl)?$", "", interface.rpartition(".")[2]).lower()
    control = f"{concern}-controller"
    lines = [
        f"class {names.around[dotted]}(Controller):  # {dotted}",
        f'{_INDENT}"""{dotted}, with the interface {interface}.',
        "",
        f"{_INDENT}Its public methods are the operations of the interface {control}.",
        f'{_INDENT}"""',
        "",
        f'{_INDENT}name = "{concern}"',
    ]
    imports = {"from gcm import Controller"}
    if control in wanted.acting:
        lines += _hooks(dotted)
        imports.add("from gcm import Invocation")
    return Skeleton(names.around[dotted], "\n".join(lines), frozenset(imports))


def interceptor_skeleton(dotted: str, names: Names) -> Skeleton:
    """Return the class of an interceptor."""
    name = names.around[dotted]
    told = f'{_INDENT}"""{dotted}, an interceptor."""'
    lines = [f"class {name}:  # {dotted}", told, *_hooks(dotted)]
    return Skeleton(name, "\n".join(lines), frozenset({"from gcm import Invocation"}))


def membrane_skeleton(dotted: str, kind: str, names: Names) -> Skeleton:
    """Return the description of a membrane, with the controllers of a predefined one."""
    name = names.around[dotted]
    (known,) = (one for one in _MEMBRANES if described(kind) is getattr(descriptions, one))
    lines = [
        f'{name} = {known}.including(name="{name}")  # {dotted}',
        f'"""{dotted}: name the classes of its further controllers before its name."""',
    ]
    return Skeleton(name, "\n".join(lines), frozenset({f"from gcm import {known}"}))


def _hooks(dotted: str) -> Iterator[str]:
    for hook, more in (("before", ""), ("after", ", error: BaseException | None")):
        yield ""
        yield f"{_INDENT}def {hook}(self, call: Invocation{more}) -> None:"
        yield f'{_INDENT * 2}raise NotImplementedError("{dotted}: {hook}")'


class _Members:
    """Writes the declarations of one content class."""

    def __init__(self, names: Names, taken: Iterable[str]) -> None:
        self.names = names
        self.taken = set(taken)
        self.imports: set[str] = set()

    def provided(self, declared: InterfaceType) -> str:
        self.imports.add("from gcm import provides")
        options = self._options(declared)
        words = ", ".join([f'"{declared.name}"', self._signature(declared), *options])
        return f"@provides({words})"

    def required(self, declared: InterfaceType) -> str:
        self.imports |= {"from typing import Annotated", "from gcm import requires"}
        attribute = _identifier(declared.name, self.taken)
        self.taken.add(attribute)
        options = self._options(declared)
        if attribute != declared.name:
            options.append(f'name="{declared.name}"')
        signature = self._signature(declared)
        if declared.is_collection:
            self.imports.add("from collections.abc import Mapping")
            signature = f"Mapping[str, {signature}]"
        return f"{attribute}: Annotated[{signature}, requires({', '.join(options)})]"

    def attribute(self, name: str, values: Sequence[str]) -> str:
        self.imports |= {"from typing import Annotated", "from gcm import attribute"}
        kind = _common_type(values)
        shown = _READ[kind](values[0])
        return f"{name}: Annotated[{kind}, attribute()] = {shown!r}"

    def _signature(self, declared: InterfaceType) -> str:
        dotted = stands_in_for(declared.signature)
        known = counterpart(dotted)
        if dotted and known is None:
            self.imports.add(f"from {self.names.package} import interfaces")
            return f"interfaces.{self.names.signatures[dotted]}"
        full = f"{declared.signature.__module__}.{declared.signature.__qualname__}"
        full = full if known is None else public_name(known)
        module, _, name = full.rpartition(".")
        self.imports.add(f"from {module} import {name}")
        return name

    def _options(self, declared: InterfaceType) -> list[str]:
        options = []
        if declared.cardinality is not Cardinality.SINGLETON:
            self.imports.add("from gcm import Cardinality")
            options.append(f"cardinality=Cardinality.{declared.cardinality.name}")
        if not declared.is_mandatory:
            options.append("optional=True")
        return options


def _identifier(name: str, taken: Collection[str]) -> str:
    found = re.sub(r"\W", "_", name)
    while keyword.iskeyword(found) or found in taken:
        found += "_"
    return found


def _common_type(values: Iterable[str]) -> str:
    """Return the type that all values of an attribute have: text if they have none in common."""
    kinds = {_type(value) for value in values}
    if kinds == {"int", "float"}:
        return "float"
    return kinds.pop() if len(kinds) == 1 else "str"


def _type(value: str) -> str:
    """Return the most probable type of a value of an attribute."""
    if re.fullmatch(r"[+-]?\d+", value.strip()):
        return "int"
    if value.strip().lower() in ("true", "false"):
        return "bool"
    try:
        return "float" if math.isfinite(float(value)) else "str"
    except ValueError:
        return "str"


_READ: Mapping[str, Callable[[str], object]] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": lambda value: value.strip().lower() == "true",
}
