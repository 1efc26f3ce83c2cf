"""Reads the one document that `show`, `draw` and `run` work on."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gcm.adl import AssemblyPlan, MissingClasses, plan_document
from gcm.cli.output import counted, not_there, write_findings
from gcm.documents import Diagnostics

Settings = Sequence[tuple[str, str]]


def load_plan(
    file: str, settings: Settings, roots: Sequence[str], missing: MissingClasses | None = None
) -> AssemblyPlan | None:
    """Return the plan of a document, or None after reporting everything wrong with it.

    Only with `missing` classes need not exist; it collects them, and they are listed.
    """
    diagnostics = Diagnostics()
    plan = plan_document(
        file, arguments=dict(settings), roots=roots, diagnostics=diagnostics, missing=missing
    )
    write_findings(diagnostics.by_location(), sys.stderr)
    if missing is not None and missing.stand_ins:
        print(not_there(missing.stand_ins), file=sys.stderr)
    if plan is None:
        _suggest_structure(diagnostics, file)
        print(counted(len(diagnostics.errors), "fault"), file=sys.stderr)
        if any(found.code == "missing-argument" for found in diagnostics):
            print("Arguments of this definition are given with --set NAME=VALUE", file=sys.stderr)
    return plan


_NEEDS_CLASSES = {"missing-module", "missing-class", "malformed-class-name", "missing-content"}


def _suggest_structure(diagnostics: Diagnostics, file: str) -> None:
    """Suggest how to show and draw an assembly whose only errors are missing classes."""
    if {one.code for one in diagnostics.errors} <= _NEEDS_CLASSES:
        print(f"Without its classes: gcm check --structure {file}", file=sys.stderr)
