"""`gcm port`: Python skeletons for missing classes that documents name."""

from __future__ import annotations

import keyword
import shlex
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path

from gcm.adl import Ported, port_files
from gcm.cli.output import counted, write_findings
from gcm.documents import Diagnostics

WRONG_USAGE = 2


def port(files: Sequence[str], package: str, output: str, roots: Sequence[str]) -> int:
    """Write the skeletons of all missing classes; return 1 if the documents have faults."""
    if fault := _package_fault(package, Path(output)):
        print(f"gcm port: --package {package}: {fault}", file=sys.stderr)
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


def _package_fault(package: str, output: Path) -> str:
    """Return why a package cannot have that name, or nothing where it can."""
    parts = package.split(".")
    for part in parts:
        if not part.isidentifier():
            return f"'{part}' is not a Python name: write letters, digits and _, as in app.parts"
        if keyword.iskeyword(part):
            return f"'{part}' is a word of the language Python: write another one, as {part}_app"
    top = parts[0]
    if top in sys.stdlib_module_names:
        return f"Python's own library has a module '{top}', which could not be imported any more"
    spec = PathFinder.find_spec(top)
    there = [Path(one) for one in spec.submodule_search_locations or ()] if spec else []
    there += [Path(spec.origin)] if spec and spec.origin and not there else []
    if there and not any(one.resolve() == (output / top).resolve() for one in there):
        return f"there is a package of that name already, in {there[0]}: choose another name"
    return ""


def _written(one: Ported) -> bool:
    try:
        if one.news:
            one.file.parent.mkdir(parents=True, exist_ok=True)
            one.file.write_text(one.text, "utf-8")
    except OSError as error:
        print(f"gcm port: cannot write '{one.file}': {error.strerror}", file=sys.stderr)
        return False
    return True
