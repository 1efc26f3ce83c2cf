"""Makes `from mpi4py import MPI` give unmodified programs the machine, once they ask for it.

Until then nothing is loaded, so that a program without MPI starts as quickly as ever.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

from runtime.mpi.progress.predefined import let_world_be_grid
from runtime.mpi4py_version import OLDEST_MPI4PY, is_too_old

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

PACKAGE = "mpi4py"
NAME = "mpi4py.MPI"


class _Finder:
    """Stands in for mpi4py's own MPI until it is imported."""

    def __init__(self) -> None:
        package = sys.modules.get(PACKAGE)
        self._native = sys.modules.pop(NAME, None)
        if package is not None and hasattr(package, "MPI"):
            del package.MPI

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load this one module."""
        del path, target
        if name != NAME:
            return None
        from importlib.machinery import ModuleSpec

        return ModuleSpec(name, self)  # type: ignore[arg-type]  # it has all that a loader needs

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Load the module `MPI`."""
        del spec
        return load()

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it is loaded already."""

    def step_aside(self) -> None:
        """Let mpi4py's own MPI be found: ours is made of it."""
        sys.meta_path.remove(self)
        if self._native is not None:
            sys.modules[NAME] = self._native
            vars(sys.modules[PACKAGE])["MPI"] = self._native


_finder: _Finder | None = None


def install() -> None:
    """Make COMM_WORLD the grid for everything that runs in this process from now on."""
    global _finder  # noqa: PLW0603 - a process runs one program
    if _finder is None:
        let_world_be_grid()
        _finder = _Finder()
        sys.meta_path.insert(0, _finder)


def load() -> ModuleType:
    """Return our module `MPI`; the first call loads it, and installs it if necessary."""
    global _native  # noqa: PLW0603 - a process has one MPI
    if _finder is not None and _finder in sys.meta_path:
        _finder.step_aside()
    _refuse_old_package()
    from runtime.mpi.surface import mpi_module

    if _finder is not None and _native is None:
        _native = sys.modules[NAME]
        sys.modules[NAME] = mpi_module
        sys.modules[PACKAGE].__class__ = _Package
    return mpi_module


def _refuse_old_package() -> None:
    """Raise ImportError for an mpi4py of which our module cannot be made."""
    package = importlib.import_module(PACKAGE)
    if is_too_old(package.__version__):
        folder = os.path.dirname(package.__file__ or PACKAGE)
        raise ImportError(
            f"mpi4py {package.__version__} in {folder} is too old: ranks need {OLDEST_MPI4PY}.0 or"
            f" newer. Install it with '{sys.executable} -m pip install \"mpi4py>={OLDEST_MPI4PY}\"'"
            " and the MPI of the cluster loaded, or name another Python in <front-end python=...>"
        )


_native: ModuleType | None = None


class _Package(type(sys)):  # type: ignore[misc]  # `types` says what this is, and takes its time
    """The package mpi4py, whose `MPI` is ours for all modules but those that ours is made of.

    These are partly imported late, when `mpi4py.MPI` is ours already.
    """

    @property
    def MPI(self) -> object:
        """The module that the caller is to have."""
        importer = sys._getframe(1).f_globals.get("__name__", "")
        return _native if importer.startswith("runtime.mpi.") else sys.modules[NAME]

    @MPI.setter
    def MPI(self, module: object) -> None:
        """Ignore the assignment by `import`."""
