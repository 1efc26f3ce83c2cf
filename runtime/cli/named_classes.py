"""Checks before the start whether the classes that a descriptor names fit their roles."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence

from runtime.home import HOME
from runtime.native_mpi import python_module

_TIMEOUT = 60.0
"""Seconds for importing the modules of a program."""


def faults_of(search: str, wanted: tuple[tuple[str, str], ...]) -> Sequence[str]:
    """Return why each class does not fit its role, empty if it does.

    `search` is the folder in which the program finds its modules; if it is not on this machine
    nothing is checked.
    """
    if not os.path.isdir(search):
        return [""] * len(wanted)
    path = os.pathsep.join(filter(None, (HOME, os.environ.get("PYTHONPATH", ""))))
    try:
        done = subprocess.run(
            python_module(sys.executable, "runtime.machine.class_check"),
            input=json.dumps([search, wanted]),
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            env={**os.environ, "PYTHONPATH": path},
            cwd=search,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"importing it takes more than {_TIMEOUT:g} seconds"] * len(wanted)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        return [f"importing it ends Python with code {done.returncode}: {last}"] * len(wanted)
    found: list[str] = json.loads(done.stdout)
    return found
