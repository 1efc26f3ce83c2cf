"""Who is bound to whom in a machine: as its assembly says, and as each process answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from gcm.components.composite import Composite
from gcm.components.model import Component
from gcm.errors import GcmError
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ClientInterface, Interface, ServerInterface
from gcm.invocation import Invocation
from gcm.membranes.lifecycle import State
from gcm.records import dataclass
from runtime.errors import GridError
from runtime.machine.contracts import BINDING_CONTROLLER
from runtime.machine.paths import CLUSTERING
from runtime.processes.launcher.tree import RemoteContent

Send = Callable[[Invocation], Future[Any]]

_LOOKUP = BINDING_CONTROLLER, "lookup"

ANSWER_TIMEOUT = 10.0
"""How long a process may take to answer: one that is stopped never does."""


@dataclass(frozen=True, slots=True)
class ReportedBinding:
    """A client interface and the server interface it leads to, both as `path.interface`."""

    client: str
    server: str

    def __str__(self) -> str:
        """Return both with an arrow."""
        return f"{self.client} -> {self.server}"


def bindings_of(root: Composite) -> set[ReportedBinding]:
    """Return the bindings of an assembly between its leaves, through composites.

    One to a collective interface of a composite ends there.
    """
    return {
        ReportedBinding(client.path, server.path)
        for leaf in leaves(root)
        for client in leaf.clients
        for server in _behind(client)
    }


def answered_bindings(
    root: Composite, send: Send, timeout: float = ANSWER_TIMEOUT
) -> tuple[set[ReportedBinding], dict[str, str]]:
    """Ask all processes what their components are bound to; wait for their answers together.

    Returns the bindings under the names of the assembly, and why others have not answered: the
    ranks of a code that does not run are not there.
    """
    named = {}
    for leaf, content in _elsewhere(root):
        named[content.path] = leaf.path
        if leaf.name == CLUSTERING:  # it stands for the composite that it is in, too
            named[_above(content.path)] = _above(leaf.path)
    asked = [
        (leaf, content, client, send(Invocation(content.path, *_LOOKUP, (client.name,))))
        for leaf, content in _elsewhere(root)
        for client in leaf.clients
    ]
    deadline = time.monotonic() + timeout
    found: set[ReportedBinding] = set()
    silent: dict[str, str] = {}
    for leaf, content, client, answer in asked:
        try:
            ends = answer.result(max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            silent[leaf.path] = f"no answer within {timeout:g} s"
        except (GcmError, GridError) as fault:
            silent[leaf.path] = _why_silent(content.state(), fault)
        else:
            if not isinstance(ends, list | tuple):
                silent[leaf.path] = f"it answered a {type(ends).__name__}, and no names"
                continue
            for end in ends:
                path, _, interface = str(end).rpartition(".")
                found.add(ReportedBinding(client.path, f"{named.get(path, path)}.{interface}"))
    return found, silent


def _why_silent(state: State, fault: Exception) -> str:
    """Return why a component has not answered, without the traceback of who looked for it."""
    if state is State.STARTED:
        return str(fault).partition("\n")[0]
    return f"it does not run: it is {state}"


def leaves(root: Component) -> Iterator[Component]:
    """Yield all components that are no composites."""
    if not isinstance(root, Composite):
        yield root
        return
    for part in root.children:
        yield from leaves(part)


def _elsewhere(root: Composite) -> Iterator[tuple[Component, RemoteContent]]:
    for leaf in leaves(root):
        content = getattr(leaf, "content", None)
        if isinstance(content, RemoteContent):
            yield leaf, content


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _behind(client: ClientInterface) -> Iterator[Interface]:
    for server in client.servers:
        if not isinstance(server, ServerInterface):
            continue
        if server.type.is_multicast:  # what it leads to is the business of its composite
            yield server
            continue
        through = server.owner.other_face(server)
        if isinstance(through, ClientInterface):
            yield from _behind(through)
        else:
            yield server
