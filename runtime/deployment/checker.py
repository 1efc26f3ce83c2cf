"""Checks deployment descriptors for `gcm check`, in the context of this machine."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gcm.documents import Diagnostics, Location, Severity
from runtime.deployment.context import DescriptorContext, VirtualNodes
from runtime.deployment.reading.own_sites import SITES
from runtime.deployment.reading.reader import read_descriptor
from runtime.linked_mpi import libraries_of_program

_NO_SETTINGS: Mapping[str, str] = {}


def check_descriptors(
    files: Iterable[str], roots: Sequence[str], *, with_classes: bool = False
) -> Diagnostics:
    """Return all errors and warnings of some descriptors.

    `roots` are searched for the definitions and Python modules of the assemblies they name.
    `with_classes` imports these modules, and reports what is wrong with the assemblies too, at
    their own lines; otherwise no code runs, and a warning says so.
    """
    diagnostics = Diagnostics()
    for file in files:
        assemblies: dict[str, None] = {}
        context = surroundings_of(file, roots=roots)
        of_file = _virtual_nodes(roots, is_reported=with_classes, with_classes=with_classes)
        noting = replace(context, virtual_nodes=_noted(of_file, assemblies))
        read = read_descriptor(file, surroundings=noting, diagnostics=diagnostics)
        placed = None if read is None else read.assembly
        for assembly in () if with_classes else assemblies:
            diagnostics.report(
                CLASSES_NOT_CHECKED,
                f"the Python classes of the assembly '{assembly}' were not checked",
                Location(file, 1) if placed is None else placed.location,
                hint=f"check them too: gcm check {shlex.quote(assembly)}",
                severity=Severity.WARNING,
            )
    return diagnostics


CLASSES_NOT_CHECKED = "classes-not-checked"
"""What `gcm check` leaves out where ADL documents are checked in the same run."""


def _noted(virtual_nodes: VirtualNodes, assemblies: dict[str, None]) -> VirtualNodes:
    """Return a reader of virtual nodes that records the assemblies they belong to."""

    def of_file(
        file: str, arguments: Mapping[str, str], diagnostics: Diagnostics
    ) -> Iterable[str] | None:
        short = os.path.relpath(os.path.expanduser(file))
        assemblies[short] = None
        is_below = not short.startswith(os.pardir)  # as somebody would name it who checks it
        return virtual_nodes(short if is_below else file, arguments, diagnostics)

    return of_file


def surroundings_of(
    file: str,
    *,
    settings: Mapping[str, str] = _NO_SETTINGS,
    roots: Sequence[str] = (),
    python: str = "python3",
    with_assembly: bool = False,
    with_classes: bool = False,
) -> DescriptorContext:
    """Return the context of a descriptor on this machine: its files and its environment.

    Errors of its assembly are reported when the assembly's own file is checked, or,
    `with_assembly`, together with those of the descriptor. `with_classes` imports its Python
    modules, and so runs them, and reports what keeps them from being run; otherwise none of its
    code runs.
    """
    return DescriptorContext(
        folder=os.path.dirname(os.path.abspath(file)),
        settings=settings,
        environment=os.environ,
        exists=lambda path: os.path.exists(os.path.expanduser(path)),
        is_installed=is_installed,
        needed_libraries=libraries_of_program,
        cannot_hold=_cannot_hold,
        virtual_nodes=_virtual_nodes(roots, with_assembly, with_classes),
        umask=_umask(),
        python=python,
        sites=os.path.join(os.environ.get("XDG_CONFIG_HOME", "~/.config"), "gcm", SITES),
    )


def is_installed(module: str) -> bool:
    """Return whether Python finds a module, without importing anything.

    >>> is_installed("xml.dom.minidom"), is_installed("xml.dom.nothing")
    (True, False)
    """
    import importlib.util  # only for programs that are modules
    from importlib.machinery import PathFinder

    first, *rest = module.split(".")
    try:
        found = importlib.util.find_spec(first)
        for end in range(len(rest)):
            folders = found.submodule_search_locations if found is not None else None
            name = ".".join((first, *rest[: end + 1]))
            found = None if folders is None else PathFinder.find_spec(name, folders)
    except (ImportError, ValueError):
        return False
    return found is not None


def _umask() -> int:
    """Return the caller's umask, without changing it even for a moment where possible."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            for line in file:
                if line.startswith("Umask:"):
                    return int(line.split()[1], 8)
    except OSError:
        pass  # a system without /proc has to be asked by setting it
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _cannot_hold(folder: str) -> str:
    """Return why no files can be put into a folder, which is made if necessary."""
    above = os.path.expanduser(folder)
    while not os.path.lexists(above) and above != os.path.dirname(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        return f"{above} is not a folder"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"{above} cannot be written to"


def _virtual_nodes(roots: Sequence[str], is_reported: bool, with_classes: bool) -> VirtualNodes:
    def of_file(
        file: str, arguments: Mapping[str, str], diagnostics: Diagnostics
    ) -> Iterable[str] | None:
        # Imported only for descriptors with an assembly: the others start faster without.
        from gcm.adl import has_run, outline_of, plan_document, run_operation

        path, found = os.path.expanduser(file), diagnostics if is_reported else Diagnostics()
        if with_classes:
            plan = plan_document(path, arguments=arguments, roots=roots, diagnostics=found)
            if plan is None:
                return None
            if has_run(plan.root):
                run_operation(plan.root, found)
        outline = outline_of(
            path,
            arguments=arguments,
            roots=roots,
            diagnostics=Diagnostics() if with_classes else found,
        )
        return None if outline is None else outline.virtual_nodes()

    return of_file
