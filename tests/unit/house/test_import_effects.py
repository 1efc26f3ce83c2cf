"""Importing any module of ours starts nothing, prints nothing and changes nothing."""

from __future__ import annotations

import subprocess
import sys

# Run in a fresh interpreter: import each module in turn and name the one that has an effect.
from tools.on_grids import ROOT

IMPORT_EVERYTHING = """
import importlib, logging, os, pkgutil, signal, sys, threading, warnings

def world():
    return {
        "threads": [thread.name for thread in threading.enumerate()],
        "open files": sorted(os.listdir("/proc/self/fd")) if os.path.isdir("/proc") else [],
        "sys.path": list(sys.path),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "log handlers": list(logging.getLogger().handlers),
        "warning filters": list(warnings.filters),
        "signal handlers": [signal.getsignal(number) for number in signal.valid_signals()],
    }

def modules(package):
    yield package.__name__
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        yield found.name

# Libraries may do at import what they like; it is not ours to judge.
for library in sys.argv[2:]:
    importlib.import_module(library)
import gcm, runtime
assert gcm.__file__.startswith(sys.argv[1]), gcm.__file__
count = 0
for package in (gcm, runtime):
    for name in modules(package):
        before = world()
        importlib.import_module(name)
        for what, value in world().items():
            assert value == before[what], f"import {name} changes {what}: {value}"
        count += 1
sys.stderr.write(f"imported {count}")
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_nothing_happens_at_import() -> None:
    libraries = ("lxml.etree", "numpy", "rich.console", "mpi4py.MPI")
    done = python("-c", IMPORT_EVERYTHING, str(ROOT), *libraries)
    assert done.stdout == ""
    count = len([*ROOT.glob("gcm/**/*.py"), *ROOT.glob("runtime/**/*.py")])
    assert done.stderr == f"imported {count}"


def test_importing_the_component_model_loads_no_heavy_library() -> None:
    heavy = "{'numpy', 'lxml', 'rich', 'asyncio', 'multiprocessing', 'Pyro5', 'mpi4py', 'runtime'}"
    done = python("-c", f"import gcm, sys; print(sorted({heavy} & set(sys.modules)))")
    assert (done.stdout, done.stderr) == ("[]\n", "")
