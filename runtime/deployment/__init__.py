"""From an XML descriptor to a plan of what runs where, without any side effect."""

from runtime.deployment.assembly import Level, Part, implied_assembly
from runtime.deployment.model import (
    Application,
    Assembly,
    DeployedCluster,
    DeployedSite,
    Deployment,
    Flavour,
    FrontEnd,
    Mpi,
    Position,
    Process,
    SshHop,
    Transfer,
    VirtualNode,
)
from runtime.deployment.plan import DeploymentPlan, Placement, make_plan
from runtime.deployment.reader import read_descriptor
from runtime.deployment.render import plan_as_dict, render_plan, render_variables
from runtime.deployment.ssh_commands import over_ssh
from runtime.deployment.steps import FileMove, Step, StepKind
from runtime.deployment.surroundings import Surroundings
from runtime.deployment.variables import Origin, Variable

__all__ = [
    "Application",
    "Assembly",
    "DeployedCluster",
    "DeployedSite",
    "Deployment",
    "DeploymentPlan",
    "FileMove",
    "Flavour",
    "FrontEnd",
    "Level",
    "Mpi",
    "Origin",
    "Part",
    "Placement",
    "Position",
    "Process",
    "SshHop",
    "Step",
    "StepKind",
    "Surroundings",
    "Transfer",
    "Variable",
    "VirtualNode",
    "implied_assembly",
    "make_plan",
    "over_ssh",
    "plan_as_dict",
    "read_descriptor",
    "render_plan",
    "render_variables",
]
