"""Files, lines and public names of each folder at one commit and at another, as a table.

python -m tools.folders a89987e7 HEAD
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

PACKAGES = ("gcm", "runtime")


@dataclass(slots=True)
class Folder:
    """What the Python files of one folder amount to, those of its subfolders included."""

    files: int = 0
    lines: int = 0
    names: int = 0


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.folders", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="another one; HEAD by default")
    options = parser.parse_args(argv)
    before, after = folders(options.before), folders(options.after)
    print("| Folder | Files | Lines | Public names |\n|---|---|---|---|")
    for name in sorted(before | after):
        pair = before.get(name, Folder()), after.get(name, Folder())
        figures = ((one.files, one.lines, one.names) for one in pair)
        cells = (f"{old or '-'} → {new or '-'}" for old, new in zip(*figures, strict=True))
        print(f"| `{name}` | {' | '.join(cells)} |")
    for when, found in (("before", before), ("after", after)):
        total = sum(one.lines for one in found.values())
        print(f"\n{when}: {total} lines in {sum(one.files for one in found.values())} files")


def folders(commit: str) -> dict[str, Folder]:
    """Return the folders of the packages at a commit; a package itself stands for its own files."""
    command = ["git", "archive", "--format=tar", commit, *PACKAGES]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    found: dict[str, Folder] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            path = PurePosixPath(member.name)
            stream = members.extractfile(member) if path.suffix == ".py" else None
            if stream is None:
                continue
            text = stream.read().decode()
            name = "/".join(path.parts[: min(2, len(path.parts) - 1)])
            folder = found.setdefault(name, Folder())
            folder.files += 1
            folder.lines += text.count("\n")
            if path.name == "__init__.py" and str(path.parent) == name:
                folder.names = public_names(text)
    return found


def public_names(text: str) -> int:
    """Return how many names `__all__` has; 0 without one, or where it is computed."""
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign([ast.Name("__all__")], ast.List(names) | ast.Tuple(names)):
                return len(names)
    return 0


if __name__ == "__main__":
    main()
