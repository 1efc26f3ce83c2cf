"""Components that are added beside a deployed assembly while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gcm.adl import assemble, plan_document
from gcm.documents import Diagnostics
from gcm.interfaces.interface import Referenced, ServerInterface
from gcm.records import dataclass
from runtime.errors import GridError
from runtime.hosting.remote_references import find_remote

if TYPE_CHECKING:
    from gcm.adl.plan import AssemblyPlan, ComponentPlan
    from gcm.components.model import Component


@dataclass(frozen=True, slots=True)
class Addition:
    """What is to be added: the component of an ADL document, on a node.

    `bindings` are made before it is started, by reference: from one `path.interface` to another.
    The first word of a path is the name of a definition, the assembly's or that of what was added.
    """

    file: str
    node: str
    bindings: tuple[tuple[str, str], ...] = ()


def added(
    addition: Addition, beside: Mapping[str, Component], make: Callable[[ComponentPlan], Component]
) -> Component:
    """Make something by `make`, bind it to those that it is `beside`, start and return it.

    The content of a composite changes only while that is stopped, so it is in none. If anything
    fails nothing of it is left.

    Raises:
        GridError: the document has faults, or there is one of that name.
        GcmError: it cannot be made, bound or started.
    """
    plan = _planned(addition.file)
    if plan.root.name in beside:
        raise GridError(
            f"there is a component '{plan.root.name}' already",
            place=addition.file,
            cure="Give the definition another name",
        )
    made = assemble(plan, make=make, find_remote=find_remote)
    known = {**beside, made.name: made}
    bound: list[tuple[Component, str, Referenced]] = []
    try:
        for client, server in addition.bindings:
            of_client, name = _end(known, client)
            of_server, served = _end(known, server)
            end = of_server.server(served)
            assert isinstance(end, ServerInterface)
            binding = of_client, name, Referenced(end)
            of_client.bind(*binding[1:])
            bound.append(binding)
        made.start()
    except BaseException:  # an end of the run, too, leaves nothing of it bound
        for component, name, reference in reversed(bound):
            with suppress(Exception):  # what has failed is told
                component.unbind(name, reference)
        with suppress(Exception):
            made.terminate()
        raise
    return made


def _planned(file: str) -> AssemblyPlan:
    folder = str(Path(file).parent)
    if folder not in sys.path:  # behind all others: it may not hide modules of the run
        sys.path.append(folder)
    found = Diagnostics()
    plan = plan_document(file, diagnostics=found)
    if plan is None or found.errors:
        faults = "\n".join(map(str, found.by_location()))
        raise GridError("the document has faults", place=file, cause=faults)
    return plan


def _end(known: Mapping[str, Component], end: str) -> tuple[Component, str]:
    path, _, interface = end.rpartition(".")
    first, _, rest = path.strip("/").partition("/")
    if first not in known:
        raise GridError(
            f"'{end}' is no interface of a component here",
            cure=f"Write NAME/.../COMPONENT.INTERFACE; NAME is one of: {', '.join(known)}",
        )
    return (known[first].find(rest) if rest else known[first]), interface
