"""From an XML descriptor to a plan of what runs where, without side effects."""

from runtime.deployment.context import DescriptorContext
from runtime.deployment.model import (
    Application,
    CommWorld,
    DeployedCluster,
    DeployedSite,
    Deployment,
    FileTransfer,
    FrontEnd,
    HelperProcess,
    Mpi,
    NamedLauncher,
    PlacedAssembly,
    Position,
    ProgramKind,
    SshHop,
    ValueOrigin,
    Variable,
    VirtualNode,
)
from runtime.deployment.planning.assembly import ExportedComponent, Level, implied_assembly
from runtime.deployment.planning.commands import is_at_front_end, over_ssh
from runtime.deployment.planning.plan import DeploymentPlan, RankPlacement, make_plan
from runtime.deployment.planning.render import plan_as_dict, render_plan, render_variables
from runtime.deployment.planning.steps import FileMove, Step
from runtime.deployment.reading.reader import deployment_of, read_descriptor

__all__ = [
    "Application",
    "CommWorld",
    "DeployedCluster",
    "DeployedSite",
    "Deployment",
    "DeploymentPlan",
    "DescriptorContext",
    "ExportedComponent",
    "FileMove",
    "FileTransfer",
    "FrontEnd",
    "HelperProcess",
    "Level",
    "Mpi",
    "NamedLauncher",
    "PlacedAssembly",
    "Position",
    "ProgramKind",
    "RankPlacement",
    "SshHop",
    "Step",
    "ValueOrigin",
    "Variable",
    "VirtualNode",
    "deployment_of",
    "implied_assembly",
    "is_at_front_end",
    "make_plan",
    "over_ssh",
    "plan_as_dict",
    "read_descriptor",
    "render_plan",
    "render_variables",
]
