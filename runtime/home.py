"""Where this package is on this machine, and how another Python finds it there."""

from __future__ import annotations

import os

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that holds the packages `gcm` and `runtime`."""


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
    return os.path.basename(HOME) not in ("site-packages", "dist-packages")


def python_path() -> dict[str, str]:
    """Return the environment in which a Python of this machine finds a checkout."""
    if not is_checkout():
        return {}
    found = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{HOME}:{found}" if found else HOME}
