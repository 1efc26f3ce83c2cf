"""Surveys the program folders to copy, and asks if there is more than expected."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from gcm.documents import Diagnostics, Severity
from runtime.cli.line.options import Options
from runtime.cli.load import write_findings_of
from runtime.deployment import Application, Deployment
from runtime.deployment.language.table import LANGUAGE
from runtime.deployment.planning.program_files import (
    MB,
    ProgramFiles,
    copies,
    readable,
    what_to_do,
    what_to_leave_out,
)
from runtime.launchers.errors import StagingFailed
from runtime.shown_text import shown

MOST_SHOWN = 5

MUCH = 10 * MB
"""So many bytes of a program folder, often of earlier results, are worth a hint."""


def look_at_programs(deployment: Deployment, options: Options) -> Mapping[str, ProgramFiles] | None:
    """Return what is copied for each application, or None after reporting errors.

    A user at a terminal is asked before more is copied than the descriptor allows. With `--dry-run`
    nothing is asked, and the plan shows it.
    """
    copied = copies(deployment)
    if not copied:
        return {}
    from runtime.results.program_survey import survey  # only where something is copied

    codes = {one.name: one for one in deployment.applications}
    diagnostics, found = Diagnostics(), dict[str, ProgramFiles]()
    for name, clusters in copied.items():
        code = codes[name]
        try:
            files = found[name] = survey(code, deployment)
        except StagingFailed as fault:
            what = f"{fault.what} ({fault.place})"
            diagnostics.report("no-program-folder", what, code.location, hint=fault.cure)
            continue
        _warn(code, files, diagnostics)
        is_agreed = options.dry_run or not files.exceeds(code.stage_limit)
        if is_agreed and not options.dry_run and _is_surprising(code, files):
            where = "a cluster" if len(clusters) == 1 else f"each of {len(clusters)} clusters"
            diagnostics.report(
                "much-to-copy",
                f"the program folder of application '{name}' is copied to {where}: {files}",
                code.location,
                hint=what_to_leave_out(code, files),
                severity=Severity.WARNING,
            )
        if not is_agreed and not _agrees(code, files, len(clusters)):
            diagnostics.report(
                "too-much-to-copy",
                f"the program folder of application '{name}' is too large to be copied without a "
                f"question: {files}",
                code.location,
                hint=what_to_do(code, files),
            )
    write_findings_of(diagnostics, options.format)
    return None if diagnostics.errors else found


def _is_surprising(code: Application, files: ProgramFiles) -> bool:
    """Return whether much is copied, and nobody has said how much is right."""
    usual = LANGUAGE.elements["application"].attribute("stage-limit")
    assert usual is not None, "the language has it"
    return MUCH < files.size <= code.stage_limit * MB and str(code.stage_limit) == usual.default


def surveyed(deployment: Deployment) -> Mapping[str, ProgramFiles]:
    """Return what is copied to booked peers, of which the user was told before they were booked.

    Raises:
        StagingFailed: a program folder cannot be read any more.
    """
    from runtime.results.program_survey import survey

    codes = {one.name: one for one in deployment.applications}
    return {name: survey(codes[name], deployment) for name in copies(deployment)}


def _warn(code: Application, files: ProgramFiles, diagnostics: Diagnostics) -> None:
    if not files.skipped:
        return
    shown = "; ".join(files.skipped[:MOST_SHOWN])
    more = len(files.skipped) - MOST_SHOWN
    diagnostics.report(
        "not-copied",
        f"not all of the program folder of application '{code.name}' is copied: {shown}"
        + (f"; and {more} more" if more > 0 else ""),
        code.location,
        severity=Severity.WARNING,
    )


def _agrees(code: Application, files: ProgramFiles, clusters: int) -> bool:
    """Ask the user at the terminal, if there is one."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    where = "1 cluster" if clusters == 1 else f"{clusters} clusters"
    print(
        f"{code.folder}: {files} would be copied to {where}; the limit is {code.stage_limit} MB",
        file=sys.stderr,
    )
    for path, size in files.largest():
        print(f"  {readable(size):>10}  {shown(path)}", file=sys.stderr)
    print("copy them? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
