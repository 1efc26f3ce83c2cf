"""Counts what somebody has to follow who is new here: python -m tools.orientation [CHECKOUT]

- The files that each recipe of `docs/recipes.md` touches, as its test says.
- The way of `gcm-deploy -n 2 hello.py` from `main` to the first process, by a profile of it. A
  function is a stop, its file a room. A return is a function that is entered again after one of
  another file was called: whoever reads along has to remember where it was. `--places` lists the
  lines to which one comes back.
- Texts taken apart by `partition(":")`, in functions that are no parsers.
- Files that read frames of Python, and those between a program and MPI that wrap its calls.
- Lines of code of `runtime/mpi`.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("gcm", "runtime")
SURFACE = Path("runtime", "mpi", "surface")
"""What stands between a program and the calls of MPI."""

FRAMES = {"f_locals", "f_back", "co_code", "_current_frames", "_getframe"}

PROFILE = '''
import json, os, sys
root, = sys.argv[1:2]
inside = tuple(os.path.join(root, one) + os.sep for one in ("gcm", "runtime"))
stops, rooms, returns, way = set(), set(), set(), []

def function(frame):
    """Return the function of a frame; comprehensions are part of the one around them."""
    while frame is not None and frame.f_code.co_name in ("<lambda>", "<genexpr>", "<listcomp>",
                                                         "<setcomp>", "<dictcomp>"):
        frame = frame.f_back
    return frame

def caller(frame):
    frame = function(frame.f_back)
    while frame is not None and not frame.f_code.co_filename.startswith(inside):
        frame = function(frame.f_back)
    return frame

def is_import(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(inside):
            return True
        frame = frame.f_back
    return False

def profile(frame, event, _):
    code = frame.f_code
    if event not in ("call", "return") or not code.co_filename.startswith(inside):
        return
    if code.co_name.startswith("<") or is_import(frame):
        return
    if event == "call":
        stops.add(code)
        rooms.add(code.co_filename)
        return
    above = caller(frame)
    if above is not None and above.f_code.co_filename != code.co_filename:
        returns.add((above.f_code, above.f_lineno))

def told():
    sys.setprofile(None)
    again = {code for code, _ in returns}
    found = {"stops": len(stops), "rooms": len(rooms), "returns": len(again)}
    found["places"] = sorted(
        f"{code.co_filename[len(root) + 1:]}:{line} {code.co_qualname}" for code, line in returns
    )
    with open("way.json", "w") as file:
        json.dump(found, file)

here = os.getpid()
def on_process(event, _):
    if event in ("os.fork", "subprocess.Popen", "os.posix_spawn") and os.getpid() == here:
        if not os.path.exists("way.json"):
            told()

from runtime.cli import main
sys.addaudithook(on_process)
sys.argv = ["gcm-deploy", "-n", "2", "hello.py"]
sys.setprofile(profile)
code = main()
sys.exit(code)
'''


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


def way(root: Path) -> dict[str, object]:
    """Return the way to the first process of a run of two ranks."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "hello.py").write_text('print("hello")\n')
        environment = {**os.environ, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", PROFILE, str(root)],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(done.stderr)
        found: dict[str, object] = json.loads((Path(folder) / "way.json").read_text())
        return found


def main(root: Path) -> None:
    """Print the table."""
    rows: list[tuple[str, object]] = [(f"files: {name}", n) for name, n in recipes(root).items()]
    found = way(root)
    rows += [(f"argv to first process: {name}", found[name]) for name in ("stops", "rooms")]
    rows += [("argv to first process: returns", found["returns"])]
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
        places = found["places"]
        assert isinstance(places, list)
        print(*places, sep="\n")


if __name__ == "__main__":
    named = [one for one in sys.argv[1:] if not one.startswith("-")]
    main(Path(named[0]).resolve() if named else ROOT)
