"""The controllers of a mirror: they ask those of the component in the node process."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import Any, cast

from gcm.components.controller import Controller
from gcm.components.membrane import MembraneDescription
from gcm.interfaces.signature import signature_of
from gcm.membranes.migration import Destination, MigrationController


class MirroredMigration(MigrationController):
    """Moves the component from one node process to another, with what it is bound to."""

    __slots__ = ()

    def migrate(self, destination: Destination | str) -> None:
        """Let the component live on another node; references to it stay valid.

        Requests that come in during the move wait, and are served there.

        Raises:
            IllegalContentError: it gathers calls, or is bound to what does, or there is no such
                node, or it is a composite.
            IllegalLifeCycleError: calls inside do not end in time.
            NotSendable: its content cannot be copied to another process.
        """
        there: Any = self.component
        there.mirrored.migrate(destination)

    def has_moved(self) -> bool:
        """Tell whether the component lives elsewhere than where it was made."""
        there: Any = self.component
        return bool(there.mirrored.has_moved)


HERE = frozenset(
    ("lifecycle", "binding", "component", "name", "super", "hooks", "content", "factory")
)
"""The controllers of a mirror that act in its own process, where the tree and its bindings are."""

NOT_ASKED = frozenset(("typed",))
"""The operations of other controllers that only use those that are asked there."""

HOOKS = ("wrap", "wrap_control", "faults_before_start", "started", "stopped", "terminated")


def mirrored(description: MembraneDescription) -> MembraneDescription:
    """Return the membrane of the mirror of a component that has the given one."""
    return MembraneDescription(
        f"{description.name} elsewhere",
        tuple(map(_mirrored, description.controllers)),
    )


def _mirrored(kind: type[Controller]) -> type[Controller]:
    if kind is MigrationController:
        return MirroredMigration
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
