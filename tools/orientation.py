"""Counts what somebody has to follow who is new here: python -m tools.orientation [CHECKOUT]

- The files that each recipe of `docs/recipes.md` touches, as its test says.
- The stations, rooms and returns of the eight journeys of `tools.journeys`, such as that from the
  words of a command to the first process. `--places` lists the lines to which one comes back.
- Texts taken apart by `partition(":")`, in functions that are no parsers.
- Files that read frames of Python, and those between a program and MPI that wrap its calls.
- Lines of code of `runtime/mpi`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.journeys import PACKAGES, journeys

ROOT = Path(__file__).parents[1]
SURFACE = Path("runtime", "mpi", "surface")
"""What stands between a program and the calls of MPI."""

FRAMES = {"f_locals", "f_back", "co_code", "_current_frames", "_getframe"}


def trees(root: Path) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the files of the packages, with what they parse to."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield path.relative_to(root), ast.parse(path.read_text("utf-8"))


def is_parser(name: str) -> bool:
    """Return whether a function of that name reads texts."""
    return name.lstrip("_").startswith(("parse", "read", "from_text", "of_text"))


def partitions(tree: ast.AST, *, inside_parser: bool = False) -> int:
    """Return how often a text is taken apart at a colon outside of parsers."""
    found = 0
    for node in ast.iter_child_nodes(tree):
        inside = inside_parser
        if isinstance(node, ast.FunctionDef):
            inside = inside or is_parser(node.name)
        match node:
            case ast.Call(
                func=ast.Attribute(attr="partition" | "rpartition"), args=[ast.Constant(value=":")]
            ) if not inside:
                found += 1
        found += partitions(node, inside_parser=inside)
    return found


def reads_frames(tree: ast.Module) -> bool:
    """Return whether a file looks at frames of Python."""
    return any(isinstance(one, ast.Attribute) and one.attr in FRAMES for one in ast.walk(tree))


def wraps_calls(tree: ast.Module) -> bool:
    """Return whether a file puts functions around calls that it is given."""
    return any(_surrounds(one) for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))


def _surrounds(function: ast.FunctionDef) -> bool:
    """Return whether a function in it calls an argument of it with whatever it gets itself."""
    given = {one.arg for one in function.args.args}
    inner = (one for one in ast.walk(function) if isinstance(one, ast.FunctionDef))
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Name)
        and one.func.id in given
        and any(isinstance(each, ast.Starred) for each in one.args)
        for made in inner
        if made is not function
        for one in ast.walk(made)
    )


def lines_of_code(root: Path, folder: str) -> int:
    """Return the lines that are neither empty nor only a comment, docstrings included."""
    texts = (path.read_text("utf-8") for path in (root / folder).rglob("*.py"))
    lines = (line.strip() for text in texts for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("#"))


def recipes(root: Path) -> dict[str, int]:
    """Return how many files each recipe touches, as its test says."""
    path = root / "tests" / "examples" / "test_recipes.py"
    if not path.exists():
        return {}
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.Assign(targets=[ast.Name(id="FILES")], value=value):
                found: dict[str, int] = ast.literal_eval(value)
                return found
    return {}


def main(root: Path) -> None:
    """Print the table."""
    rows: list[tuple[str, object]] = [(f"files: {name}", n) for name, n in recipes(root).items()]
    found = [*journeys(root)]
    rows += [(f"journey: {name}", journey) for name, journey in found]
    parsed = list(trees(root))
    rows += [('partition(":") outside of parsers', sum(partitions(tree) for _, tree in parsed))]
    frames = [str(path) for path, tree in parsed if reads_frames(tree)]
    rows += [("files that read frames", len(frames)), *(("", path) for path in frames)]
    surface = [(path, tree) for path, tree in parsed if path.parent == SURFACE]
    wrappers = [path for path, tree in surface if wraps_calls(tree)]
    rows += [("files that wrap calls of MPI", len(wrappers)), *(("", path) for path in wrappers)]
    rows += [("lines of code of runtime/mpi", lines_of_code(root, "runtime/mpi"))]
    for name, value in rows:
        print(f"{name:45} {value}")
    if "--places" in sys.argv:
        for name, journey in found:
            print("", *(f"{name}: {place}" for place in journey.places), sep="\n")


if __name__ == "__main__":
    named = [one for one in sys.argv[1:] if not one.startswith("-")]
    main(Path(named[0]).resolve() if named else ROOT)
