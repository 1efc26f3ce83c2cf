"""The architecture description language: XML to checked plan to live components and back.

The names below are imported when they are first used: a node that makes components does not load
what reads and writes documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gcm.adl.assembling import assemble as assemble
    from gcm.adl.builder import Assembly as Assembly
    from gcm.adl.loading import check_files as check_files
    from gcm.adl.loading import plan_document as plan_document
    from gcm.adl.loading import virtual_nodes_of as virtual_nodes_of
    from gcm.adl.opening import load as load
    from gcm.adl.picture import scene_of as scene_of
    from gcm.adl.picture import scene_of_plan as scene_of_plan
    from gcm.adl.plan import AssemblyPlan as AssemblyPlan
    from gcm.adl.plan import ComponentPlan as ComponentPlan
    from gcm.adl.port import Ported as Ported
    from gcm.adl.port import port_files as port_files
    from gcm.adl.runnable import has_run as has_run
    from gcm.adl.runnable import result_of as result_of
    from gcm.adl.runnable import run_operation as run_operation
    from gcm.adl.structure import MissingClasses as MissingClasses
    from gcm.adl.writing import describe as describe
    from gcm.adl.writing import export as export

_HOMES = {
    "gcm.adl.assembling": ("assemble",),
    "gcm.adl.builder": ("Assembly",),
    "gcm.adl.loading": ("check_files", "plan_document", "virtual_nodes_of"),
    "gcm.adl.opening": ("load",),
    "gcm.adl.picture": ("scene_of", "scene_of_plan"),
    "gcm.adl.plan": ("AssemblyPlan", "ComponentPlan"),
    "gcm.adl.port": ("Ported", "port_files"),
    "gcm.adl.runnable": ("has_run", "result_of", "run_operation"),
    "gcm.adl.structure": ("MissingClasses",),
    "gcm.adl.writing": ("describe", "export"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = tuple(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a public name on its first use."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gcm.adl' has no attribute '{name}'")
    import importlib  # here: it takes a rank some of its start

    found = globals()[name] = getattr(importlib.import_module(module), name)
    return found


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return sorted({*globals(), *_HOME_OF})
