"""`gcm port`: Python skeletons for the classes that documents name and that are not there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from gcm.adl import Ported, port_files
from gcm.cli.output import counted, write_findings
from gcm.documents import Diagnostics

WRONG_USAGE = 2


def port(files: Sequence[str], package: str, output: str, roots: Sequence[str]) -> int:
    """Write the skeletons of all missing classes; return 1 if the documents have faults."""
    if not all(part.isidentifier() for part in package.split(".")):
        print(f"gcm port: '{package}' is no name of a package: write one like app", file=sys.stderr)
        return WRONG_USAGE
    diagnostics = Diagnostics()
    found = port_files(
        files, package=package, output=Path(output), roots=roots, diagnostics=diagnostics
    )
    write_findings(diagnostics.by_location(), sys.stderr)
    if diagnostics.errors:
        print(f"{counted(len(diagnostics.errors), 'fault')}; nothing was written", file=sys.stderr)
        return 1
    for one in found:
        if not _written(one):
            return 1
        print(f"{one.file}: {one.news or 'kept as it is'}")
    documents = [shlex.quote(str(one.file)) for one in found if one.file.suffix == ".fractal"]
    print(f"\nNext: gcm check {' '.join(documents)}")
    print("then write the operations of the interfaces and the methods of the components")
    return 0


def _written(one: Ported) -> bool:
    try:
        if one.news:
            one.file.parent.mkdir(parents=True, exist_ok=True)
            one.file.write_text(one.text, "utf-8")
    except OSError as error:
        print(f"gcm port: cannot write '{one.file}': {error.strerror}", file=sys.stderr)
        return False
    return True
