"""Where this package is on this machine, and how another Python finds it there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that holds the packages `gcm` and `runtime`."""

_INSTALLED = ("site-packages", "dist-packages")

OWN_FRAMES = (
    os.path.join(HOME, "runtime", "processes"),
    os.path.join(HOME, "runtime", "rank"),
    "<frozen runpy>",
)
"""How the names of files begin whose frames in a traceback say nothing about the program."""


def is_checkout() -> bool:
    """Tell whether that folder holds nothing but this project.

    Then another Python may use it from there; a folder of installed packages would bring all of
    its neighbours along.
    """
    return os.path.basename(HOME) not in _INSTALLED


def is_behind_installed(folder: str, search: Sequence[str]) -> bool:
    """Tell whether a Python that searches these folders finds a folder after installed packages.

    So does one where a checkout is installed as editable: it needs no word of ours to find it.

    >>> search = ["/lib/python3.11", "/venv/lib/python3.11/site-packages", "/home/ana/gcm"]
    >>> is_behind_installed("/home/ana/gcm", search), is_behind_installed("/x", search)
    (True, False)
    """
    places = (at for at, one in enumerate(search) if os.path.basename(one) in _INSTALLED)
    return folder in search[next(places, len(search)) :]


_IS_EDITABLE = is_behind_installed(HOME, sys.path)


def needs_path(python: str) -> bool:
    """Tell whether a Python of this machine finds a checkout only on its PYTHONPATH.

    That comes before installed packages, and there are packages with a module `tools`, `tests` or
    `setup`, which the checkout has too. So it is used only where nothing else helps.
    """
    return is_checkout() and not (_IS_EDITABLE and python == sys.executable)


def python_path() -> dict[str, str]:
    """Return the environment in which this Python, once more, finds a checkout."""
    if not needs_path(sys.executable):
        return {}
    found = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{HOME}:{found}" if found else HOME}
