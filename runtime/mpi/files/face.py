"""The class of files that programs see: mpi4py's own, until a file spans clusters.

The methods of files over several clusters are added with the first of these, by rows of the table:
most programs have no such files, and their ranks start without this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from mpi4py import MPI

from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.groups import Group
from runtime.mpi.process.options import handle_as_asked
from runtime.mpi.process.reaching_out import reaches_out_by
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.files.file import GridFile

_making: Any = LazyModule("runtime.mpi.files.making")


class File(MPI.File, metaclass=SubstituteType):
    """A file. One with a `_grid` spans clusters, and has the handle of one of its own process."""

    _stands_for: ClassVar[type[MPI.File]] = MPI.File
    _grid: GridFile | None = None

    def __new__(cls, file: MPI.File | None = None) -> Self:
        """Return a file with the handle of another one, or FILE_NULL."""
        self = MPI.File.__new__(cls, file)
        grid = getattr(file, "_grid", None)
        if grid is not None:
            self._grid = grid
            grid.faces[id(self)] = self
        return self

    @classmethod
    def Open(
        cls,
        comm: MPI.Intracomm,
        filename: Any,
        amode: int = MPI.MODE_RDONLY,
        info: MPI.Info = MPI.INFO_NULL,
    ) -> Self:
        """Open a file; all ranks of the communicator call it."""
        if getattr(comm, "_members", None) is not None:
            found: Self = _making.make(cls, comm, filename, amode, info)
            return found
        reaches_out_by("File.Open")
        made = super().Open(comm, filename, amode, info)
        return handle_as_asked(made, MPI.ERRORS_RETURN)

    def Get_group(self) -> MPI.Group:
        """Return the group of the file."""
        return Group(MPI.File.Get_group(self)) if self._grid is None else self._grid.Get_group()

    def Close(self) -> None:
        """Close the file."""
        if self._grid is None:
            MPI.File.Close(self)
        elif self._grid.engine.connections is None:  # `__del__` comes when modules are gone, too
            self._grid.close_without_others()
            MPI.File.Close(self)
            self._grid = None
        else:
            _making.close(self)

    def free(self) -> None:
        """Close the file unless it is null."""
        if self:
            self.Close()


native_handle: Any = MPI.File.handle.__get__  # type: ignore[attr-defined]  # it is a descriptor
"""The handle of a file, also where programs get none because it spans clusters."""
