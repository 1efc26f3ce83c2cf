"""From the command line to the checked deployment, with everything wrong with it written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from gcm.cli.output import counted, write_findings, write_json
from gcm.documents import Diagnostics
from runtime.cli.options import Format, Options
from runtime.deployment import Deployment, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.errors import GridError


class UsageError(GridError):
    """The command line asks for something that does not fit the descriptor."""


def load_deployment(options: Options) -> Deployment | None:
    """Return what the descriptor says, or None after everything wrong with it has been written.

    Raises `UsageError` when the arguments behind `--` belong to no application.
    """
    diagnostics = Diagnostics()
    surroundings = surroundings_of(
        options.descriptor,
        settings=options.settings,
        python=sys.executable or "python3",
        with_assembly=True,
        with_classes=not (options.dry_run or options.show_variables or options.export_adl),
    )
    deployment = read_descriptor(
        options.descriptor, surroundings=surroundings, diagnostics=diagnostics
    )
    _write(diagnostics, options.format)
    return None if deployment is None else _with_arguments(deployment, options.arguments)


def _write(diagnostics: Diagnostics, style: Format) -> None:
    findings, errors = diagnostics.by_location(), len(diagnostics.errors)
    if style is Format.JSON and errors:
        write_json({"errors": errors, "findings": [one.as_dict() for one in findings]})
        return
    write_findings(findings, sys.stderr)
    if errors:
        print(counted(errors, "fault"), file=sys.stderr)


def _with_arguments(deployment: Deployment, arguments: Sequence[str]) -> Deployment:
    """Return the deployment whose one application gets these arguments too."""
    if not arguments:
        return deployment
    names = [one.name for one in deployment.applications]
    if len(names) != 1:
        known = f"has {len(names)}: {', '.join(names)}" if names else "has none"
        raise UsageError(
            f"the arguments behind '--' are for one application, but this descriptor {known}",
            cure="Write them into the descriptor, as <argument value='...'/> of an <application>",
        )
    (application,) = deployment.applications
    longer = replace(application, arguments=(*application.arguments, *arguments))
    return replace(deployment, applications=(longer,))
