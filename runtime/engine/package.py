"""Bringing this package along to a Python that does not have it, or has another version of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import CommandNotFound, LaunchError, PythonMissing
from runtime.launchers.lines import Collected

PACKAGES = ("gcm", "runtime")
LIBRARY = "library"
"""The folder below a run's room that holds the package."""

HOME = Path(__file__).resolve().parents[2]
PATIENCE = 60.0

# Run by the Python in question: tells its version, and the digest of the package it would import.
_PROBE = """
import hashlib, importlib.util, os, sys
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
def files() -> Mapping[str, Path]:
    """Return the files of the package by the names they have below the folder of the package."""
    found = [
        path
        for name in PACKAGES
        for path in (HOME / name).rglob("*")
        if path.suffix in (".py", ".xsd")
    ]
    return {str(path.relative_to(HOME)): path for path in sorted(found, key=str)}


@cache
def digest() -> str:
    """Return what tells this version of the package from every other."""
    total = hashlib.sha256()
    for name in PACKAGES:
        own = sorted(str(path) for path in files().values() if _is_in(path, name))
        for path in own:
            total.update(str(Path(path).relative_to(HOME)).encode())
            total.update(Path(path).read_bytes())
    return total.hexdigest()


def is_checkout() -> bool:
    """Tell whether the package's folder holds nothing but this project.

    Then another Python may use it from there; a folder of installed packages would bring all of
    its neighbours along.
    """
    return HOME.name not in ("site-packages", "dist-packages")


def has_package(launcher: Launcher, python: str) -> bool:
    """Tell whether a Python at a place has this version of the package; raises LaunchError."""
    said = Collected()
    process = launcher.start(Command((python, "-c", _PROBE.format(packages=PACKAGES))), said)
    process.close_input()
    try:
        ended = process.wait(PATIENCE)
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
    return said.output.strip() == digest()


def bring(launcher: Launcher, room: str) -> str:
    """Stage the package into a room; return the folder for the Python path.

    Raises StagingFailed.
    """
    launcher.stage({f"{LIBRARY}/{name}": path for name, path in files().items()}, room)
    return f"{room}/{LIBRARY}"


def _is_in(path: Path, name: str) -> bool:
    return path.relative_to(HOME).parts[0] == name
