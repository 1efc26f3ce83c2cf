"""Declares in Python what the component of a content class offers and needs.

@provides("greeter", Greeter)
class Server:
    def greet(self, name: str) -> str: ...

@provides("run", Runnable)
class Client:
    greeter: Annotated[Greeter, requires()]
    size: Annotated[int, attribute()] = 5
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from gcm.errors import IllegalTypeError
from gcm.interfaces.hints import split_annotated
from gcm.interfaces.policies.marks import get_mark, put_mark
from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role
from gcm.records import dataclass

Content = TypeVar("Content", bound=type)
Method = TypeVar("Method", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Requirement:
    """The arguments of `requires()` for a client interface."""

    optional: bool
    cardinality: Cardinality
    name: str


@dataclass(frozen=True, slots=True)
class AttributeMark:
    """What `attribute()` said: the annotated name is an attribute of the component."""


def provides(
    name: str,
    signature: type[Any],
    *,
    cardinality: Cardinality = Cardinality.SINGLETON,
    optional: bool = False,
) -> Callable[[Content], Content]:
    """Declare a server interface of the components made from the decorated class.

    It replaces an inherited one of the same name.
    """
    contingency = Contingency.OPTIONAL if optional else Contingency.MANDATORY
    declared = InterfaceType(name, signature, Role.SERVER, contingency, cardinality)

    def decorate(content: Content) -> Content:
        inherited = [one for base in getattr(content, "__bases__", ()) for one in _provided(base)]
        kept = [one for one in _provided(content) if one.name != name or one not in inherited]
        put_mark(content, "provides", (declared, *kept), "provides")
        return content

    return decorate


def requires(
    *,
    optional: bool = False,
    cardinality: Cardinality = Cardinality.SINGLETON,
    name: str = "",
) -> Requirement:
    """Declare a client interface: `greeter: Annotated[Greeter, requires()]`.

    The stub is put into the attribute before the component starts. With the cardinality
    `collection` the annotation is a mapping and the attribute maps suffixes to stubs; that of an
    optional one may be `Greeter | None`. `name` is the name of the interface where it differs from
    that of the attribute.
    """
    return Requirement(optional, cardinality, name)


def attribute() -> AttributeMark:
    """Declare an attribute of the component: `size: Annotated[int, attribute()] = 5`."""
    return AttributeMark()


def immediate(method: Method) -> Method:
    """Make calls of `method` bypass an active object's queue and run in the caller's thread."""
    put_mark(method, "immediate", True, "immediate")
    return method


def is_immediate(content: type[Any], operation: str) -> bool:
    """Return whether `content` declares `operation` immediate."""
    return bool(get_mark(getattr(content, operation, None), "immediate"))


def declared_interfaces(content: type[Any]) -> tuple[InterfaceType, ...]:
    """Return the interface types that `content` declares, the servers first.

    Raises:
        IllegalTypeError: a declaration contradicts itself or names a type that cannot be resolved.
    """
    return _provided(content) + tuple(
        required
        for attribute_name, annotation in _hints(content).items()
        for required in _required(attribute_name, annotation)
    )


def declared_type(content: type[Any]) -> ComponentType:
    """Return the component type that `content` declares."""
    return ComponentType(declared_interfaces(content))


def client_attributes(content: type[Any]) -> Mapping[str, str]:
    """Return, for each client interface, the attribute of the content that holds its stub."""
    return {
        required.name: attribute_name
        for attribute_name, annotation in _hints(content).items()
        for required in _required(attribute_name, annotation)
    }


def declared_attributes(content: type[Any]) -> Mapping[str, Any]:
    """Return the annotations of the attributes that `content` declares, by name."""
    return {
        name: split_annotated(annotation)[0]
        for name, annotation in _hints(content).items()
        if any(isinstance(mark, AttributeMark) for mark in split_annotated(annotation)[1])
    }


def _provided(content: type[Any]) -> tuple[InterfaceType, ...]:
    found: tuple[InterfaceType, ...] = get_mark(content, "provides") or ()
    return found


def _hints(content: type[Any]) -> Mapping[str, Any]:
    try:
        return get_type_hints(content, include_extras=True)
    except NameError as error:
        raise IllegalTypeError(
            f"an annotation of the class {content.__qualname__} cannot be resolved: {error}",
            cure="Import the name in the module itself, not under TYPE_CHECKING",
        ) from error


def _required(attribute_name: str, annotation: Any) -> list[InterfaceType]:
    signature, marks = split_annotated(annotation)
    found = []
    for mark in marks:
        if isinstance(mark, Requirement):
            if mark.cardinality is Cardinality.COLLECTION and get_origin(signature):
                signature = get_args(signature)[-1]
            elif get_origin(signature) in (dict, Mapping):
                raise IllegalTypeError(
                    f"the attribute '{attribute_name}' is a mapping, as for a collection",
                    cure="Write requires(cardinality=Cardinality.COLLECTION)",
                )
            elif mark.optional:
                signature = _without_none(signature)
            found.append(
                InterfaceType(
                    mark.name or attribute_name,
                    signature,
                    Role.CLIENT,
                    Contingency.OPTIONAL if mark.optional else Contingency.MANDATORY,
                    mark.cardinality,
                )
            )
    return found


def _without_none(signature: Any) -> Any:
    """Return the type in an optional annotation."""
    others = [one for one in get_args(signature) if one is not type(None)]
    return others[0] if len(others) == 1 and len(get_args(signature)) == 2 else signature


GIVE_DEFAULTS = (
    "give its parameters defaults, or declare attributes: size: Annotated[int, attribute()] = 1"
)

_OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def needed_arguments(content: Callable[..., Any]) -> list[str]:
    """Return the parameters without which `content` cannot be called.

    >>> needed_arguments(Server)    # doctest: +SKIP
    ['port']
    """
    try:
        parameters = inspect.signature(content).parameters.values()
    except (TypeError, ValueError):  # some built-in classes have no signature
        return []
    return [one.name for one in parameters if one.default is one.empty and one.kind not in _OPEN]
