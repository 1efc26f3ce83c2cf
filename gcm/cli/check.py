"""`gcm check`: reports every error of every file, each by the checker of its language."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import entry_points

from gcm.adl import MissingClasses, check_files
from gcm.cli.output import counted, not_there, write_findings, write_json
from gcm.cli.root_tag import root_tag
from gcm.documents import Diagnostic, Diagnostics

CHECKERS = "gcm.checkers"
"""The entry-point group of checkers for other documents.

The name is the tag of the root element, the value a function `check(files, roots)` that returns the
`Diagnostics` of all these files.
"""

CLASSES_NOT_CHECKED = "classes-not-checked"
"""A warning about an assembly, which is left out where ADL documents are checked too."""


def check(
    files: Sequence[str], roots: Sequence[str], style: str, missing: MissingClasses | None = None
) -> int:
    """Check the files and write what was found; return 1 if there is an error.

    With `missing`, which collects them, the classes that ADL documents name need not exist.
    """
    found = _find(files, roots, missing)
    findings, errors = found.by_location(), len(found.errors)
    if style == "json":
        write_json(
            {
                "files": list(files),
                "errors": errors,
                "warnings": len(findings) - errors,
                "findings": [one.as_dict() for one in findings],
                **({"missing": sorted(missing.stand_ins)} if missing else {}),
            }
        )
    else:
        write_findings(findings)
        if missing is not None and missing.stand_ins:
            print(not_there(missing.stand_ins))
        print(_summary(files, findings, errors))
    return 1 if errors else 0


def _find(
    files: Sequence[str], roots: Sequence[str], missing: MissingClasses | None
) -> Diagnostics:
    known = {one.name: one for one in entry_points(group=CHECKERS)}
    by_tag: dict[str, list[str]] = {}
    for file in dict.fromkeys(files):
        tag = root_tag(file)
        by_tag.setdefault(tag if tag in known else "", []).append(file)
    found = Diagnostics()
    for tag, some in by_tag.items():
        checker = known[tag].load() if tag else None
        told = (
            checker(some, roots, with_classes=missing is None)
            if checker
            else check_files(some, roots=roots, missing=missing)
        )
        for one in told:
            # An ADL document may be checked for itself and for a descriptor.
            if one not in found and (one.code != CLASSES_NOT_CHECKED or "" not in by_tag):
                found.add(one)
    return found


def _summary(files: Sequence[str], findings: Sequence[Diagnostic], errors: int) -> str:
    warnings = len(findings) - errors
    also = f"{counted(warnings, 'warning')}" if warnings else ""
    if not errors:
        return ", ".join(filter(None, [counted(len(set(files)), "file"), "no fault", also]))
    places = {one.location.file for one in findings}
    faults = " and ".join(filter(None, [counted(errors, "fault"), also]))
    return f"{faults} in {counted(len(places), 'file')}"
