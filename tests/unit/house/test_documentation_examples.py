"""The examples in docstrings do what they say."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own, since some modules load an MPI.
from tools.on_grids import ROOT

RUN = """
import doctest, importlib, sys
failed = [
    name
    for name in sys.argv[1:]
    if doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS).failed
]
sys.exit(", ".join(failed) or 0)
"""


def test_the_examples_of_all_modules_are_right() -> None:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("gcm", "runtime")
        for path in sorted((ROOT / package).rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8")
    ]
    assert len(names) > 50
    done = subprocess.run(
        [sys.executable, "-c", RUN, *names], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
