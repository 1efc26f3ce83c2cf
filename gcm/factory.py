"""The factory: (component type, controller description, content description) -> component."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol, cast

from gcm.components.composite import Composite
from gcm.components.declarations import GIVE_DEFAULTS, declared_type, needed_arguments
from gcm.components.membrane import MembraneDescription, control_name
from gcm.components.model import NAME_RULE, Component, is_component_name
from gcm.components.primitive import Primitive, check_content
from gcm.components.wrapper import Wrapped, Wrapper
from gcm.errors import GcmError, IllegalTypeError, InstantiationError
from gcm.interfaces.compatibility import mismatches
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import (
    ACTIVE,
    COMPOSITE,
    DESCRIPTIONS,
    FRACTAL_NAMES,
    PARAMETRIC_COMPOSITE,
    PRIMITIVE,
    TEMPLATE_SUFFIX,
    find_description,
    template_of,
)
from gcm.membranes.factory import FactoryController
from gcm.membranes.interceptor import Interceptor
from gcm.suggestion import did_you_mean


class ComponentPlace(Protocol):
    """Where components can live: a node of a machine, or some that take turns."""

    def make(
        self,
        name: str,
        type: ComponentType,
        controllers: MembraneDescription,
        content: Callable[[], Any] | None,
    ) -> Component:
        """Make a component there, and return what stands for it here.

        What was given has been checked, as far as that can be done without making the content.
        """


_PLACE: ContextVar[ComponentPlace | None] = ContextVar("place", default=None)


@contextmanager
def placed(place: ComponentPlace | None) -> Iterator[None]:
    """Let components that are made in the block, by this thread, live at a place; None is here.

    A template lives here; its instances are placed where they are made.

    >>> with placed(machine.nodes()["lab/rack/blade1"]):      # doctest: +SKIP
    ...     worker = primitive(Worker)                        # doctest: +SKIP
    """
    before = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(before)


def new_component(
    name: str,
    type: ComponentType,
    controllers: MembraneDescription | str,
    content: Callable[[], Any] | None = None,
    *,
    node: ComponentPlace | None = None,
) -> Component:
    """Make a component: a primitive around what `content` makes, or a composite.

    `controllers` describes the membrane or names a predefined one, such as "primitive" or
    "composite"; with "Template" behind its name, a template is made. The content of a parametric
    composite holds its attributes. With `node` it lives there, and what is returned stands for it.

    Raises:
        InstantiationError: the name is no name, there is no such membrane, the content cannot be
            made (its own exception is the cause), does not implement the interfaces, or membrane
            and content do not fit.
    """
    _check_name(name)
    base = made_by_template(controllers) if isinstance(controllers, str) else ""
    if base:
        return new_template(name, type, base, content, node=node)
    description = described(controllers, name)
    _check_fit(name, description, content)
    place = node or _PLACE.get()
    if place is not None:
        _check_content(name, type, description, content)
        return place.make(name, type, description, content)
    made = _new_part(name, type, description, content)
    made.attach()
    return made


def new_template(
    name: str,
    type: ComponentType,
    controllers: MembraneDescription | str,
    content: Callable[[], Any] | None = None,
    *,
    node: ComponentPlace | None = None,
) -> Component:
    """Make a template of components that `new_component` makes of the same arguments.

    It is named, bound, filled with templates and given attributes like a component; the factory
    in its membrane makes instances of all that. A content object of its own holds the attributes.
    A template does not run, and is here; with `node` its instances live there.

    >>> worker = new_template("worker", type, PRIMITIVE, Worker)      # doctest: +SKIP
    >>> worker.controller(FactoryController).new_instance().start()   # doctest: +SKIP

    Raises:
        InstantiationError: as `new_component` does.
    """
    _check_name(name)
    base = made_by_template(controllers) if isinstance(controllers, str) else ""
    if base:
        raise InstantiationError(
            f"'{controllers}' is the membrane of a template, and not of what it makes",
            component=name,
            cure=f"Write '{base}', or new_component(..., '{controllers}')",
        )
    instances = described(controllers, name)
    _check_fit(name, instances, content)
    made = _new_part(name, type, template_of(instances), content)
    make = new_component if node is None else partial(new_component, node=node)
    made.controller(FactoryController).is_to_make(make, instances, content)
    made.attach()
    return made


def made_by_template(name: str) -> str:
    """Return the membrane of the instances of a predefined template, or nothing for other names.

    >>> made_by_template("primitiveTemplate"), made_by_template("primitive")
    ('primitive', '')
    """
    base = name.removesuffix(TEMPLATE_SUFFIX)
    return base if base != name and find_description(base) else ""


def described(controllers: object, component: str = "") -> MembraneDescription:
    """Return the description of a membrane, or the predefined one of that name.

    Raises:
        InstantiationError: there is none of that name, or the argument is not a description.
    """
    if isinstance(controllers, MembraneDescription):
        return controllers
    found = find_description(controllers) if isinstance(controllers, str) else None
    if found is None:
        known = (*DESCRIPTIONS, *FRACTAL_NAMES)
        raise InstantiationError(
            f"there is no membrane '{controllers}'"
            if isinstance(controllers, str)
            else f"{controllers!r} does not describe a membrane",
            component=component,
            cure=did_you_mean(f"{controllers}", known)
            or f"Pass a MembraneDescription or one of: {', '.join(DESCRIPTIONS)}",
        )
    return found


def _check_fit(
    name: str, description: MembraneDescription, content: Callable[[], Any] | None
) -> None:
    is_composite = ContentController in description.controllers
    may_have_content = not is_composite or AttributeController in description.controllers
    if (content is None and not is_composite) or (content is not None and not may_have_content):
        raise InstantiationError(
            f"the membrane '{description.name}' and the content do not fit",
            component=name,
            cure="A primitive needs some"
            if content is None
            else "Only a parametric composite has content, for its attributes: "
            "PARAMETRIC_COMPOSITE",
        )


def _check_content(
    name: str,
    type: ComponentType,
    description: MembraneDescription,
    content: Callable[[], Any] | None,
) -> None:
    """Find what is wrong with a content class without making an object of it."""
    if content is None:
        return
    why = ""
    if not callable(cast(Any, content)):  # it came from a program that nobody checks
        why = f"TypeError: {content!r} is no class"
    elif inspect.isabstract(content):
        why = f"TypeError: {_name_of(content)} is an abstract class"
    elif needed := needed_arguments(content):
        why = f"TypeError: it needs {', '.join(needed)}"
    if why:
        raise InstantiationError(
            f"the content {_name_of(content)} could not be made: {why}",
            component=name,
            cure=f"It is constructed without arguments: {GIVE_DEFAULTS}",
        )
    if isinstance(content, builtins.type) and ContentController not in description.controllers:
        check_content(name, content, type)


def _new_part(
    name: str,
    type: ComponentType,
    description: MembraneDescription,
    content: Callable[[], Any] | None,
) -> Component:
    if ContentController in description.controllers:
        parameters = None if content is None else made_content(name, content)
        return Composite(name, type, description, parameters)
    assert content is not None
    return Primitive(name, type, description, made_content(name, content))


def primitive(
    content: Callable[[], Any],
    name: str = "",
    *,
    type: ComponentType | None = None,
    controllers: MembraneDescription | str = PRIMITIVE,
    node: ComponentPlace | None = None,
) -> Primitive:
    """Make a primitive of a class (or another callable that makes the object).

    Its type is what the class declares, unless `type` is given; its name is that of the class.
    With `node` it lives there, and what is returned stands for it.

    >>> server = primitive(Server)    # doctest: +SKIP
    """
    called = name or _name_of(content).lower()
    made = new_component(called, type or _declared(content), controllers, content, node=node)
    if isinstance(made, Composite):
        raise InstantiationError(
            f"the membrane '{made.membrane.description.name}' is that of a composite",
            component=called,
            cure="Make it with composite(...)",
        )
    return cast(Primitive, made)  # what stands for one on a node is used like one


def active(
    content: Callable[[], Any],
    name: str = "",
    *,
    type: ComponentType | None = None,
    node: ComponentPlace | None = None,
) -> Primitive:
    """Make an active object: a primitive with a request queue and a thread of its own."""
    return primitive(content, name, type=type, controllers=ACTIVE, node=node)


def composite(
    name: str,
    type: ComponentType | None = None,
    *,
    content: Callable[[], Any] | None = None,
    controllers: MembraneDescription | str | None = None,
    node: ComponentPlace | None = None,
) -> Composite:
    """Make a composite; without `type` it has no interfaces of its own.

    With `content` it is a parametric composite: the object made of it holds the attributes.
    """
    usual = COMPOSITE if content is None else PARAMETRIC_COMPOSITE
    made = new_component(name, type or ComponentType(), controllers or usual, content, node=node)
    if not isinstance(made, Composite):
        raise InstantiationError(
            f"the membrane '{made.membrane.description.name}' is that of a primitive",
            component=name,
            cure="Make it with primitive(...)",
        )
    return made


def wrapper(
    name: str,
    type: ComponentType,
    wrapped: Wrapped,
    *,
    controllers: MembraneDescription | str = PRIMITIVE,
) -> Wrapper:
    """Make a wrapper around something that runs elsewhere.

    Raises:
        InstantiationError: the name is no name, or there is no such membrane.
    """
    _check_name(name)
    made = Wrapper(name, type, described(controllers, name), wrapped)
    made.attach()
    return made


def _check_name(name: str) -> None:
    if not is_component_name(name):
        raise InstantiationError(f"'{name}' cannot name a component", cure=NAME_RULE)


def made_content(name: str, content: Callable[[], Any]) -> Any:
    """Return the content of the component of this name; raises InstantiationError."""
    try:
        return content()
    except GcmError:
        raise
    except Exception as error:
        raise InstantiationError(
            f"the content {_name_of(content)} could not be made: {type(error).__name__}: {error}",
            component=name,
            cure=f"It is constructed without arguments: {GIVE_DEFAULTS}"
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
    """Return the types of the control interfaces of a predefined membrane or of a description.

    >>> [one.name for one in control_types("composite")][:2]
    ['lifecycle-controller', 'binding-controller']
    """
    return [
        InterfaceType(control_name(known.name), known) for known in described(membrane).controllers
    ]


def can_intercept(signature: type[Any]) -> bool:
    """Return whether servers of a signature can be interceptors.

    >>> from gcm.membranes.interceptor import Interceptor
    >>> can_intercept(Interceptor)
    True
    """
    try:
        return not mismatches(Interceptor, signature)
    except IllegalTypeError:
        return False
