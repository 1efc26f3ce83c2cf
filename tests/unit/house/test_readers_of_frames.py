"""Frames, their variables and bytecode are read in few places, each for a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]

FRAMES = {"_getframe", "_current_frames", "currentframe"}
INSIDE = {"f_locals", "f_trace", "co_code", "dis", "settrace", "setprofile", "getargvalues"}
"""What shows variables or bytecode, or marks a frame."""

READERS = {
    "gcm/adl/builder.py": "the line of the program that declares a component, for messages",
    "gcm/membranes/lifecycle/controller.py": "the thread's own stack, for the search below",
    "gcm/membranes/requests/quiescence.py": "calls in flight, found when a composite stops",
    "runtime/mpi/checks/call_log.py": "the line of the program that makes a call, for faults",
    "runtime/mpi/surface/extensions.py": "which line asks for a handle that is refused",
    "runtime/mpi/surface/install.py": "whether a module of ours or of the program asks for MPI",
    "runtime/testing/world/guard.py": "the line that reads a real clock in a simulated world",
    "runtime/mpi/surface/waiting_calls.py": "the line that each thread is in, for waits and stacks",
}
"""Each file, and what it is after."""

LOOK_INSIDE = {"gcm/membranes/requests/quiescence.py", "runtime/mpi/surface/extensions.py"}
"""A stub's frame has its operation in a variable, and that of an import what is imported."""


def names_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (one.name for one in node.names)
            yield getattr(node, "module", None) or ""


def test_frames_are_read_where_the_list_says_alone() -> None:
    read: dict[str, set[str]] = {}
    for folder in ("gcm", "runtime"):
        for path in (ROOT / folder).rglob("*.py"):
            if found := {*names_in(path)} & (FRAMES | INSIDE):
                read[str(path.relative_to(ROOT))] = found
    assert set(read) == set(READERS)
    assert {path for path, found in read.items() if found & INSIDE} == LOOK_INSIDE
