"""Nothing but the table lists the names of MPI's calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from runtime.calls import every_call

ROOT = Path(__file__).parents[3]
NAMES = {one.name for one in every_call()} - {"free", "-"}
FEW = 3
"""So many names in one literal are a list."""

ALLOWED = {
    "runtime/collectives/choice.py": "the plans of each collective that has several",
    "runtime/mpi/collectives/averaged.py": "which function takes means in which reduction",
    "runtime/mpi/collectives/measuring.py": "the calls that are measured, with their arguments",
    "runtime/mpi/from_c/collectives.py": "what reads the arguments of each in C",
    "runtime/mpi/from_c/point_to_point.py": "what reads the arguments of each in C",
    "runtime/mpi/from_c/windows.py": "what reads the arguments of each in C",
    "runtime/shim/functions.py": "what the library of C asks, by the numbers of that",
    "tools/random_programs/gatherings.py": "how messages from any rank are received in programs",
    "tools/random_programs/running_collectives.py": "who gives one object, and who one for each",
}
"""What is made of calls there, for some of them."""


def literals(path: Path) -> Iterator[list[str]]:
    """Yield the texts in each list, tuple, set and dictionary of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            parts: list[ast.expr | None] = [*node.elts]
        elif isinstance(node, ast.Dict):
            parts = node.keys
        else:
            continue
        yield [
            str(one.value)
            for one in parts
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]


def has_a_list(path: Path) -> bool:
    """Return whether names of calls are most of a list in a file."""
    for texts in literals(path):
        names = [one for one in texts if one in NAMES]
        if len(names) >= FEW and 2 * len(names) > len(texts):
            return True
    return False


def test_names_of_calls_are_listed_in_the_table_alone() -> None:
    found = {
        str(path.relative_to(ROOT))
        for folder in ("gcm", "runtime", "tools")
        for path in (ROOT / folder).rglob("*.py")
        if has_a_list(path)
    }
    assert found == set(ALLOWED)
