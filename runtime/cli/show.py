"""What is shown instead of a run: the plan with its exact commands, or the variables."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gcm.cli.output import write_json
from runtime.cli.options import Format
from runtime.deployment import (
    DeploymentPlan,
    Variable,
    plan_as_dict,
    render_plan,
    render_variables,
)


def show_plan(plan: DeploymentPlan, style: Format) -> int:
    """Write what would be done, without doing any of it."""
    if style is Format.JSON:
        write_json(plan_as_dict(plan))
    else:
        sys.stdout.write(render_plan(plan))
    return 0


def show_variables(variables: Sequence[Variable], style: Format) -> int:
    """Write each variable with its value and where the value came from."""
    if style is Format.JSON:
        write_json(
            [
                {"name": one.name, "value": one.value, "origin": one.origin, "source": one.source}
                for one in variables
            ]
        )
    else:
        sys.stdout.write(render_variables(variables))
    return 0
