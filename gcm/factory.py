"""The factory: (component type, controller description, content description) -> component."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gcm.components.composite import Composite
from gcm.components.control_interface import CONTROL_SUFFIX
from gcm.components.declarations import declared_type
from gcm.components.making import GIVE_DEFAULTS, needed_arguments
from gcm.components.membrane import MembraneDescription
from gcm.components.model import NAME_RULE, Component, is_component_name
from gcm.components.primitive import Primitive
from gcm.components.wrapper import Wrapped, Wrapper
from gcm.errors import GcmError, InstantiationError
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import ACTIVE, COMPOSITE, DESCRIPTIONS, PRIMITIVE


def new_component(
    name: str,
    type: ComponentType,
    controllers: MembraneDescription,
    content: Callable[[], Any] | None = None,
) -> Component:
    """Make a component: a primitive around what `content` makes, or a composite without it.

    Raises:
        InstantiationError: the name is no name, the content cannot be made (its own exception is
            the cause), does not implement the interfaces, or a composite is given content.
    """
    _check_name(name)
    is_composite = ContentController in controllers.controllers
    if is_composite is (content is not None):
        raise InstantiationError(
            f"the membrane '{controllers.name}' and the content do not fit",
            component=name,
            cure="A composite has no content of its own, a primitive needs some",
        )
    made = (
        Composite(name, type, controllers)
        if content is None
        else Primitive(name, type, controllers, _made(name, content))
    )
    made.attach()
    return made


def primitive(
    content: Callable[[], Any],
    name: str = "",
    *,
    type: ComponentType | None = None,
    controllers: MembraneDescription = PRIMITIVE,
) -> Primitive:
    """Make a primitive of a class (or another callable that makes the object).

    Its type is what the class declares, unless `type` is given; its name is that of the class.

    >>> server = primitive(Server)    # doctest: +SKIP
    """
    made = new_component(
        name or _name_of(content).lower(), type or _declared(content), controllers, content
    )
    assert isinstance(made, Primitive)
    return made


def active(
    content: Callable[[], Any], name: str = "", *, type: ComponentType | None = None
) -> Primitive:
    """Make an active object: a primitive with a request queue and a thread of its own."""
    return primitive(content, name, type=type, controllers=ACTIVE)


def composite(
    name: str, type: ComponentType | None = None, *, controllers: MembraneDescription = COMPOSITE
) -> Composite:
    """Make a composite; without `type` it has no interfaces of its own."""
    made = new_component(name, type or ComponentType(), controllers)
    assert isinstance(made, Composite)
    return made


def wrapper(
    name: str,
    type: ComponentType,
    wrapped: Wrapped,
    *,
    controllers: MembraneDescription = PRIMITIVE,
) -> Wrapper:
    """Make a wrapper around something that runs elsewhere.

    Raises:
        InstantiationError: the name is no name.
    """
    _check_name(name)
    made = Wrapper(name, type, controllers, wrapped)
    made.attach()
    return made


def _check_name(name: str) -> None:
    if not is_component_name(name):
        raise InstantiationError(f"'{name}' cannot name a component", cure=NAME_RULE)


def _made(name: str, content: Callable[[], Any]) -> Any:
    try:
        return content()
    except GcmError:
        raise
    except Exception as error:
        raise InstantiationError(
            f"the content {_name_of(content)} could not be made: {type(error).__name__}: {error}",
            component=name,
            cure=f"It is made without arguments: {GIVE_DEFAULTS}"
            if needed_arguments(content)
            else "Its own exception is the cause, above",
        ) from error


def _declared(content: Callable[[], Any]) -> ComponentType:
    if not isinstance(content, type):
        raise InstantiationError(
            f"{content!r} is not a class, so its interfaces are not known",
            cure="Pass type=ComponentType(...)",
        )
    return declared_type(content)


def _name_of(content: Callable[[], Any]) -> str:
    return getattr(content, "__name__", content.__class__.__name__)


def control_types(membrane: object) -> list[InterfaceType]:
    """Return the types of the control interfaces of a ready-made membrane or of a description.

    >>> [one.name for one in control_types("composite")][:2]
    ['lifecycle-controller', 'binding-controller']
    """
    described = (
        membrane if isinstance(membrane, MembraneDescription) else DESCRIPTIONS[f"{membrane}"]
    )
    return [InterfaceType(known.name + CONTROL_SUFFIX, known) for known in described.controllers]
