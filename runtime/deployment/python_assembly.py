"""Deploys an `Assembly` that was made in Python on the machine of a descriptor."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError, ParserCreate

from gcm.adl import outline_of_plan
from gcm.documents import Diagnostics
from runtime.deployment.checker import surroundings_of
from runtime.deployment.model import Deployment
from runtime.deployment.reading.reader import read_descriptor
from runtime.errors import GridError

if TYPE_CHECKING:
    from gcm.adl import Assembly
    from gcm.adl.plan import ComponentPlan

_SHAPE = re.compile(r"([1-9][0-9]{0,3})x([1-9][0-9]{0,3})x([1-9][0-9]{0,3})", re.ASCII)
_ROOT = re.compile(rb"<[^>]*?(/?)>")


def deployment_of_assembly(assembly: Assembly, machine: str) -> Deployment:
    """Return the deployment of an assembly.

    The machine is a descriptor with neither application nor assembly, whose virtual nodes are those
    that the components name; or `1x2x4`: sites, clusters and nodes here, shared by all of them.

    Raises:
        AdlError: the assembly has faults; each is at the line of Python that caused it.
        GridError: the descriptor has faults.
    """
    plan = assembly.plan()
    used = outline_of_plan(plan.root).virtual_nodes()
    if found := _SHAPE.fullmatch(machine):
        sites, clusters, nodes = map(int, found.groups())
        document, source = _of_shape(sites, clusters, nodes, used), f"machine {machine}"
    else:
        document, source = _read(machine), machine
    # In its folder nodes look for modules.
    file = str(_folder_of(plan.root) / f"{assembly.name}.fractal")
    element = f"<assembly file='{escape(file)}'/>".encode()
    context = surroundings_of(source, python=sys.executable or "python3")
    context = replace(
        context,
        folder=os.getcwd() if found else context.folder,
        exists=lambda path: path == file or os.path.exists(os.path.expanduser(path)),
        virtual_nodes=lambda *_: used,
    )
    faults = Diagnostics()
    deployment = read_descriptor(
        _with_assembly(document, element),
        name=source,
        surroundings=context,
        diagnostics=faults,
    )  # fmt: skip
    if deployment is None or deployment.assembly is None:
        raise GridError(
            f"the assembly '{assembly.name}' cannot be deployed there",
            place=source,
            cause="\n".join(map(str, faults.by_location())),
        )
    return replace(deployment, assembly=replace(deployment.assembly, plan=plan))


def _folder_of(root: ComponentPlan) -> Path:
    """Return where the module of the first content is imported from, else the program's folder."""
    content = next(_contents(root), None)
    module = None if content is None else sys.modules[content.__module__.partition(".")[0]]
    if module is None or not (module.__file__ or hasattr(module, "__path__")):
        return Path(root.location.file).resolve().parent
    if hasattr(module, "__path__"):
        return Path(next(iter(module.__path__))).resolve().parent
    return Path(str(module.__file__)).resolve().parent


def _contents(component: ComponentPlan) -> Iterator[type]:
    if component.content is not None:
        yield component.content
    for child in component.components:
        yield from _contents(child)


def _with_assembly(document: bytes, element: bytes) -> bytes:
    """Return a descriptor with one more element; a faulty one as it is, for its faults."""
    begin = _begin_of_root(document)
    root = None if begin is None else _ROOT.match(document, begin)
    if root is None or b"<deployment" not in root[0]:
        return document
    opened = root[0].removesuffix(b"/>") + b">" if root[1] else root[0]
    closed = b"</deployment>" if root[1] else b""
    return document[:begin] + opened + element + closed + document[root.end() :]


def _begin_of_root(document: bytes) -> int | None:
    """Return where the first element begins, behind comments that may speak of others."""
    found: list[int] = []
    parser = ParserCreate()
    parser.StartElementHandler = lambda *_: found.append(parser.CurrentByteIndex)
    with suppress(ExpatError):
        parser.Parse(document, True)
    return found[0] if found else None


def _read(machine: str) -> bytes:
    try:
        return Path(machine).expanduser().read_bytes()
    except OSError as error:
        raise GridError(
            f"the machine '{machine}' cannot be read: {error.strerror}",
            cure="Name a descriptor, or sites, clusters and nodes of this machine: '1x2x4'",
        ) from error


def _of_shape(sites: int, clusters: int, nodes: int, used: Sequence[str]) -> bytes:
    inside = "".join(
        f'<cluster name="cluster{number}"><nodes names="node[0-{nodes - 1}]" hosts="localhost"/>'
        "</cluster>"
        for number in range(clusters)
    )
    grid = "".join(f'<site name="site{number}">{inside}</site>' for number in range(sites))
    every = [
        f"site{site}/cluster{cluster}/node{node}"
        for site in range(sites)
        for cluster in range(clusters)
        for node in range(nodes)
    ]
    mapped = ""
    for number, name in enumerate(used):  # each begins at another node
        first = number % len(every)
        turns = " ".join(every[first:] + every[:first])
        mapped += f'<virtual-node name="{escape(name)}" nodes="{turns}"/>'
    return f"<deployment>{mapped}<grid>{grid}</grid></deployment>".encode()
