"""What is shown or written instead of a run: the plan, the variables, the machine."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from runtime.cli.errors import OutputFailed
from runtime.cli.line.options import Format
from runtime.cli.run import note
from runtime.cli.streams import write
from runtime.deployment import (
    Deployment,
    DeploymentPlan,
    Variable,
    plan_as_dict,
    render_plan,
    render_variables,
)


def show_plan(plan: DeploymentPlan, style: Format) -> int:
    """Write what would be done, without doing it.

    Whether the classes of an assembly fit can only be checked by running their modules.
    """
    write(_json(plan_as_dict(plan)) if style is Format.JSON else render_plan(plan))
    assembly = plan.deployment.assembly
    if assembly is not None:
        print(
            "gcm-deploy: the classes of the assembly were not checked, because that runs their "
            f"modules; this does it: gcm check {shlex.quote(assembly.file)}",
            file=sys.stderr,
        )
    return 0


def show_variables(variables: Sequence[Variable], style: Format) -> int:
    """Write each variable with its value and where the value came from."""
    if style is Format.JSON:
        write(_json([{**asdict(one), "origin": str(one.origin)} for one in variables]))
    else:
        write(render_variables(variables))
    return 0


def export_machine(plan: DeploymentPlan, file: str) -> int:
    """Write the machine that the plan makes as an ADL document; raises `OutputFailed`."""
    from runtime.processes.launcher.tree import machine_document

    path = Path(file)
    try:
        path.write_text(machine_document(plan, path.stem), encoding="utf-8")
    except OSError as error:
        raise OutputFailed(
            f"the machine cannot be written to '{file}': {error.strerror}",
            cure="Name a file in a folder that is there and may be written to",
        ) from error
    note(f"wrote {file}")
    return 0


def draw_machine(deployment: Deployment, file: str, colours: str) -> int:
    """Draw the machine of a deployment; raises `OutputFailed`."""
    from gcm.drawing import Colours, OutputError, write_picture
    from runtime.cli.machine_picture import machine_picture

    try:
        write_picture(machine_picture(deployment), file, colours=Colours(colours))
    except OutputError as error:
        raise OutputFailed(error.what, cure=error.cure) from error
    except OSError as error:
        raise OutputFailed(
            f"the machine cannot be drawn to '{file}': {error.strerror}",
            cure="Name a file in a folder that is there and may be written to",
        ) from error
    note(f"wrote {file}; nothing was run")
    return 0


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
