"""What a program leaves to the end of Python: in a rank it is done as in Python alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.mpi

PROGRAM = """
import atexit, sys, threading, weakref
import helper

class Last:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("gone:", self.name, sys.version_info.major, helper.NAME)

def refers_to_its_module():
    return left

left, cycle, helper.left = Last("left"), Last("cycle"), Last("in a module")
cycle.itself = cycle
weakref.finalize(left, print, "finalised")
atexit.register(print, "at exit")
file = open(sys.argv[1], "a")
file.write("written\\n")
if sys.argv[2] == "thread":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


ODD_MODULES = """
import atexit, ctypes, signal, sys, types

class Unhashable(type):
    def __eq__(self, other):
        return self is other

class Library(metaclass=Unhashable):  # a module only by its own word, as those of cffi
    __slots__ = ()
    __class__ = types.ModuleType

    def __del__(self):
        print("given up", ctypes.PyDLL)

sys.modules["program_library"], kept = Library(), Library()
sys.modules["program_ctypes"] = ctypes
signal.signal(signal.SIGUSR1, lambda *_: print(kept))
atexit.register(lambda: print("at exit", ctypes.PyDLL))
file = open(sys.argv[1], "a")
file.write("written\\n")
"""


def test_a_program_may_put_anything_among_its_modules(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ODD_MODULES)
    words = ["program.py", "file"]
    alone = told([sys.executable, *words], tmp_path)
    deploy = Path(sys.executable).with_name("gcm-deploy")
    two = told([str(deploy), "--quiet", "-n", "2", *words], tmp_path)
    assert sorted(two) == sorted(2 * alone)
    assert [line.partition(" <")[0] for line in alone] == ["at exit", "given up", "given up"]
    assert (tmp_path / "file").read_text() == "written\n" * 3


OURS = """
import os, runtime.errors, runtime.home
import helper

class Told:
    def __del__(self):
        os.write(1, f"gone with {self.of}\\n".encode())

for module in (runtime.errors, runtime.home, helper):
    module.told = Told()
    module.told.of = module.__name__
"""


def test_our_modules_are_not_taken_apart_at_the_end_of_a_rank(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(OURS)
    (tmp_path / "helper.py").touch()
    deploy = Path(sys.executable).with_name("gcm-deploy")
    two = told([str(deploy), "--quiet", "-n", "2", "program.py"], tmp_path)
    assert two == 2 * ["gone with helper"]


@pytest.mark.parametrize("rest", ["nothing", "thread"])
def test_a_rank_ends_as_python_does(tmp_path: Path, rest: str) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "helper.py").write_text("NAME = 'helper'\n")
    words = ["program.py", "file", rest]
    alone = told([sys.executable, *words], tmp_path)
    deploy = Path(sys.executable).with_name("gcm-deploy")
    two = told([str(deploy), "--quiet", "-n", "2", *words], tmp_path)
    assert sorted(two) == sorted(2 * alone)
    assert {"at exit", "finalised", "gone: cycle 3 helper"} < {*alone}
    assert (tmp_path / "file").read_text() == "written\n" * 3


def told(command: list[str], folder: Path) -> list[str]:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()
