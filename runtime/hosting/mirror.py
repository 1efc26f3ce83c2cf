"""Mirrors: components of this process's tree whose content or membrane is in a node process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from gcm.components.composite import Composite
from gcm.components.declarations import is_immediate
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.components.wrapper import Wrapper
from gcm.errors import IllegalLifeCycleError
from gcm.interfaces.distribution import redistributes
from gcm.interfaces.future import Future
from gcm.interfaces.going_on import outside
from gcm.interfaces.interface import ClientInterface, ServerEnd, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.invocation import RemotePort
from runtime.hosting.mirrored_content import MirroredContent
from runtime.hosting.mirrored_controllers import mirrored
from runtime.hosting.remote import RemoteInterface


class Mirror(Wrapper):
    """A wrapper around a primitive in a node process: found, bound, started like any other."""

    __slots__ = ()
    is_elsewhere = True
    kind = "primitive"

    def __init__(
        self,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        content: MirroredContent,
    ) -> None:
        super().__init__(name, type, mirrored(description), content)
        self.membrane.description = description

    @property
    def content_class(self) -> type[Any]:
        """The class of the content in the node process."""
        assert self.mirrored.plan.content is not None
        return self.mirrored.plan.content

    @property
    def content(self) -> Any:
        """The object in the node process: data of it is copied, all else is used there."""
        return self.mirrored.object

    @property
    def mirrored(self) -> MirroredContent:
        """What is wrapped."""
        return cast(MirroredContent, self._wrapped)

    def serves_at_once(self, operation: str) -> bool:
        """Return whether the content there declares `operation` immediate."""
        return is_immediate(self.content_class, operation)

    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        """Return the port that sends the call to the node process."""
        port = self.mirrored.remote(interface.type).port(operation)
        queued = self.membrane.queues_calls and not self.serves_at_once(operation)
        return _PortOfQueue(self, interface.name, port) if queued else port

    def _add_interface(self, declared: InterfaceType) -> ClientInterface | ServerInterface:
        made = _interface_there(self, declared)
        if made is None:
            return super()._add_interface(declared)
        self._interfaces[declared.name] = made
        return made


class MirroredComposite(Composite):
    """A composite whose membrane is in a node process, so that calls pass it there.

    Its content is added, found and bound here.
    """

    __slots__ = ("mirrored",)
    is_elsewhere = True
    kind = "composite"

    def __init__(
        self,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        content: MirroredContent,
    ) -> None:
        self.mirrored = content
        super().__init__(name, type, mirrored(description))
        self.membrane.description = description

    @property
    def content_class(self) -> type[Any]:
        """The class of the object in the node process that holds its attributes, if it has any."""
        return self.mirrored.plan.content or type(None)

    def target_of(self, interface: ServerInterface, operation: str) -> Callable[..., Any]:
        """Return the port that sends the call to the node process."""
        there = self.mirrored.remote(interface.type, internal=interface.internal)
        return there.port(operation)

    def _add_interface(self, declared: InterfaceType) -> ClientInterface | ServerInterface:
        made = None if declared.is_internal else _interface_there(self, declared)
        if made is None:
            return super()._add_interface(declared)
        self._interfaces[declared.name] = made
        self._add_face(declared.inner())
        return made

    def _add_face(self, inside: InterfaceType) -> ClientInterface | ServerInterface:
        known = inside.name in self._inner
        made = None if known else _interface_there(self, inside, internal=True)
        if made is None:
            return super()._add_face(inside)
        self._inner[inside.name] = made
        return made


class PassedComposite(Composite):
    """A composite of this process that calls between node processes may pass without coming here.

    `changed` is called with it whenever calls that came here might go another way than before.
    """

    __slots__ = ("_changed",)
    kind = "composite"

    def __init__(
        self,
        name: str,
        type: ComponentType,
        description: MembraneDescription,
        changed: Callable[[Component], None],
    ) -> None:
        self._changed = changed
        super().__init__(name, type, description)

    def client_changed(self, interface: ClientInterface) -> None:
        """Lead the calls that come in at the other face their new way."""
        super().client_changed(interface)
        self._changed(self)

    def wire_servers(self) -> None:
        """Compose the ports of all server interfaces and of all inner faces anew."""
        super().wire_servers()
        self._changed(self)


class _PortOfQueue:
    """The port of an operation of an active object elsewhere, in front of that to its process.

    Who waits for an answer is outside of the object, whose requests stay in the queue there while
    it is stopped. So a stop waits for what the object serves, and not for its callers here.
    """

    __slots__ = ("_interface", "_owner", "_port")

    def __init__(self, owner: Component, interface: str, port: RemotePort) -> None:
        self._owner = owner
        self._interface = interface
        self._port = port

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call and wait for the result."""
        return outside(self._port, *args, **kwargs) if self._lives else self._refused().result()

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call and return at once with the future of the result."""
        return self._port.submit(*args, **kwargs) if self._lives else self._refused()

    @property
    def _lives(self) -> bool:
        return not self._owner.membrane.lifecycle.has_ended()

    def _refused(self) -> Future[Any]:
        """Return what a queue says that has ended: nothing leads to that any more."""
        refused: Future[Any] = Future(f"{self._owner.path}.{self._interface}")
        refused.set_exception(
            IllegalLifeCycleError(
                "the component has ended",
                component=self._owner.path,
                interface=self._interface,
                state=self._owner.state,
            )
        )
        return refused


def _interface_there(
    owner: Mirror | MirroredComposite, declared: InterfaceType, *, internal: bool = False
) -> ClientInterface | ServerInterface | None:
    """Return an interface of a mirror; None for a server that does not know its clients."""
    if declared.is_client:
        return _ClientThere(owner, declared, internal=internal)
    if _identifies_clients(declared):
        return _ServerThere(owner, declared, internal=internal)
    return None


def _identifies_clients(declared: InterfaceType) -> bool:
    return declared.is_gathercast or redistributes(declared.signature)


class _ClientThere(ClientInterface):
    """A client interface of a mirror. What is bound or unbound here is so there at once.

    Who gathers calls waits for those that are bound to it, whether they have started or not.
    """

    __slots__ = ()

    def bind(self, server: ServerEnd) -> None:
        """Bind to `server`, here and where the component is; nothing is bound if that fails."""
        super().bind(server)
        try:
            self._there.bound(self)
        except BaseException:
            super().unbind(server)
            raise

    def unbind(self, server: ServerEnd | None = None) -> None:
        """Remove the binding to `server`, or all bindings, here and where the component is."""
        super().unbind(server)
        self._there.unbound(self)

    @property
    def _there(self) -> MirroredContent:
        return cast(Mirror | MirroredComposite, self.owner).mirrored


class _ServerThere(ServerInterface):
    """An interface of a mirror that gathers or redistributes: the component itself does that.

    A client that is elsewhere too calls from its own process; any other is admitted from here.
    """

    __slots__ = ()

    def __init__(self, owner: Component, type: InterfaceType, *, internal: bool = False) -> None:
        super().__init__(owner, type, internal=internal)
        self._gathering = None

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` at the component and return the stub through which it calls."""
        if client.owner.is_elsewhere:
            return super().connect(client)
        stub = self._stubs[client] = self._there.connect(client)
        return stub

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`."""
        super().disconnect(client)
        if not client.owner.is_elsewhere:
            self._there.disconnect(client)

    @property
    def _there(self) -> RemoteInterface:
        owner = cast(Mirror | MirroredComposite, self.owner)
        return owner.mirrored.remote(self.type, internal=self.internal)
