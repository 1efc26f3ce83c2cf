"""Where commands are looked for: also beside the Python that runs this one."""

from __future__ import annotations

import os


def path_beside_python(prefix: str, base: str, path: str) -> str:
    """Return the search path as activating the virtual environment of a Python would make it.

    A command that is called by its full path shall find the `mpiexec` that was installed with it.
    Without a virtual environment the path is already what the user wants.
    """
    own = os.path.join(prefix, "bin")
    if prefix == base or own in path.split(os.pathsep):
        return path
    return os.pathsep.join(filter(None, [own, path]))
