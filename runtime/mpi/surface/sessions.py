"""Sessions: native ones, whose world is the one that the program has."""

from __future__ import annotations

from typing import Any, Self

from mpi4py import MPI

from runtime.mpi.process.options import handle_as_asked
from runtime.mpi.progress.predefined import predefined
from runtime.mpi.surface.open_sessions import OpenSession

_WORLD = "mpi://WORLD"


class Session(OpenSession):
    """A session."""

    _stands_for = MPI.Session

    @classmethod
    def Init(cls, info: MPI.Info = MPI.INFO_NULL, errhandler: MPI.Errhandler | None = None) -> Self:
        """Return a new session, with the error handler that `mpi4py.rc.errors` asks for."""
        made: Any = super().Init(info, errhandler)
        session: Self = handle_as_asked(made, errhandler or MPI.ERRORS_ARE_FATAL)
        return session

    def Create_group(self, pset_name: str) -> MPI.Group:
        """Return the group of a set of processes; that of the world is that of COMM_WORLD."""
        if pset_name == _WORLD and self:
            return _world().Get_group()
        return MPI.Session.Create_group(self, pset_name)

    def Get_pset_info(self, pset_name: str) -> MPI.Info:
        """Return what is known of a set of processes."""
        info = MPI.Session.Get_pset_info(self, pset_name)
        if pset_name == _WORLD:
            info.Set("mpi_size", str(_world().Get_size()))
        return info


def _world() -> MPI.Comm:
    return predefined().comms["COMM_WORLD"]
