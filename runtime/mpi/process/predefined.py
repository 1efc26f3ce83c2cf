"""The communicators that this process has from the start, and the one engine behind them.

`runtime.mpi.surface.start` makes them; modules below it find them here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable

    from mpi4py import MPI

    from runtime.mpi.progress.engine import Engine


class Predefined:
    """The predefined communicators of this process, by their names.

    `engine` carries messages to other clusters; None where there are none. `find` is a function of
    a module, and returns a communicator by its name: an unpickled one calls it, in a process that
    may not have started yet.
    """

    __slots__ = ("comms", "engine", "find")

    def __init__(
        self, engine: Engine | None, comms: dict[str, MPI.Comm], find: Callable[[str], MPI.Comm]
    ) -> None:
        self.engine = engine
        self.comms = comms
        self.find = find

    def name_of(self, comm: MPI.Comm) -> str | None:
        """Return the name of a communicator if it is one of them."""
        return next((name for name, one in self.comms.items() if one == comm), None)


_predefined: Predefined | None = None
_world_is_grid = False


def predefined() -> Predefined:
    """Return those of this process. MPI has to be up, as it is wherever there is a communicator."""
    assert _predefined is not None, "the communicators are made first"
    return _predefined


def settle(made: Predefined) -> None:
    """Let `predefined` return these."""
    global _predefined  # noqa: PLW0603 - a process is in one machine
    _predefined = made


def running_engine() -> Engine | None:
    """Return what carries messages to other clusters, None where nothing does."""
    return None if _predefined is None else _predefined.engine


def are_made() -> bool:
    """Tell whether there are any yet."""
    return _predefined is not None


def finish() -> None:
    """Send what is still to be sent and hang up; nobody is waited for."""
    engine = running_engine()
    if engine is not None:
        engine.close()


def world_is_grid() -> bool:
    """Tell whether COMM_WORLD is the grid in this process."""
    return _world_is_grid


def let_world_be_grid() -> None:
    """Let COMM_WORLD be the grid, once the communicators are made."""
    global _world_is_grid  # noqa: PLW0603 - a process runs one program
    _world_is_grid = True
