"""Exports: the components of this process that others can call, and who is bound to them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any, cast

from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.errors import NoSuchComponentError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, Interface, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.interfaces.types import Cardinality, Contingency, InterfaceType, Role
from gcm.records import dataclass
from gcm.suggestion import did_you_mean
from runtime.transport.channel import Channel
from runtime.transport.errors import ChannelClosed
from runtime.transport.messages import Target

INNER = "inner:"
"""What goes before the name of the inner face of a composite's client interface."""


@dataclass(frozen=True, slots=True)
class RemoteClient:
    """A client interface of another process, as a gathercast server knows it."""

    path: str

    def __str__(self) -> str:
        """Return the path of the component and the name of the interface."""
        return self.path


@dataclass(frozen=True, slots=True)
class _Lent:
    stub: Stub
    type: InterfaceType


class Exports:
    """Resolves what others ask for to stubs, and refuses at once what is not there.

    A component is found under the path it was published with, and so is everything inside it.
    `home` is the path that belongs to the process itself; stubs that have no name of their own are
    lent under it. A stub that was lent stays reachable for as long as the process lives.
    """

    def __init__(self, home: str) -> None:
        self._home = home.rstrip("/")
        self._published: dict[str, Component] = {}
        self._paths: dict[Component, str] = {}
        self._lent: dict[str, _Lent] = {}
        self._tokens: dict[Stub, str] = {}
        self._bound: dict[tuple[object, ServerInterface, str], Stub] = {}
        self._lock = threading.Lock()
        self._binding = threading.Lock()  # clients come and go in different threads

    # -- what is here ----------------------------------------------------------------------------

    def publish(self, path: str, component: Component) -> None:
        """Let others reach `component`, and everything inside it, under `path`."""
        with self._lock:
            self._published[path] = component
            self._paths[component] = path

    def withdraw(self, path: str) -> None:
        """Take `path` back; nothing happens if it is not published."""
        with self._lock:
            component = self._published.pop(path, None)
            if component is not None:
                self._paths.pop(component, None)

    def name_of(self, component: Component) -> str:
        """Return the path under which others reach `component`; empty if they cannot."""
        names: list[str] = []
        here: Component | None = component
        while here is not None:
            if here in self._paths:
                there = getattr(component, "mirrored", None)
                if there is not None:  # where it lives it keeps the path it was made with
                    return str(there.path)
                return "/".join([self._paths[here].rstrip("/"), *reversed(names)])
            names.append(here.name)
            here = here.parents[0] if here.parents else None
        return ""

    def component(self, path: str) -> Component:
        """Return the component at `path`.

        Raises:
            NoSuchComponentError: there is none; the message says which ones are near.
        """
        if (found := self._published.get(path)) is not None:
            return found
        prefix, rest = path, ""
        while prefix and prefix not in self._published:
            prefix, _, name = prefix.rpartition("/")
            rest = f"{name}/{rest}" if rest else name
        if not prefix:
            raise NoSuchComponentError(
                "there is no such component in this process",
                component=path,
                cure=did_you_mean(path, self._published)
                or f"Published here: {', '.join(self._published) or 'nothing'}",
            )
        return self._published[prefix].find(rest)

    def server(self, path: str, interface: str) -> ServerInterface:
        """Return a server interface; the inner face of a client one is called `inner:name`.

        Raises:
            NoSuchComponentError: there is no such component.
            NoSuchInterfaceError: it has no such server interface.
        """
        component = self.component(path)
        if interface.startswith(INNER) and isinstance(component, Composite):
            return component.inner_server(interface.removeprefix(INNER))
        return component.server(interface)

    # -- stubs that cross ------------------------------------------------------------------------

    def lend(self, stub: Stub) -> tuple[str, str, InterfaceType]:
        """Return a name for a stub that has none: path, interface, and its type for the others."""
        end: Interface = stub._end
        with self._lock:
            token = self._tokens.get(stub)
            if token is None:
                token = self._tokens[stub] = f"{self._home}/#{len(self._tokens) + 1}"
                self._lent[token] = _Lent(stub, _as_server(end.type))
        return token, end.name, self._lent[token].type

    def stub(self, path: str, interface: str) -> Stub:
        """Return the stub that a reference from another process means; raises like `server`."""
        lent = self._lent.get(path)
        return lent.stub if lent else self.server(path, interface).stub

    # -- callers from elsewhere ------------------------------------------------------------------

    def type_of(self, path: str, interface: str) -> InterfaceType:
        """Return the type of a server interface; raises like `server`."""
        lent = self._lent.get(path)
        return lent.type if lent else self.server(path, interface).type

    def admit(self, path: str, interface: str, client: str, whose: object) -> None:
        """Bind a client interface of another process to a server that has to know its clients.

        `whose` is what `forget` is called with when that process is gone. Twice is once.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: there is no such server.
            ChannelClosed: that process is gone, so nobody would ever take the client back.
        """
        server = self.server(path, interface)
        key = whose, server, client
        with self._binding:
            # A channel is closed before it is forgotten: what passes here is forgotten later.
            if isinstance(whose, Channel) and whose.is_closed:
                raise ChannelClosed(f"{client} is gone, and is not bound any more", place=path)
            if key not in self._bound:
                self._bound[key] = server.connect(_as_client(client))

    def dismiss(self, path: str, interface: str, client: str, whose: object) -> None:
        """Take back what `admit` did; nothing happens if it was not done."""
        server = self.server(path, interface)
        with self._binding:
            if self._bound.pop((whose, server, client), None) is not None:
                server.disconnect(_as_client(client))

    def forget(self, whose: object) -> None:
        """Dismiss every client of a process that is gone: rounds no longer wait for them."""
        with self._binding:  # a round that fires now does so in a thread of its own
            for key in [key for key in self._bound if key[0] is whose]:
                del self._bound[key]
                _, server, client = key
                server.disconnect(_as_client(client))

    def forget_clients(self, paths: Collection[str]) -> None:
        """Dismiss the clients that components have whose process is lost, whoever it called by."""
        with self._binding:
            for key in [key for key in self._bound if key[2].rpartition(".")[0] in paths]:
                del self._bound[key]
                _, server, client = key
                server.disconnect(_as_client(client))

    def operation(self, target: Target, whose: object) -> Callable[..., Any]:
        """Return what a call from another process runs into.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: it leads nowhere; the message says at which
                step, and what there is instead.
        """
        lent = self._lent and self._lent.get(target.component)
        if lent:
            stub = lent.stub
        else:
            server = self.server(target.component, target.interface)
            bound = self._bound and self._bound.get((whose, server, target.client))
            stub = bound or server.stub
        name = target.operation
        if name not in stub._operations:
            raise NoSuchInterfaceError(
                f"the interface has no operation '{name}'",
                component=target.component,
                interface=target.interface,
                cure=did_you_mean(name, stub._operations)
                or f"It has: {', '.join(stub._operations) or 'none'}",
            )
        operation: Callable[..., Any] = getattr(stub, name)
        return operation


def _as_client(path: str) -> ClientInterface:
    """A gathercast server uses its clients as names only, so a name is enough."""
    return cast(ClientInterface, RemoteClient(path))


def _as_server(type: InterfaceType) -> InterfaceType:
    """Return what somebody who gets the stub sees: a plain server, whatever is behind it."""
    return replace(
        type,
        role=Role.SERVER,
        cardinality=Cardinality.SINGLETON,
        contingency=Contingency.MANDATORY,
    )
