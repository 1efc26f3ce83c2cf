"""Makes live components of a plan, with the same factory that programs use."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from gcm.adl.plan import (
    AssemblyPlan,
    BindingPlan,
    ComponentPlan,
    InterceptorPlan,
    MembraneKind,
    MembranePlan,
    NodeCardinality,
)
from gcm.components.composite import Composite
from gcm.components.control_interface import controller_name
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.components.notes import NO_NOTES, ExportedNodeNote, Notes, VirtualNodeNote
from gcm.errors import AdlError, GcmError, InstantiationError
from gcm.factory import new_component
from gcm.interfaces.interface import Referenced, ServerEnd, ServerInterface
from gcm.membranes.attribute import AttributeController
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import DESCRIPTIONS
from gcm.membranes.interceptor import Interceptor, InterceptorController
from gcm.membranes.membrane_controller import MembraneController

Make = Callable[[ComponentPlan], Component]
FindRemote = Callable[[str], ServerEnd]

THIS = "this"


def describe_membrane(plan: MembranePlan) -> MembraneDescription:
    """Return the controllers that a plan asks for."""
    if plan.description is not None:
        return cast(MembraneDescription, plan.description)
    return DESCRIPTIONS[plan.kind.value]


def make_component(plan: ComponentPlan) -> Component:
    """Make the bare component of a plan, without its sub-components."""
    content = None if plan.membrane.kind is MembraneKind.COMPOSITE else plan.content
    return new_component(plan.name, plan.component_type, describe_membrane(plan.membrane), content)


def assemble(
    plan: AssemblyPlan, *, make: Make = make_component, find_remote: FindRemote | None = None
) -> Component:
    """Make, fill, configure and bind everything in `plan`; return the root, stopped.

    `make` makes one bare component and can put it elsewhere; `find_remote` turns a remote
    reference into a server end.

    Raises:
        InstantiationError: a content class or an interceptor cannot be instantiated.
        AdlError: a remote reference appears and there is no `find_remote`.
    """
    assembler = _Assembler(make, find_remote)
    root = assembler.make(plan.root)
    assembler.share(plan.root)
    assembler.bind(plan.root)
    return root


def fill_membrane(component: Component, plan: ComponentPlan) -> None:
    """Put the non-functional components and interceptors of a plan into a bare component.

    Raises:
        InstantiationError: a content class or an interceptor cannot be instantiated.
    """
    _Assembler(make_component, None).fill_membrane(component, plan)


class _Assembler:
    def __init__(self, make: Make, find_remote: FindRemote | None) -> None:
        self._make = make
        self._find_remote = find_remote
        self._made: dict[str, Component] = {}

    def make(self, plan: ComponentPlan) -> Component:
        component = self._made[plan.path] = self._bare(plan)
        component.notes = _notes(plan)
        if plan.attributes:
            attributes = component.controller(AttributeController)
            for name, value in plan.attributes:
                attributes.set(name, value)
        if isinstance(component, Composite):
            content = component.controller(ContentController)
            for child in plan.components:
                content.add(self.make(child))
        if not component.is_elsewhere:
            self.fill_membrane(component, plan)
        return component

    def _bare(self, plan: ComponentPlan) -> Component:
        try:
            return self._make(plan)
        except InstantiationError as error:
            # Only here it is known where in the document, and where in the assembly.
            error.what, error.component = f"{plan.location}: {error.what}", plan.path
            raise

    def share(self, plan: ComponentPlan) -> None:
        """Add the shared components, now that all of them exist."""
        for shared in plan.shared:
            holder = self._made[plan.path]
            holder.controller(ContentController).add(self._made[shared.target])
        for child in plan.components:
            self.share(child)

    def bind(self, plan: ComponentPlan) -> None:
        for child in plan.components:
            self.bind(child)
        for binding in plan.bindings:
            self._bind_one(plan, binding)

    def _bind_one(self, plan: ComponentPlan, binding: BindingPlan) -> None:
        name, interface = binding.client
        if isinstance(binding.server, str):
            server = self._remote(binding.server, binding)
            self._part(plan, name).bind(interface, server)
            return
        try:
            self._part(plan, name).bind(interface, self._server(plan, *binding.server))
        except GcmError as error:
            # Only here it is known where in the document.
            error.what = f"{binding.location}: {error.what}"
            raise

    def _server(self, plan: ComponentPlan, name: str, interface: str) -> ServerEnd:
        part = self._part(plan, name)
        if name == THIS and isinstance(part, Composite) and part.type.find(interface):
            return part.inner_server(interface)
        return part.server(interface)

    def _part(self, plan: ComponentPlan, name: str) -> Component:
        if name == THIS:
            return self._made[plan.path]
        shared = next((one.target for one in plan.shared if one.name == name), None)
        return self._made[shared or f"{plan.path}/{name}"]

    def _remote(self, reference: str, binding: BindingPlan) -> ServerEnd:
        if self._find_remote is None:
            raise AdlError(
                f"{binding.location}: the remote reference '{reference}' cannot be reached from "
                "one process",
                cure="Deploy the assembly with gcm-deploy, or bind a local component",
            )
        found = self._find_remote(reference)
        return Referenced(found) if isinstance(found, ServerInterface) else found

    def fill_membrane(self, component: Component, plan: ComponentPlan) -> None:
        membrane = plan.membrane
        if not membrane.components and not plan.interceptors:
            return
        holder = component.controller(MembraneController)
        for part in membrane.components:
            holder.add(self.make(part))
        for binding in membrane.bindings:
            client, server = ".".join(binding.client), ".".join(binding.server)
            if binding.client[0] == THIS:
                holder.export(binding.client[1], server)
            else:
                holder.bind(client, server)
        for part in membrane.components:
            self.share(part)
            self.bind(part)
        holder.start()
        interceptors = component.controller(InterceptorController)
        for planned in plan.interceptors:
            interceptors.add(_interceptor(component, planned), planned.interface)


def _interceptor(component: Component, planned: InterceptorPlan) -> Interceptor:
    if not planned.component:
        return _new_interceptor(component, cast(Callable[[], Interceptor], planned.factory))
    if planned.component == THIS:
        return cast(Interceptor, component.membrane[controller_name(planned.server)])
    part = component.controller(MembraneController).part(planned.component)
    return cast(Interceptor, part.server(planned.server).stub)


def _new_interceptor(component: Component, factory: Callable[[], Interceptor]) -> Interceptor:
    try:
        return factory()
    except Exception as error:
        raise InstantiationError(
            f"the interceptor {getattr(factory, '__name__', factory)} could not be made: "
            f"{type(error).__name__}: {error}",
            component=component.path,
            cure="Its own exception is the cause, above",
        ) from error


def _notes(plan: ComponentPlan) -> Notes:
    if not (plan.logger or plan.virtual_node or plan.exported_nodes):
        return NO_NOTES
    node = plan.virtual_node
    multiple = node is not None and node.cardinality is NodeCardinality.MULTIPLE
    return Notes(
        logger=plan.logger,
        virtual_node=VirtualNodeNote(node.name, multiple) if node else None,
        exported_nodes=tuple(
            ExportedNodeNote(one.name, one.composed_from) for one in plan.exported_nodes
        ),
    )
