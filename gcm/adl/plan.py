"""The plan of an assembly: everything that is needed to make it, fully checked."""

from __future__ import annotations

from enum import StrEnum

from gcm.adl.definitions.model import LOCAL
from gcm.components import ExportedNodeNote, Notes
from gcm.documents import Location
from gcm.interfaces import ComponentType, RoundSettings
from gcm.records import dataclass

NO_INTERFACES = ComponentType()


class MembraneKind(StrEnum):
    """The membranes that `<controller desc>` can name; any other is a dotted Python name."""

    PRIMITIVE = "primitive"
    COMPOSITE = "composite"
    ACTIVE = "active"
    PARAMETRIC = "parametric"
    PARAMETRIC_COMPOSITE = "parametricComposite"

    @property
    def is_composite(self) -> bool:
        """Whether the component is filled with sub-components."""
        return self in (MembraneKind.COMPOSITE, MembraneKind.PARAMETRIC_COMPOSITE)


End = tuple[str, str]
"""One end of a binding: the component's name, or `this`, and the interface's name."""


@dataclass(frozen=True, slots=True)
class BindingPlan:
    """A binding within one composite; the server may be a remote reference such as `pyro:...`."""

    client: End
    server: End | str
    location: Location


@dataclass(frozen=True, slots=True)
class InterceptorPlan:
    """An interceptor of one interface: what a component in the membrane serves, or a Python object.

    The component `this` stands for the controllers of the component itself.
    """

    interface: str
    component: str = ""
    server: str = ""
    factory: object = None

    @property
    def end(self) -> str:
        """The interface of the component in the membrane; nothing for a Python object."""
        return ".".join(filter(None, (self.component, self.server)))


@dataclass(frozen=True, slots=True)
class RoundsPlan:
    """When the rounds of a gathercast interface are over."""

    interface: str
    settings: RoundSettings


@dataclass(frozen=True, slots=True)
class MembranePlan:
    """The membrane: its kind or its own description, and the assembly inside it.

    That of a template makes components with such a membrane.
    """

    kind: MembraneKind
    description: object = None
    component_type: ComponentType = NO_INTERFACES
    components: tuple[ComponentPlan, ...] = ()
    bindings: tuple[BindingPlan, ...] = ()
    is_template: bool = False

    @property
    def has_assembly(self) -> bool:
        """Whether there is anything in it besides controllers."""
        return bool(self.components or self.bindings or self.component_type.interfaces)


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """A sub-component that is made elsewhere, at `target`, and added here too as `name`."""

    name: str
    target: str
    location: Location


@dataclass(frozen=True, slots=True)
class ComponentPlan:
    """One component; the `content` of a composite holds its attributes, where it has some."""

    name: str
    path: str
    component_type: ComponentType
    membrane: MembranePlan
    content: type | None
    attributes: tuple[tuple[str, object], ...]
    interceptors: tuple[InterceptorPlan, ...]
    rounds: tuple[RoundsPlan, ...]
    components: tuple[ComponentPlan, ...]
    shared: tuple[SharedPlan, ...]
    bindings: tuple[BindingPlan, ...]
    notes: Notes
    location: Location


@dataclass(frozen=True, slots=True)
class AssemblyPlan:
    """A whole assembly: its root, and the number of components made for it."""

    root: ComponentPlan
    count: int


def parts_of_exported(node: ExportedNodeNote) -> list[str]:
    """Return what a node is made of as `component.node`, or `local` for this process."""
    return ["local" if LOCAL in part else ".".join(part) for part in node.composed_from]
