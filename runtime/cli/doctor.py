"""`gcm-deploy doctor`: says before a launch what will not work, and how to fix it."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from gcm.cli.common_options import Option
from gcm.cli.output import write_json
from gcm.documents import Severity
from runtime.cli.line.options import FORMAT, SETTINGS, Format, deploy_command, read_options
from runtime.cli.line.values import seconds
from runtime.exit_codes import FAULTS, UNHEALTHY
from runtime.shown_text import shown_lines

if TYPE_CHECKING:
    from runtime.deployment import Deployment
    from runtime.deployment.model import PeersRequest
    from runtime.doctor.examination import Examination, Say

_MORE = """\
All hosts of a descriptor are examined, or without one this machine; each problem is named with why
it matters and how to fix it. The application is not started, and nothing stays on any host."""

_EPILOG = """\
examples:
  gcm-deploy doctor                       can MPI programs run on this machine?
  gcm-deploy doctor grid.xml              can this deployment run?
  gcm-deploy doctor peers.xml             who in the lab answers, and which ways are closed?
  gcm-deploy doctor --format json grid.xml

exit codes:
  0 nothing was found, or only warnings; 206 a problem that will make a run fail; 201 the
  descriptor has faults; 202 the command line is wrong"""

DEFAULT_TIMEOUT = 30.0


@deploy_command(
    Option("descriptor", nargs="?", metavar="DESCRIPTOR",
           help="what would be deployed; without one this machine is examined"),
    SETTINGS, FORMAT,
    Option("--timeout", metavar="SECONDS", read=seconds, default=DEFAULT_TIMEOUT,
           help="how long to wait for each answer (default: %(default)g)"),
    Option("--in-job", action="store_true",
           help="try two ranks in a job of one minute of each batch system"),
    Option("--quiet", action="store_true", help="do not tell what is being waited for"),
    more=_MORE, epilog=_EPILOG,
)  # fmt: skip
def doctor(found: argparse.Namespace) -> int:
    """Examine, write what was found, and return the exit code."""
    style = Format(found.format)
    deployment = None
    if found.descriptor:
        from runtime.cli.load import load_deployment

        settings = [f"--set={name}={value}" for name, value in found.settings]
        # a dry run imports no module of an assembly
        given = read_options(["--dry-run", "--format", style, *settings, found.descriptor])
        deployment = load_deployment(given)
        if deployment is None:
            return FAULTS
    from runtime.doctor.examination import examine

    def say(text: str) -> None:
        if not found.quiet:
            print(f"gcm-deploy: {shown_lines(text)}", file=sys.stderr, flush=True)

    examined = examine(
        deployment,
        sys.executable or "python3",
        timeout=found.timeout,
        say=say,
        in_job=found.in_job,
    )
    if deployment is not None and deployment.peers is not None:
        examined = _with_lab(examined, deployment, deployment.peers, say)
    if style is Format.JSON:
        from runtime.cli.doctor_report import as_dict

        write_json(as_dict(examined))
    else:
        from runtime.cli.doctor_report import print_report

        print_report(examined)
    return UNHEALTHY if examined.errors else 0


def _with_lab(
    examined: Examination, deployment: Deployment, request: PeersRequest, say: Say
) -> Examination:
    """Return an examination with what is found in the lab that lends the machine."""
    from runtime.cli.on_peers import demand_of, lab_of
    from runtime.doctor.records import Finding
    from runtime.peers.errors import PeerError
    from runtime.peers.submission.examination import LabExamination, examine_lab

    try:
        lab = lab_of(request)
    except PeerError as fault:
        finding = Finding(
            "no-credential", Severity.ERROR, f"{fault.what}: {fault.cause}", fault.place,
            "a lab lends its machines to members only", fault.cure, request.location,
        )  # fmt: skip
        found = LabExamination((finding,), "no lab")
    else:
        try:
            found = examine_lab(lab, demand_of(deployment, request), request.location, say)
        finally:
            lab.close()
    findings = sorted(
        (*found.findings, *examined.findings), key=lambda one: one.severity is not Severity.ERROR
    )
    return replace(examined, findings=tuple(findings), lab=found.headline)
