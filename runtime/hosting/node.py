"""The agent of a node process: makes the primitives that are placed there."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from gcm.components.declarations import declared_type
from gcm.components.membrane import MembraneDescription
from gcm.components.primitive import Primitive
from gcm.errors import InstantiationError
from gcm.factory import primitive
from gcm.interfaces.types import ComponentType, InterfaceType
from gcm.membranes.attribute import AttributeController
from gcm.membranes.descriptions import PRIMITIVE
from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.hosting.host import Host
from runtime.transport.channel import Channel
from runtime.transport.credentials import Credentials
from runtime.transport.errors import AuthenticationFailed, Unreachable

NODE = "node"
"""The name of the agent's interface; the agent is the component at the home of its process."""


@dataclass(frozen=True, slots=True)
class PrimitivePlan:
    """A primitive to be made in another process; `content` is `module:Class`.

    Without `type` it is what the class declares.
    """

    path: str
    content: str
    type: ComponentType | None = None
    membrane: MembraneDescription = PRIMITIVE
    attributes: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What a node process tells about itself.

    `address` is where other processes of the run may dial it; empty if they cannot.
    """

    address: str
    host: str
    pid: int


class NodeControl(Protocol):
    """What a launcher asks of a node process.

    The rest is done through the control interfaces of the components themselves: to bind, start,
    stop and terminate one, call its `binding-controller` and its `lifecycle-controller`.
    """

    def facts(self) -> NodeFacts:
        """Tell who this is."""
        ...

    def load(self, content: str, component: str) -> None:
        """Import a content class for a component; raises InstantiationError.

        What is sent to the node afterwards may mention whatever its module defines.
        """
        ...

    def make(self, plan: PrimitivePlan) -> None:
        """Make a primitive and let others reach it; raises InstantiationError."""
        ...

    def drop(self, path: str) -> None:
        """Forget a primitive that was made; it should be terminated."""
        ...

    def reach(self, address: str, prefixes: Sequence[str]) -> bool:
        """Try to reach what is under `prefixes` without detours; tell whether that is possible."""
        ...


class _Placed(Primitive):
    """A primitive whose composite is in another process, so it is told where it is."""

    __slots__ = ("_place",)

    def __init__(self, plan: PrimitivePlan, type: ComponentType, content: object) -> None:
        self._place = plan.path
        super().__init__(plan.path.rpartition("/")[2], type, plan.membrane, content)

    @property
    def path(self) -> str:
        """The path within the whole assembly."""
        return self._place


class NodeAgent:
    """The content of the agent."""

    def __init__(
        self, host: Host, credentials: Credentials | None = None, address: str = ""
    ) -> None:
        self._host = host
        self._address = address
        self._credentials = credentials
        self._direct: dict[str, Channel] = {}

    def facts(self) -> NodeFacts:
        """Tell who this is."""
        return NodeFacts(self._address, socket.gethostname(), os.getpid())

    def load(self, content: str, component: str) -> None:
        """Import a content class."""
        load_content(content, component)

    def make(self, plan: PrimitivePlan) -> None:
        """Make a primitive and let others reach it."""
        content = load_content(plan.content, plan.path)
        made = _Placed(plan, plan.type or declared_type(content), _made(content, plan))
        made.attach()
        for name, value in plan.attributes:
            made.controller(AttributeController).set(name, value)
        self._host.publish(plan.path, made)

    def drop(self, path: str) -> None:
        """Forget a primitive that was made."""
        self._host.withdraw(path)

    def reach(self, address: str, prefixes: Sequence[str]) -> bool:
        """Try to reach what is under `prefixes` without detours."""
        if self._credentials is None:
            return False
        known = self._direct.get(address)
        if known is None or known.is_closed:
            try:
                known = self._direct[address] = self._host.dial(address, self._credentials)
            except (Unreachable, AuthenticationFailed):
                return False  # the detour that is known works too
        for prefix in prefixes:
            self._host.routes.add(prefix, known)
        return True


def node_agent(host: Host, credentials: Credentials | None = None, address: str = "") -> Primitive:
    """Make, publish and start the agent of this process, which others may dial at `address`.

    >>> agent = node_agent(Host("/node1", reactor))    # doctest: +SKIP
    """
    agent = primitive(
        lambda: NodeAgent(host, credentials, address),
        host.home.rpartition("/")[2],
        type=ComponentType((InterfaceType(NODE, NodeControl),)),
    )
    host.publish(host.home, agent)
    agent.start()
    return agent


def _made(content: Callable[[], object], plan: PrimitivePlan) -> object:
    try:
        return content()
    except Exception as error:  # the content's own; it is the cause
        raise InstantiationError(
            f"the content {plan.content} could not be made: {type(error).__name__}: {error}",
            component=plan.path,
            cure="Its own exception is the cause, above",
        ) from error


def load_content(name: str, component: str) -> Any:
    """Return the class that `module:Class` names.

    Raises:
        InstantiationError: there is no such module or class in this process.
    """
    module_name, _, qualified = name.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:  # a module may raise anything while it is imported
        raise InstantiationError(
            f"the module of the content '{name}' cannot be imported there: "
            f"{type(error).__name__}: {error}",
            component=component,
            cure="Install it on the node, or list its file among those to bring there",
        ) from error
    for part in qualified.split("."):
        if not hasattr(found, part):
            raise InstantiationError(
                f"there is no '{qualified}' in the module '{module_name}'",
                component=component,
                cure=did_you_mean(part, vars(found)),
            )
        found = getattr(found, part)
    return found
