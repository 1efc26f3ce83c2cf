"""From an XML descriptor to a plan of what runs where, without any side effect."""

from runtime.deployment.model import Deployment
from runtime.deployment.plan import DeploymentPlan, make_plan
from runtime.deployment.reader import read_descriptor
from runtime.deployment.render import plan_as_dict, render_plan, render_variables
from runtime.deployment.surroundings import Surroundings

__all__ = [
    "Deployment",
    "DeploymentPlan",
    "Surroundings",
    "make_plan",
    "plan_as_dict",
    "read_descriptor",
    "render_plan",
    "render_variables",
]
