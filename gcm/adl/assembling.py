"""Makes live components from a plan, with the same factory that programs use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import cast

from gcm.adl.membranes.acting import THIS, made_interceptor
from gcm.adl.plan import (
    AssemblyPlan,
    BindingPlan,
    ComponentPlan,
    End,
    MembranePlan,
)
from gcm.components.composite import Composite
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import AdlError, GcmError, InstantiationError
from gcm.factory import new_component, new_template
from gcm.interfaces.interface import Referenced, ServerEnd, ServerInterface
from gcm.interfaces.types import InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.collective import GathercastController
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import DESCRIPTIONS
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.membrane_controller import MembraneController

Make = Callable[[ComponentPlan], Component]
FindRemote = Callable[[str, InterfaceType], ServerEnd]
"""Turns a remote reference into a server end, for a client interface of that type."""


def describe_membrane(plan: MembranePlan) -> MembraneDescription:
    """Return the controllers that a plan asks for."""
    if plan.description is not None:
        return cast(MembraneDescription, plan.description)
    return DESCRIPTIONS[plan.kind.value]


def make_component(plan: ComponentPlan) -> Component:
    """Make the bare component of a plan, without its sub-components."""
    make = new_template if plan.membrane.is_template else new_component
    return make(plan.name, plan.component_type, describe_membrane(plan.membrane), plan.content)


def assemble(
    plan: AssemblyPlan, *, make: Make = make_component, find_remote: FindRemote | None = None
) -> Component:
    """Make, fill, configure and bind everything in `plan`; return the root, stopped.

    `make` makes one bare component and can put it elsewhere; `find_remote` turns a remote
    reference into a server end, for a client of the type that it is given too.

    Raises:
        InstantiationError: a content class or an interceptor cannot be instantiated.
        AdlError: a remote reference appears and there is no `find_remote`.
    """
    assembler = _Assembler(make, find_remote)
    root = assembler.make(plan.root)
    assembler.share(plan.root)
    membranes = list(assembler.with_membranes(plan.root))
    for one in membranes:
        assembler.export(one)
    assembler.bind(plan.root)
    for one in membranes:
        assembler.bind_membrane(one)
    for one in membranes:
        assembler.start_membrane(one)
    return root


def fill_membrane(component: Component, plan: ComponentPlan) -> None:
    """Put the non-functional components and interceptors of a plan into a bare component.

    Bindings from its membrane to the content are left to the owner of the content.

    Raises:
        InstantiationError: a content class or an interceptor cannot be instantiated.
    """
    assembler = _Assembler(make_component, None)
    assembler.take(component, plan)
    membranes = list(assembler.with_membranes(replace(plan, components=(), shared=())))
    for one in membranes:
        assembler.export(one)
    for one in membranes:
        assembler.bind_membrane(one, around_content=one is not membranes[-1])
    for one in membranes:
        assembler.start_membrane(one)


class _Assembler:
    def __init__(self, make: Make, find_remote: FindRemote | None) -> None:
        self._make = make
        self._find_remote = find_remote
        self._made: dict[str, Component] = {}

    def make(self, plan: ComponentPlan) -> Component:
        component = self._made[plan.path] = self._bare(plan)
        component.notes = plan.notes
        if plan.attributes:
            attributes = component.controller(AttributeController)
            for name, value in plan.attributes:
                attributes.set(name, value)
        for rounds in plan.rounds:
            how = rounds.settings
            component.controller(GathercastController).configure(
                rounds.interface,
                wait_for_all=how.wait_for_all,
                timeout=how.timeout,
                when_left=how.when_left.value,
            )
        if isinstance(component, Composite):
            content = component.controller(ContentController)
            for child in plan.components:
                content.add(self.make(child))
        if not component.is_elsewhere:
            self.fill_membrane(component, plan.membrane)
        return component

    def take(self, component: Component, plan: ComponentPlan) -> None:
        """Fill the membrane of a component that was made elsewhere."""
        self._made[plan.path] = component
        self.fill_membrane(component, plan.membrane)

    def _bare(self, plan: ComponentPlan) -> Component:
        try:
            return self._make(plan)
        except InstantiationError as error:
            # Only here the place in the document, and in the assembly, is known.
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
            client = self._part(plan, name)
            client.bind(interface, self._remote(binding, client.bindable(interface).type))
            return
        with _located(binding):
            self._part(plan, name).bind(interface, self._server(plan, *binding.server))

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

    def _remote(self, binding: BindingPlan, client: InterfaceType) -> ServerEnd:
        reference = str(binding.server)
        if self._find_remote is None:
            raise AdlError(
                f"{binding.location}: the remote reference '{reference}' cannot be reached from "
                "one process",
                cure="Deploy the assembly with gcm-deploy and a descriptor that names it in "
                "<assembly file=...>, or bind a component of the assembly",
            )
        try:
            found = self._find_remote(reference, client)
        except Exception as error:  # a user's `find_remote` may raise anything
            what = f"{binding.location}: the remote reference '{reference}' leads nowhere: {error}"
            raise AdlError(what) from error
        return Referenced(found) if isinstance(found, ServerInterface) else found

    def fill_membrane(self, component: Component, membrane: MembranePlan) -> None:
        """Make the components in a membrane, and give it its client interfaces."""
        for part in membrane.components:
            component.controller(MembraneController).add(self.make(part))
        for declared in membrane.component_type.interfaces:
            if declared.is_client:
                component.controller(MembraneController).declare(declared)

    def with_membranes(self, plan: ComponentPlan) -> Iterator[ComponentPlan]:
        """Yield the components with non-empty membranes, the innermost first."""
        is_elsewhere = self._made[plan.path].is_elsewhere
        for one in (*plan.components, *(() if is_elsewhere else plan.membrane.components)):
            yield from self.with_membranes(one)
        if plan.interceptors or plan.membrane.has_assembly:
            yield plan

    def export(self, plan: ComponentPlan) -> None:
        """Bind the server interfaces of a membrane to what serves them."""
        if self._made[plan.path].is_elsewhere:
            return
        holder = self._made[plan.path].controller(MembraneController)
        for binding in plan.membrane.bindings:
            declared = _exported(plan.membrane, binding)
            if declared is not None:
                holder.export(
                    binding.client[1], _dotted(binding.server), internal=declared.is_internal
                )
        for part in plan.membrane.components:
            self.share(part)

    def bind_membrane(self, plan: ComponentPlan, *, around_content: bool = True) -> None:
        """Make the other bindings of a membrane, and those within its components."""
        component = self._made[plan.path]
        inside = {part.name for part in plan.membrane.components}
        for part in plan.membrane.components if not component.is_elsewhere else ():
            self.bind(part)
        for binding in plan.membrane.bindings:
            is_inside = binding.client[0] in inside
            if _exported(plan.membrane, binding) or (is_inside and component.is_elsewhere):
                continue  # those where the component is were made there
            if not is_inside and component.is_elsewhere:
                raise AdlError(
                    f"{binding.location}: '{_dotted(binding.client)}' cannot be bound: the "
                    f"membrane of {plan.path} is on another node than this binding is made on",
                    cure="Take the virtual node of that composite away",
                )
            if is_inside or around_content:
                with _located(binding):
                    component.controller(MembraneController).bind(
                        _dotted(binding.client), _dotted(binding.server)
                    )

    def start_membrane(self, plan: ComponentPlan) -> None:
        """Start the components in a membrane, and let them intercept."""
        component = self._made[plan.path]
        if component.is_elsewhere:
            return
        if plan.membrane.has_assembly:
            component.controller(MembraneController).start()
        for planned in plan.interceptors:
            component.controller(InterceptorController).add(
                made_interceptor(component, planned), planned.interface
            )


def _exported(membrane: MembranePlan, binding: BindingPlan) -> InterfaceType | None:
    """Return the server interface of the membrane for which a binding tells what serves it."""
    name, interface = binding.client
    found = membrane.component_type.find(interface) if name == THIS else None
    return found if found is not None and found.is_server else None


def _dotted(end: End | str) -> str:
    return end if isinstance(end, str) else ".".join(end)


@contextmanager
def _located(binding: BindingPlan) -> Iterator[None]:
    """Add the location of a binding to an error."""
    try:
        yield
    except GcmError as error:
        error.what = f"{binding.location}: {error.what}"
        raise
