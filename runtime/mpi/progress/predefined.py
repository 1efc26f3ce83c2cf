"""The predefined communicators of this process, and their engine.

`runtime.mpi.surface.start` makes them; the modules it builds on find them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpi4py import MPI

    from runtime.mpi.progress.engine import Engine


class Predefined:
    """The predefined communicators of this process, by their names.

    `engine` carries messages to other clusters; None where there are none. `find` is a module-level
    function that returns a communicator by its name: unpickling calls it, in a process where they
    may not have been made yet.
    """

    def __init__(
        self, engine: Engine | None, comms: dict[str, MPI.Comm], find: Callable[[str], MPI.Comm]
    ) -> None:
        self.engine = engine
        self.comms = comms
        self.find = find

    def name_of(self, comm: MPI.Comm) -> str | None:
        """Return the name of a predefined communicator."""
        return next((name for name, one in self.comms.items() if one == comm), None)


_predefined: Predefined | None = None
_world_is_grid = False


def predefined() -> Predefined:
    """Return the predefined communicators. MPI is initialised where there is a communicator."""
    assert _predefined is not None, "the communicators are made first"
    return _predefined


def settle(made: Predefined) -> None:
    """Set what `predefined` returns."""
    global _predefined  # noqa: PLW0603 - a process is in one machine
    _predefined = made


def running_engine() -> Engine | None:
    """Return the engine, None if there are no other clusters."""
    return None if _predefined is None else _predefined.engine


def are_made() -> bool:
    """Return whether they have been made."""
    return _predefined is not None


def finish() -> None:
    """Flush messages and close connections, without waiting for anybody."""
    engine = running_engine()
    if engine is not None:
        from runtime.mpi.progress.native_waits import use  # loaded only where there is an engine

        use(None)
        engine.close()


def world_is_grid() -> bool:
    """Return whether COMM_WORLD is the grid in this process."""
    return _world_is_grid


def let_world_be_grid() -> None:
    """Make COMM_WORLD the grid, once the communicators are made."""
    global _world_is_grid  # noqa: PLW0603 - a process runs one program
    _world_is_grid = True
