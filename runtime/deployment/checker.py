"""Checks deployment descriptors for `gcm check`, with this machine as their surroundings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from gcm.adl import ComponentPlan, plan_document
from gcm.documents import Diagnostics
from runtime.deployment.reader import read_descriptor
from runtime.deployment.surroundings import Surroundings


def check_descriptors(files: Iterable[str], roots: Sequence[str]) -> Diagnostics:
    """Return everything that is wrong with some descriptors.

    `roots` are searched for the definitions and Python modules of the assemblies they name.
    """
    diagnostics = Diagnostics()
    for file in files:
        surroundings = Surroundings(
            folder=os.path.dirname(os.path.abspath(file)),
            environment=os.environ,
            exists=lambda path: os.path.exists(os.path.expanduser(path)),
            virtual_nodes=_virtual_nodes(roots),
        )
        read_descriptor(file, surroundings=surroundings, diagnostics=diagnostics)
    return diagnostics


def _virtual_nodes(roots: Sequence[str]) -> Callable[[str], Iterable[str] | None]:
    def of_file(file: str) -> Iterable[str] | None:
        # Faults of the assembly are told when its own file is checked.
        plan = plan_document(file, roots=roots, diagnostics=Diagnostics())
        return None if plan is None else sorted(set(_names(plan.root)))

    return of_file


def _names(plan: ComponentPlan) -> Iterable[str]:
    if plan.virtual_node is not None:
        yield plan.virtual_node.name
    for child in plan.components:
        yield from _names(child)
