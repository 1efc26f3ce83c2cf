"""The architecture description language: XML to checked plan to live components and back."""

from gcm.adl.assemble import assemble
from gcm.adl.builder import Assembly
from gcm.adl.loading import check_files, plan_document, virtual_nodes_of
from gcm.adl.opening import load
from gcm.adl.picture import scene_of, scene_of_plan
from gcm.adl.plan import AssemblyPlan, ComponentPlan
from gcm.adl.port import Ported, port_files
from gcm.adl.runnable import has_run, result_of, run_operation
from gcm.adl.structure import MissingClasses
from gcm.adl.writing import describe, export

__all__ = [
    "Assembly",
    "AssemblyPlan",
    "ComponentPlan",
    "MissingClasses",
    "Ported",
    "assemble",
    "check_files",
    "describe",
    "export",
    "has_run",
    "load",
    "plan_document",
    "port_files",
    "result_of",
    "run_operation",
    "scene_of",
    "scene_of_plan",
    "virtual_nodes_of",
]
