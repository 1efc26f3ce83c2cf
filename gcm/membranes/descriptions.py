"""The ready-made membranes: which controllers primitives, composites and active objects have."""

from __future__ import annotations

from gcm.components.membrane import MembraneDescription
from gcm.membranes.attribute import AttributeController
from gcm.membranes.binding import BindingController
from gcm.membranes.component import ComponentController
from gcm.membranes.content import ContentController
from gcm.membranes.content_hooks import ContentHooksController
from gcm.membranes.gathercast import GathercastController
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.lifecycle import LifeCycleController
from gcm.membranes.membrane_controller import MembraneController
from gcm.membranes.migration import MigrationController
from gcm.membranes.monitor import MonitorController
from gcm.membranes.multicast import MulticastController
from gcm.membranes.name import NameController
from gcm.membranes.priority import PriorityController
from gcm.membranes.request_queue import RequestQueueController
from gcm.membranes.super import SuperController

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
"""A primitive with attributes, as older documents say; every primitive can have some."""

DESCRIPTIONS = {known.name: known for known in (PRIMITIVE, COMPOSITE, ACTIVE, PARAMETRIC)}
"""What the `desc` of `<controller>` names."""
