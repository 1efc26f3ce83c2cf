"""A Fractal/GCM component framework: components, membranes, interfaces and an XML language.

Assemble components in Python with `primitive`, `active`, `composite` and `Component.bind`, or in
XML and with `Assembly` from `gcm.adl`.
"""

from gcm.components.clustering import ClusteringContent, clustering_type
from gcm.components.composite import Composite
from gcm.components.declarations import attribute, immediate, provides, requires
from gcm.components.factory import active, composite, new_component, primitive, wrapper
from gcm.components.model import Component
from gcm.components.primitive import Primitive
from gcm.components.wrapper import Wrapped, Wrapper
from gcm.errors import GcmError
from gcm.interfaces.future import Future
from gcm.interfaces.gathercast import one_by_one
from gcm.interfaces.reduction import reduce_with
from gcm.interfaces.spreading import broadcast, distribute, one_to_one, round_robin, unicast
from gcm.interfaces.types import Cardinality, ComponentType, Contingency, InterfaceType, Role
from gcm.invocation import Caller, Invocation, submit
from gcm.membranes.controller import Controller
from gcm.membranes.descriptions import ACTIVE, COMPOSITE, PRIMITIVE
from gcm.membranes.interceptor import Interceptor
from gcm.membranes.membrane import MembraneDescription

__all__ = [
    "ACTIVE",
    "COMPOSITE",
    "PRIMITIVE",
    "Caller",
    "Cardinality",
    "ClusteringContent",
    "Component",
    "ComponentType",
    "Composite",
    "Contingency",
    "Controller",
    "Future",
    "GcmError",
    "Interceptor",
    "InterfaceType",
    "Invocation",
    "MembraneDescription",
    "Primitive",
    "Role",
    "Wrapped",
    "Wrapper",
    "active",
    "attribute",
    "broadcast",
    "clustering_type",
    "composite",
    "distribute",
    "immediate",
    "new_component",
    "one_by_one",
    "one_to_one",
    "primitive",
    "provides",
    "reduce_with",
    "requires",
    "round_robin",
    "submit",
    "unicast",
    "wrapper",
]
