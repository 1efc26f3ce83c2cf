"""Bringing this package along to a Python that does not have it, or has another version of it."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from runtime.home import HOME
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import CommandNotFound, LaunchError, PythonMissing
from runtime.launchers.lines import Collected
from runtime.launchers.packages import stage_packages

PACKAGES = ("gcm", "runtime")
FOLDER = "packages"
"""Where the package is in a run's room."""

_HOME = Path(HOME)
PROBE_TIMEOUT = 60.0

# Run by the Python in question: tells where it looks for modules besides its own folders, and the
# digest of the package that it would import.
_PROBE = """
import hashlib, importlib.util, os, sys
print(os.environ.get("PYTHONPATH", "").encode(errors="surrogateescape").hex())
digest = hashlib.sha256()
for name in {packages!r}:
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        break
    home = os.path.dirname(found.submodule_search_locations[0])
    names = []
    for folder, _, files in os.walk(os.path.join(home, name)):
        names += [os.path.join(folder, one) for one in files if one.endswith((".py", ".xsd"))]
    for path in sorted(names):
        digest.update(os.path.relpath(path, home).encode())
        digest.update(open(path, "rb").read())
else:
    print(digest.hexdigest())
"""


@cache
def digest() -> str:
    """Return what tells this version of the package from every other."""
    total = hashlib.sha256()
    for name in PACKAGES:
        for path in sorted(str(path) for path in _files(name)):
            total.update(str(Path(path).relative_to(_HOME)).encode())
            total.update(Path(path).read_bytes())
    return total.hexdigest()


def package_at(launcher: Launcher, python: str) -> tuple[bool, str]:
    """Return whether a Python at a place has this version of the package, and its PYTHONPATH there.

    Raises LaunchError.
    """
    said = Collected()
    process = launcher.start(Command((python, "-c", _PROBE.format(packages=PACKAGES))), said)
    process.close_input()
    try:
        ended = process.wait(PROBE_TIMEOUT)
    except CommandNotFound as fault:
        raise PythonMissing(
            f"there is no {python!r}",
            place=launcher.place,
            cause=fault.what,
            cure="Name the Python of that cluster in its <front-end>",
        ) from fault
    if not ended.ok:
        raise LaunchError(
            f"{python!r} cannot run a small program ({ended})",
            place=launcher.place,
            cause="\n".join(process.tail),
            cure="Name another Python in the cluster's <front-end>; 3.11 or newer is needed",
        )
    path, _, found = said.output.partition("\n")  # the first line is empty without one
    try:
        known = os.fsdecode(bytes.fromhex(path))
    except ValueError:  # a wrapper around that Python prints something of its own
        known = ""
    return found.strip() == digest(), known


def bring(launcher: Launcher, python: str, room: str) -> str:
    """Stage the package into a room; return what to put on the Python path.

    Raises StagingFailed.
    """
    stage_packages(launcher, python, PACKAGES, f"{room}/{FOLDER}")
    return f"{room}/{FOLDER}"


def _files(name: str) -> list[Path]:
    return [path for path in (_HOME / name).rglob("*") if path.suffix in (".py", ".xsd")]
