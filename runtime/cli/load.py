"""From the command line to the checked deployment, reporting all errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gcm.cli.output import counted, write_findings, write_json
from gcm.documents import Diagnostics, Location
from runtime.cli.errors import UsageError
from runtime.cli.line.options import Format, Options
from runtime.collectives import fault_of_rules
from runtime.deployment import Deployment, DescriptorContext, deployment_of, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.deployment.environment import matching
from runtime.deployment.model import BookedPeer, Direction, FileTransfer
from runtime.deployment.planning.workplace import workplace_of
from runtime.home import python_path
from runtime.native_mpi import python_module

if TYPE_CHECKING:
    from runtime.cli.line.document import OneLineDocument

_NO_SETTINGS: Mapping[str, str] = {}

Sites = Sequence[Sequence[BookedPeer]]

CHECKED_WAITS = 4.0
"""Seconds after which ranks of a program that is checked tell what they wait for."""

_IMPORT_TIMEOUT = 60.0
"""Seconds for importing the modules of a program, to look at its classes."""

COMMAND_LINE = "command line"
"""The name in messages of a descriptor that is in no file."""


def load_deployment(options: Options, booked: Sites = ()) -> Deployment | None:
    """Return the deployment, with the limits of the command line; see `_loaded`.

    `booked` are the sites of the booked peers, where the machine is to be booked.
    """
    deployment = _loaded(options, booked)
    if deployment is None:
        return None
    if options.check and options.trace:
        raise UsageError("--check and --trace exclude each other")
    if options.check and any(one.replicas > 1 or one.goes_on for one in deployment.applications):
        raise UsageError("--check is for programs whose ranks have no replicas and are not lost")
    explain, limit = options.explain_waits, options.run_timeout
    if options.check and explain is None:
        explain = CHECKED_WAITS
    tuned = _tuned_plans(options.descriptor) if options.descriptor else ""
    return replace(
        deployment,
        transfers=(*deployment.transfers, *_outputs(deployment, options.replaceable)),
        observed=bool(options.record or options.report or options.web or options.summary),
        traced=bool(options.trace),
        checked=options.check,
        for_ranks=options.for_ranks,
        plans=" ".join(filter(None, (tuned, deployment.plans, options.plans))),
        explain_waits=deployment.explain_waits if explain is None else explain,
        start_timeout=options.timeout,
        run_timeout=deployment.run_timeout if limit is None else limit,
        typed=tuple(options.one_line.files) if options.one_line is not None else (),
    )


def _outputs(deployment: Deployment, patterns: Sequence[str]) -> Iterator[FileTransfer]:
    """Yield the transfers that `--replace` adds for clusters that work in copies."""
    clusters = tuple(
        one.position for one in deployment.clusters() if workplace_of(deployment, one).is_copy
    )
    for pattern in patterns:
        location = Location(COMMAND_LINE, 0)
        yield FileTransfer(Direction.OUT, pattern, "", clusters, location, replaces=True)


def tuned_file(descriptor: str) -> str:
    """Return the file with the plans that were measured for a descriptor."""
    return os.path.splitext(descriptor)[0] + ".plans"


def _tuned_plans(descriptor: str) -> str:
    """Return the plans beside a descriptor, or nothing.

    Raises:
        UsageError: something there is no rule.
    """
    file = tuned_file(descriptor)
    try:
        with open(file, encoding="utf-8") as stream:
            lines = [line.partition("#")[0].strip() for line in stream]
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        raise UsageError(f"'{file}' cannot be read: {error}") from error
    text = " ".join(filter(None, lines))
    if fault := fault_of_rules(text):
        cure = f"Delete it, or measure again: gcm-deploy tune {descriptor}"
        raise UsageError(f"{file}: {fault}", cure=cure)
    return text


def _loaded(options: Options, booked: Sites) -> Deployment | None:
    """Return the deployment, or None after reporting everything wrong with it.

    Raises `UsageError` for a file that is not a descriptor, when the arguments behind `--` belong
    to no application, and when a variable of `-x` has no value here.
    """
    if options.one_line is not None:
        from runtime.cli.line.document import document_of

        document = document_of(
            options.one_line, options.arguments, os.getcwd(), variables=options.variables
        )
        return read_document(document, options.settings, options.format, booked)
    diagnostics = Diagnostics()
    deployment = read_descriptor(
        options.descriptor,
        surroundings=_context(
            options.descriptor,
            options.settings,
            with_classes=not (
                options.dry_run or options.show_variables or options.export_adl or options.draw
            ),
            booked=booked,
        ),
        diagnostics=diagnostics,
    )
    if deployment is None:
        from runtime.cli.line.mistaken_words import what_was_meant

        if meant := what_was_meant(options):
            raise UsageError(meant)
    if deployment is None or not booked:  # else they were written before the peers were booked
        write_findings_of(diagnostics, options.format)
    if deployment is None:
        return None
    deployment = _with_arguments(deployment, options.arguments)
    return _with_variables(deployment, options.variables, os.environ)


def read_document(
    document: OneLineDocument,
    settings: Mapping[str, str] = _NO_SETTINGS,
    style: Format = Format.TEXT,
    booked: Sites = (),
) -> Deployment | None:
    """Return the deployment of a composed descriptor, or None after reporting its errors."""
    diagnostics = Diagnostics()
    deployment = deployment_of(
        document.root.node(Location(COMMAND_LINE, 0)),
        surroundings=_context(os.path.join(document.folder, COMMAND_LINE), settings, booked=booked),
        diagnostics=diagnostics,
    )
    if deployment is None or not booked:
        write_findings_of(diagnostics, style)
    return deployment


def _context(
    file: str,
    settings: Mapping[str, str],
    *,
    with_classes: bool = False,
    booked: Sites = (),
) -> DescriptorContext:
    found = surroundings_of(
        file,
        settings=settings,
        python=sys.executable or "python3",
        with_assembly=True,
        with_classes=with_classes,
    )
    found = replace(found, booked=booked)
    return replace(found, named_classes=_faults_of_classes) if with_classes else found


def _faults_of_classes(search: str, wanted: tuple[tuple[str, str], ...]) -> Sequence[str]:
    """Return why each class does not fit its role, empty if it does.

    `search` is the folder in which the program finds its modules; if it is not on this machine
    nothing is checked.
    """
    if not os.path.isdir(search):
        return [""] * len(wanted)
    import json  # only for descriptors that name some
    import subprocess

    try:
        done = subprocess.run(
            python_module(sys.executable, "runtime.machine.class_check"),
            input=json.dumps([search, wanted]),
            capture_output=True,
            text=True,
            timeout=_IMPORT_TIMEOUT,
            env={**os.environ, **python_path()},
            cwd=search,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"importing it takes more than {_IMPORT_TIMEOUT:g} seconds"] * len(wanted)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        return [f"importing it ends Python with code {done.returncode}: {last}"] * len(wanted)
    found: list[str] = json.loads(done.stdout)
    return found


def write_findings_of(diagnostics: Diagnostics, style: Format) -> None:
    """Write the findings on a descriptor, and how many there are."""
    findings = diagnostics.by_location()
    errors = len(diagnostics.errors)
    if style is Format.JSON and errors:
        write_json({"errors": errors, "findings": [one.as_dict() for one in findings]})
        return
    write_findings(findings, sys.stderr)
    if errors:
        print(counted(errors, "fault"), file=sys.stderr)


def _with_arguments(deployment: Deployment, arguments: Sequence[str]) -> Deployment:
    """Return the deployment whose only application gets these arguments instead of its own."""
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
    return replace(deployment, applications=(replace(application, arguments=tuple(arguments)),))


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
