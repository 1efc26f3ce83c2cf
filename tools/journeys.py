"""Eight journeys through the code: how many stations and rooms each has, and how many returns.

Four are walked, by a profile of a run. A station is a function, its file a room. A return is a
function that is entered again after one of another file was called: whoever reads along has to
remember where it was. The other four are threads of a word, for what somebody wants to add one more
of: the functions, and tables of modules, in which the name of one that there is already stands.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("gcm", "runtime")

WAY = '''
import json, os, sys, threading
ROOT = {root!r}
inside = tuple(os.path.join(ROOT, one) + os.sep for one in {packages!r})
stops, rooms, returns = set(), set(), set()

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
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(inside)

def is_within(frame, entry):
    while frame is not None:
        if frame.f_code.co_qualname == entry:
            return True
        frame = frame.f_back
    return False

def profile(frame, event, _, entry=""):
    code = frame.f_code
    if event not in ("call", "return") or not code.co_filename.startswith(inside):
        return
    if code.co_name.startswith("<") or is_import(frame) or entry and not is_within(frame, entry):
        return
    if event == "call":
        stops.add(code)
        rooms.add(code.co_filename)
        return
    above = caller(frame)
    if above is not None and above.f_code.co_filename != code.co_filename:
        returns.add((above.f_code, above.f_lineno))

def tell():
    sys.setprofile(None)
    again = {{code for code, _ in returns}}
    found = {{"stops": len(stops), "rooms": len(rooms), "returns": len(again)}}
    begin = len(ROOT) + 1
    found["places"] = sorted(
        f"{{code.co_filename[begin:]}}:{{line}} {{code.co_qualname}}" for code, line in returns
    )
    with open({file!r}, "w") as file:
        json.dump(found, file)
'''

TO_FIRST_PROCESS = """
here = os.getpid()
def on_process(event, _):
    if event in ("os.fork", "subprocess.Popen", "os.posix_spawn") and os.getpid() == here:
        if not os.path.exists("way.json"):
            tell()

from runtime.cli import main
sys.addaudithook(on_process)
sys.argv = ["gcm-deploy", "-n", "2", "hello.py"]
sys.setprofile(profile)
sys.exit(main())
"""

FAR_SEND = """
import numpy as np
from mpi4py import MPI
world, data = MPI.COMM_WORLD, np.zeros(1)
for turn in range(3):  # the first ones open the connection
    world.Barrier()
    if world.rank:
        world.Recv(data, 0)
    elif turn < 2:
        world.Send(data, 1)
    else:
        sys.setprofile(profile)
        world.Send(data, 1)
        tell()
"""

COMPONENT_CALL = """
from typing import Protocol
from gcm import active, provides, running

class Echo(Protocol):
    def echo(self, text: str) -> str: ...

@provides("echo", Echo)
class Server:
    def echo(self, text: str) -> str:
        return text

threading.setprofile(lambda *event: profile(*event) if counts else None)
counts = False
with running(active(Server)) as server:
    echo = server.stub("echo", Echo).echo
    echo("first")
    counts = True
    sys.setprofile(profile)
    echo("second")
    counts = False
    tell()
"""

DEATH = """
from functools import partial
from runtime.cli import main
within = partial(profile, entry="ClusterReports.rank_ended")
threading.setprofile(within)
sys.setprofile(within)
sys.argv = ["gcm-deploy", "--quiet", "-n", "2", "dies.py"]
code = main()
tell()
sys.exit(0 if code else "nobody died")
"""

WORDS = {
    "an option for the screen": ("tag_output", "--tag-output"),
    "an option for ranks": ("explain_waits", "explain-waits", "--explain-waits"),
    "a batch system": ("oar", "Oar", "OAR"),
    "a detector": ("HIERARCHICAL",),
    "a call of MPI": ("Sendrecv_replace",),
}
"""Journeys along the name of one that there is, as it is spelled in code."""


@dataclass(frozen=True)
class Journey:
    """What one meets on a journey; a thread of a word has no returns."""

    stops: int
    rooms: int
    returns: int | None = None
    places: tuple[str, ...] = ()

    def __str__(self) -> str:
        returns = "" if self.returns is None else f", {self.returns} returns"
        return f"{self.stops} stations, {self.rooms} rooms{returns}"


def walked(root: Path, program: str, command: Sequence[str] = (), **files: str) -> Journey:
    """Run a program that notes its way; by a command in place of Python, if one is named."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "way.json")
        begin = WAY.format(root=str(root), packages=PACKAGES, file=str(file))
        Path(folder, "program.py").write_text(begin + program, "utf-8")
        for name, text in files.items():
            Path(folder, f"{name}.py").write_text(text, "utf-8")
        done = subprocess.run(
            [sys.executable, *command, "program.py"],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(root)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        if done.returncode or not file.exists():
            raise SystemExit(done.stderr)
        found = json.loads(file.read_text())
    return Journey(found["stops"], found["rooms"], found["returns"], tuple(found["places"]))


def to_first_process(root: Path) -> Journey:
    """Return the way to the first process of a run of two ranks."""
    return walked(root, TO_FIRST_PROCESS, hello='print("hello")\n')


def along(root: Path, words: Sequence[str]) -> Journey:
    """Return where any of these words stands in code, comments and docstrings left out."""
    pattern = re.compile(_any_of(words))
    texts = {
        path: path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
    }
    stops = {
        (path, name)
        for path, text in texts.items()
        if pattern.search(text)
        for name in _with(ast.parse(text), pattern, "")
    }
    return Journey(len(stops), len({path for path, _ in stops}))


def _any_of(words: Sequence[str]) -> str:
    return rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])"


def _with(node: ast.AST, words: re.Pattern[str], within: str) -> Iterator[str]:
    """Yield the functions and classes, "" for the module, of a tree in which a word stands."""
    for child in ast.iter_child_nodes(node):
        name = within
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            name = f"{within}.{child.name}"
        match child:
            case ast.Expr(value=ast.Constant(value=str())):
                continue  # a docstring
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text):
                found = text
            case ast.keyword(arg=str(text)) | ast.Constant(value=str(text)):
                found = text
            case ast.FunctionDef(name=text) | ast.ClassDef(name=text) | ast.alias(name=text):
                found = text
            case _:
                found = ""
        if words.search(found):
            yield name
        yield from _with(child, words, name)


def journeys(root: Path) -> Iterator[tuple[str, Journey]]:
    """Yield the journeys of a checkout with their names."""
    yield "argv to first process", to_first_process(root)
    command = "-c", "import sys; from runtime.cli import main; sys.exit(main())"
    yield "a far send", walked(root, FAR_SEND, (*command, "--quiet", "--emulate", "2x1"))
    yield "a component call", walked(root, COMPONENT_CALL)
    dies = "from mpi4py import MPI\nimport os\nMPI.COMM_WORLD.rank or os._exit(9)\n"
    yield "a death, in the launcher", walked(root, DEATH, dies=dies)
    for name, words in WORDS.items():
        yield name, along(root, words)
