"""The predefined membranes: which controllers primitives, composites and active objects have."""

from __future__ import annotations

from gcm.components.membrane import MembraneDescription
from gcm.membranes.attribute import AttributeController
from gcm.membranes.binding import BindingController
from gcm.membranes.collective import GathercastController, MulticastController
from gcm.membranes.content import ContentController
from gcm.membranes.content_hooks import ContentHooksController
from gcm.membranes.factory import FactoryController
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.introspection import ComponentController, NameController, SuperController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.membrane_controller import MembraneController
from gcm.membranes.migration import MigrationController
from gcm.membranes.monitor import MonitorController
from gcm.membranes.requests.request import PriorityController
from gcm.membranes.requests.request_queue import RequestQueueController

_COMMON = (
    LifeCycleController,
    BindingController,
    MonitorController,
    InterceptorController,
    ComponentController,
    NameController,
    SuperController,
    MulticastController,
    GathercastController,
    MembraneController,
)

PRIMITIVE = MembraneDescription(
    "primitive", (*_COMMON, AttributeController, ContentHooksController, MigrationController)
)
"""A passive primitive: its calls run in the threads of the callers."""

COMPOSITE = MembraneDescription("composite", (*_COMMON, ContentController))
"""A composite."""

ACTIVE = MembraneDescription(
    "active", (RequestQueueController, PriorityController, *PRIMITIVE.controllers)
)
"""An active object: a primitive with a request queue and a thread that serves it."""

PARAMETRIC = MembraneDescription("parametric", PRIMITIVE.controllers)
"""A primitive with attributes, for older documents; every primitive can have some."""

PARAMETRIC_COMPOSITE = COMPOSITE.including(
    AttributeController, ContentHooksController, name="parametricComposite"
)
"""A composite with attributes, which an object of a content class holds."""

DESCRIPTIONS = {
    known.name: known for known in (PRIMITIVE, COMPOSITE, ACTIVE, PARAMETRIC, PARAMETRIC_COMPOSITE)
}
"""The predefined membranes by name."""

FRACTAL_NAMES = {
    "flatPrimitive": PRIMITIVE,
    "parametricPrimitive": PARAMETRIC,
    "flatParametricPrimitive": PARAMETRIC,
}
"""The names of some of them in Java implementations of Fractal."""

_STRUCTURE = (
    LifeCycleController,
    BindingController,
    ComponentController,
    NameController,
    SuperController,
    MulticastController,
    GathercastController,
    AttributeController,
    ContentController,
)


def template_of(description: MembraneDescription) -> MembraneDescription:
    """Return the membrane of templates whose instances have the given one.

    A template has the controllers that describe how an assembly is built, and none for how it runs.
    """
    kept = [known for known in description.controllers if issubclass(known, _STRUCTURE)]
    return MembraneDescription(description.name + TEMPLATE_SUFFIX, (*kept, FactoryController))


TEMPLATE_SUFFIX = "Template"


def find_description(name: str) -> MembraneDescription | None:
    """Return the predefined membrane of that name, or None.

    >>> find_description("parametricPrimitive").name
    'parametric'
    """
    return DESCRIPTIONS.get(name) or FRACTAL_NAMES.get(name)
