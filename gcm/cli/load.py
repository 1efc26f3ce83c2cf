"""Reads the one document that `show`, `draw` and `run` work on."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gcm.adl import AssemblyPlan, plan_document
from gcm.cli.output import counted, write_findings
from gcm.documents import Diagnostics

Settings = Sequence[tuple[str, str]]


def load_plan(file: str, settings: Settings, roots: Sequence[str]) -> AssemblyPlan | None:
    """Return the plan of a document, or None after everything wrong with it has been written."""
    diagnostics = Diagnostics()
    plan = plan_document(file, arguments=dict(settings), roots=roots, diagnostics=diagnostics)
    write_findings(diagnostics.by_location(), sys.stderr)
    if plan is None:
        print(counted(len(diagnostics.errors), "fault"), file=sys.stderr)
        if any(found.code == "missing-argument" for found in diagnostics):
            print("Arguments of this definition are given with --set NAME=VALUE", file=sys.stderr)
    return plan
