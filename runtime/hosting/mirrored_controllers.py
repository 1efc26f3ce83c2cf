"""The controllers of a mirror: they ask those of the component in the node process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cache, wraps
from typing import Any, cast

from gcm.components.controller import Controller
from gcm.components.membrane import MembraneDescription
from gcm.components.model import Component
from gcm.errors import IllegalContentError, NoSuchComponentError, NoSuchControllerError
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.signature import signature_of
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import InterfaceType
from gcm.membranes.lifecycle import LifeCycleController, State
from gcm.membranes.membrane_controller import MembraneController
from gcm.membranes.migration import Destination, MigrationController


class MirroredMigration(MigrationController):
    """Moves the component from one node process to another, with what it is bound to."""

    __slots__ = ()

    def migrate(self, destination: Destination | str) -> None:
        """Let the component live on another node; references to it stay valid.

        Requests that come in during the move wait, and are served there.

        Raises:
            IllegalContentError: clients are bound to what it gathers, or it is bound to what
                gathers, or there is no such node, or something was added to its membrane.
            IllegalLifeCycleError: calls inside do not end in time.
            NotSendable: its content cannot be copied to another process.
        """
        there: Any = self.component
        added: list[str] = []
        with suppress(NoSuchControllerError):
            added += there.membrane.get(MembraneController)._parts
        if added:
            raise IllegalContentError(
                f"it cannot move while its membrane holds what was added: {', '.join(added)}",
                component=there.path,
                cure="Remove that first, and add it again where the component lives then",
            )
        there.mirrored.migrate(destination)

    def has_moved(self) -> bool:
        """Tell whether the component lives elsewhere than where it was made."""
        there: Any = self.component
        return bool(there.mirrored.has_moved)


class _OfferedThere(ServerInterface):
    """What a component in the membrane serves, in the node process; it has a life of its own."""

    __slots__ = ()
    is_functional = False

    def wire_one(self, client: ClientInterface | None, stub: Stub) -> None:  # noqa: ARG002 - all clients are served alike
        """Fill the ports of `stub` with those that send calls to the node process."""
        there: Any = self.owner
        remote = there.mirrored.remote(self.type)
        for name in stub._operations:
            stub._set_port(name, remote.port(name))


class _HostedLife(LifeCycleController):
    """The life of a component in the membrane of another one: that of the one there."""

    __slots__ = ()

    def state(self) -> State:
        """Return its state there."""
        there: Any = self.component
        if there.mirrored.has_ended:
            return State.TERMINATED
        found: State = self._ask("state")
        return found

    def is_started(self) -> bool:
        """Return whether it works there."""
        return self.state() is State.STARTED

    def has_ended(self) -> bool:
        """Return whether it is gone for good."""
        return self.state() is State.TERMINATED

    def start(self) -> None:
        """Start it there."""
        self._ask("start")

    def stop(self) -> None:
        """Stop it there."""
        self._ask("stop")

    def terminate(self) -> None:
        """End it there, where it is forgotten then."""
        there: Any = self.component
        there.mirrored.on_terminate()

    def _ask(self, operation: str) -> Any:
        there: Any = self.component
        return there.mirrored.control(self.name, operation)


class Following(Controller):
    """Lets the component in the node process start, stop and end with its mirror."""

    __slots__ = ()
    name = "hooks"

    def started(self) -> None:
        """Start it."""
        self._there.on_start()

    def stopped(self) -> None:
        """Stop it."""
        self._there.on_stop()

    def terminated(self) -> None:
        """End it."""
        self._there.on_terminate()

    @property
    def _there(self) -> Any:
        there: Any = self.component
        return there.mirrored


HERE = frozenset(
    ("lifecycle", "binding", "component", "name", "super", "hooks", "content", "factory")
)
"""The controllers of a mirror that act in its own process, where the tree and its bindings are."""

NOT_ASKED = frozenset(("typed",))
"""The operations of other controllers that only use those that are asked there."""

HOOKS = ("wrap", "wrap_control", "faults_before_start", "started", "stopped", "terminated")


def mirrored(description: MembraneDescription) -> MembraneDescription:
    """Return the membrane of the mirror of a component that has the given one."""
    kinds = tuple(map(_mirrored, description.controllers))
    follows = () if Following in kinds else (Following,)
    return MembraneDescription(f"{description.name} elsewhere", (*kinds, *follows))


def _mirrored(kind: type[Controller]) -> type[Controller]:
    if kind is MigrationController:
        return MirroredMigration
    if kind is MembraneController:
        return MirroredMembrane
    if kind.name == Following.name:
        return Following
    return kind if kind.name in HERE else _asking(cast(Hashable, kind))


@cache
def _asking(kind: Any) -> type[Controller]:
    """Return a class of controllers whose operations are carried out by those of `kind` there."""
    members: dict[str, Any] = {hook: getattr(Controller, hook) for hook in HOOKS}
    for name in signature_of(kind).operations:
        if name not in NOT_ASKED:
            members[name] = _asked(kind.name, name, getattr(kind, name))
    members |= {"__slots__": (), "__module__": kind.__module__}
    made: type[Controller] = type(kind.__name__, (kind,), members)
    return made


def _asked(controller: str, operation: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def ask(self: Controller, *args: Any, **kwargs: Any) -> Any:
        there: Any = self.component
        return there.mirrored.control(controller, operation, *args, **kwargs)

    return ask


class MirroredMembrane(cast(Any, _asking(cast(Hashable, MembraneController)))):  # type: ignore[misc]  # it is made
    """Holds components in the node process; what they serve is offered here too."""

    __slots__ = ()

    def offer(self, declared: InterfaceType) -> None:
        """Offer an interface that a component in the membrane there serves."""
        self.exports[declared.name] = _OfferedThere(self.component, declared)

    def add(self, part: Component) -> None:
        """Add a component of the same node to the membrane.

        Raises:
            IllegalContentError: it is in another process, or there is one of that name.
        """
        there: Any = self.component
        own = there.mirrored
        of_part = getattr(part, "mirrored", None)
        if of_part is None or of_part.node is not own.node:
            raise IllegalContentError(
                f"the membrane is in the process {own.node.home}, and '{part.name}' is not",
                component=self.component.path,
                cure="Make it with that node as its place",
            )
        own.take_in(of_part)
        part.membrane.add(_HostedLife(part))
        part.host = self.component
        self._parts[part.name] = part

    def remove(self, name: str) -> None:
        """Remove a component from the membrane, as `MembraneController.remove` does."""
        there: Any = self.component
        there.mirrored.control(self.name, "remove", name)
        part = self._parts.pop(name, None)
        if part is not None:
            part.host = None

    def terminated(self) -> None:
        """Let what was added be forgotten: it has ended with the component, where that lives."""
        for part in self._parts.values():
            there: Any = part
            there.mirrored.forget()

    def part(self, name: str) -> Component:
        """Return a component that was added while the assembly runs.

        Raises:
            NoSuchComponentError: there is none; those of a document are reached by their names.
        """
        if name not in self._parts and name in self.names():
            raise NoSuchComponentError(
                f"'{name}' lives in the process of the node",
                component=self.component.path,
                cure="Call what it serves by a stub of the component",
            )
        found: Component = MembraneController.part(self, name)
        return found

    def export(self, name: str, server: str, *, internal: bool = False) -> None:
        """Offer an interface, as `MembraneController.export` does."""
        there: Any = self.component
        there.mirrored.control(self.name, "export", name, server, internal=internal)
        if not internal:
            self.offer(there.mirrored.type_of(name))
