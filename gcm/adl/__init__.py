"""The architecture description language: XML to checked plan to live components and back."""

from gcm.adl.assemble import assemble
from gcm.adl.builder import Assembly
from gcm.adl.load import check_files, plan_document
from gcm.adl.plan import AssemblyPlan, ComponentPlan

__all__ = [
    "Assembly",
    "AssemblyPlan",
    "ComponentPlan",
    "assemble",
    "check_files",
    "plan_document",
]
