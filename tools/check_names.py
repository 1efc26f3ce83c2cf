"""Check that every public class of `gcm` and `runtime` has a name of its own.

    python -m tools.check_names

A reader who meets a name should know which class it is without looking up where it was imported.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

PACKAGES = ("gcm", "runtime")

MPI4PY = frozenset({"Message", "Operation", "Request", "Session"})
"""Names of the MPI standard, which `runtime.mpi` has to use as it does."""


def homes(root: Path) -> dict[str, list[str]]:
    """Return the places of each public class name."""
    found: dict[str, list[str]] = defaultdict(list)
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            place = path.relative_to(root)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.ClassDef) or node.name.startswith("_"):
                    continue
                if node.name in MPI4PY and place.is_relative_to("runtime/mpi"):
                    continue
                found[node.name].append(f"{place}:{node.lineno}")
    return found


def breaches(root: Path) -> list[str]:
    """Return a sentence for each name that has several homes."""
    return [
        f"{places[1]}: there is another public class {name}, in {places[0]}: give one a name of"
        " its own"
        for name, places in homes(root).items()
        if len(places) > 1
    ]


def main() -> int:
    """Print the breaches; return 1 if there are any."""
    told = breaches(Path(__file__).parents[1])
    print("\n".join(told), end="\n" if told else "")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
