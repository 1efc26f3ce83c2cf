"""What is shown instead of a run: the plan with its exact commands, or the variables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from runtime.cli.options import Format
from runtime.cli.streams import write
from runtime.deployment import (
    DeploymentPlan,
    Variable,
    plan_as_dict,
    render_plan,
    render_variables,
)


def show_plan(plan: DeploymentPlan, style: Format) -> int:
    """Write what would be done, without doing any of it."""
    write(_json(plan_as_dict(plan)) if style is Format.JSON else render_plan(plan))
    return 0


def show_variables(variables: Sequence[Variable], style: Format) -> int:
    """Write each variable with its value and where the value came from."""
    if style is Format.JSON:
        write(_json([{**asdict(one), "origin": str(one.origin)} for one in variables]))
    else:
        write(render_variables(variables))
    return 0


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
