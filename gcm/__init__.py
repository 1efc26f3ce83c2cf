"""A Fractal/GCM component framework: components, membranes, interfaces and an XML language.

Assemble components in Python with `primitive`, `active`, `composite` and `Component.bind`, or in
XML and with `Assembly` from `gcm.adl`.

The names below are imported when they are first used: a process that needs only a part of the
framework starts faster.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; ranks do not import `typing`
if TYPE_CHECKING:
    from typing import Any

    from gcm.components.clustering import ClusteringContent as ClusteringContent
    from gcm.components.clustering import clustering_type as clustering_type
    from gcm.components.composite import Composite as Composite
    from gcm.components.controller import Controller as Controller
    from gcm.components.declarations import attribute as attribute
    from gcm.components.declarations import immediate as immediate
    from gcm.components.declarations import provides as provides
    from gcm.components.declarations import requires as requires
    from gcm.components.membrane import MembraneDescription as MembraneDescription
    from gcm.components.model import Component as Component
    from gcm.components.primitive import Primitive as Primitive
    from gcm.components.running import Runnable as Runnable
    from gcm.components.running import running as running
    from gcm.components.wrapper import Wrapped as Wrapped
    from gcm.components.wrapper import Wrapper as Wrapper
    from gcm.errors import GcmError as GcmError
    from gcm.factory import active as active
    from gcm.factory import composite as composite
    from gcm.factory import new_component as new_component
    from gcm.factory import new_template as new_template
    from gcm.factory import placed as placed
    from gcm.factory import primitive as primitive
    from gcm.factory import wrapper as wrapper
    from gcm.interfaces.collective.gathercast import one_by_one as one_by_one
    from gcm.interfaces.collective.gathering import RoundSettings as RoundSettings
    from gcm.interfaces.collective.gathering import WhenLeft as WhenLeft
    from gcm.interfaces.distribution import broadcast as broadcast
    from gcm.interfaces.distribution import distribute as distribute
    from gcm.interfaces.distribution import distribute_by as distribute_by
    from gcm.interfaces.distribution import one_to_one as one_to_one
    from gcm.interfaces.distribution import random as random
    from gcm.interfaces.distribution import redistribute as redistribute
    from gcm.interfaces.distribution import round_robin as round_robin
    from gcm.interfaces.distribution import unicast as unicast
    from gcm.interfaces.future import Future as Future
    from gcm.interfaces.policies.reduction import concat as concat
    from gcm.interfaces.policies.reduction import first as first
    from gcm.interfaces.policies.reduction import maximum as maximum
    from gcm.interfaces.policies.reduction import minimum as minimum
    from gcm.interfaces.policies.reduction import reduce_by as reduce_by
    from gcm.interfaces.policies.reduction import reduce_with as reduce_with
    from gcm.interfaces.policies.reduction import select_unique as select_unique
    from gcm.interfaces.policies.reduction import total as total
    from gcm.interfaces.submission import submit as submit
    from gcm.interfaces.types import Cardinality as Cardinality
    from gcm.interfaces.types import ComponentType as ComponentType
    from gcm.interfaces.types import Contingency as Contingency
    from gcm.interfaces.types import InterfaceType as InterfaceType
    from gcm.interfaces.types import Role as Role
    from gcm.invocation import Caller as Caller
    from gcm.invocation import Invocation as Invocation
    from gcm.membranes.attribute import AttributeController as AttributeController
    from gcm.membranes.binding import BindingController as BindingController
    from gcm.membranes.collective import GathercastController as GathercastController
    from gcm.membranes.collective import MulticastController as MulticastController
    from gcm.membranes.content import ContentController as ContentController
    from gcm.membranes.descriptions import ACTIVE as ACTIVE
    from gcm.membranes.descriptions import COMPOSITE as COMPOSITE
    from gcm.membranes.descriptions import PARAMETRIC_COMPOSITE as PARAMETRIC_COMPOSITE
    from gcm.membranes.descriptions import PRIMITIVE as PRIMITIVE
    from gcm.membranes.factory import FactoryController as FactoryController
    from gcm.membranes.interceptor import Interceptor as Interceptor
    from gcm.membranes.interceptor import InterceptorController as InterceptorController
    from gcm.membranes.introspection import ComponentController as ComponentController
    from gcm.membranes.introspection import NameController as NameController
    from gcm.membranes.introspection import SuperController as SuperController
    from gcm.membranes.lifecycle import LifeCycleController as LifeCycleController
    from gcm.membranes.membrane_controller import MembraneController as MembraneController
    from gcm.membranes.migration import MigrationController as MigrationController
    from gcm.membranes.monitor import MonitorController as MonitorController
    from gcm.membranes.requests.request import PriorityController as PriorityController
    from gcm.membranes.requests.request_queue import (
        RequestQueueController as RequestQueueController,
    )

_HOMES = {
    "gcm.components.clustering": ("ClusteringContent", "clustering_type"),
    "gcm.components.composite": ("Composite",),
    "gcm.components.declarations": ("attribute", "immediate", "provides", "requires"),
    "gcm.factory": (
        "active",
        "composite",
        "new_component",
        "new_template",
        "placed",
        "primitive",
        "wrapper",
    ),
    "gcm.components.model": ("Component",),
    "gcm.components.primitive": ("Primitive",),
    "gcm.components.running": ("Runnable", "running"),
    "gcm.components.wrapper": ("Wrapped", "Wrapper"),
    "gcm.errors": ("GcmError",),
    "gcm.interfaces.distribution": (
        "broadcast",
        "distribute",
        "distribute_by",
        "one_to_one",
        "random",
        "redistribute",
        "round_robin",
        "unicast",
    ),
    "gcm.interfaces.future": ("Future",),
    "gcm.interfaces.collective.gathercast": ("one_by_one",),
    "gcm.interfaces.collective.gathering": ("RoundSettings", "WhenLeft"),
    "gcm.interfaces.policies.reduction": (
        "concat",
        "first",
        "maximum",
        "minimum",
        "reduce_by",
        "reduce_with",
        "select_unique",
        "total",
    ),
    "gcm.interfaces.submission": ("submit",),
    "gcm.interfaces.types": (
        "Cardinality",
        "ComponentType",
        "Contingency",
        "InterfaceType",
        "Role",
    ),
    "gcm.invocation": ("Caller", "Invocation"),
    "gcm.membranes.attribute": ("AttributeController",),
    "gcm.membranes.binding": ("BindingController",),
    "gcm.membranes.content": ("ContentController",),
    "gcm.components.controller": ("Controller",),
    "gcm.membranes.introspection": ("ComponentController", "NameController", "SuperController"),
    "gcm.membranes.descriptions": ("ACTIVE", "COMPOSITE", "PARAMETRIC_COMPOSITE", "PRIMITIVE"),
    "gcm.membranes.factory": ("FactoryController",),
    "gcm.membranes.collective": ("GathercastController", "MulticastController"),
    "gcm.membranes.interceptor": ("Interceptor", "InterceptorController"),
    "gcm.membranes.lifecycle": ("LifeCycleController",),
    "gcm.components.membrane": ("MembraneDescription",),
    "gcm.membranes.membrane_controller": ("MembraneController",),
    "gcm.membranes.migration": ("MigrationController",),
    "gcm.membranes.monitor": ("MonitorController",),
    "gcm.membranes.requests.request": ("PriorityController",),
    "gcm.membranes.requests.request_queue": ("RequestQueueController",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = tuple(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gcm' has no attribute '{name}'")
    import importlib  # here: it takes a rank some of its start

    found = globals()[name] = getattr(importlib.import_module(module), name)
    return found


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *_HOME_OF})
