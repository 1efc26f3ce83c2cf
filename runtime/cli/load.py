"""From the command line to the checked deployment, with everything wrong with it written."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gcm.cli.output import counted, write_findings, write_json
from gcm.documents import Diagnostics
from runtime.cli.options import Format, Options
from runtime.deployment import Deployment, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.deployment.environment import matching
from runtime.errors import GridError


class UsageError(GridError):
    """The command line asks for something that does not fit the descriptor."""


def load_deployment(options: Options) -> Deployment | None:
    """Return what the descriptor says, or None after everything wrong with it has been written.

    Raises `UsageError` when the arguments behind `--` belong to no application, or a variable of
    `-x` has no value here.
    """
    diagnostics = Diagnostics()
    surroundings = surroundings_of(
        options.descriptor,
        settings=options.settings,
        python=sys.executable or "python3",
        with_assembly=True,
    )
    deployment = read_descriptor(
        options.descriptor, surroundings=surroundings, diagnostics=diagnostics
    )
    write_findings_of(diagnostics, options.format)
    if deployment is None:
        return None
    deployment = _with_arguments(deployment, options.arguments)
    return _with_variables(deployment, options.variables, os.environ)


def write_findings_of(diagnostics: Diagnostics, style: Format) -> None:
    """Write what is wrong with a descriptor, and how much that is."""
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


def _with_variables(
    deployment: Deployment, words: Sequence[str], environment: Mapping[str, str]
) -> Deployment:
    """Return the deployment whose applications get these variables too, each `NAME[=VALUE]`."""
    given: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        found = {name: value} if equals else matching(name, environment)
        if not found:
            raise UsageError(
                f"-x {name}: there is no such variable in the environment",
                cure=f"Set it before the start, or write -x {name}=VALUE",
            )
        given |= found
    applications = tuple(
        replace(one, environment={**one.environment, **given}) for one in deployment.applications
    )
    return replace(deployment, applications=applications)
