"""Calls that are impossible over several MPIs: they raise, and name alternatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process.options import hand_down, handle_as_asked
from runtime.mpi.process.place import here
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers

_IN_CLUSTER = "Use a communicator of one cluster, such as MPI.COMM_CLUSTER"
_MESSAGES = "Use messages between clusters: Send and Recv, or a collective operation"
_PROCESSES = "Let the descriptor start all processes, or call it on MPI.COMM_SELF"

_INSTEAD = {
    "Accept": _PROCESSES,
    "Connect": _PROCESSES,
    "Spawn": _PROCESSES,
    "Spawn_multiple": _PROCESSES,
    "Psend_init": "Use Send_init for each part",
    "Precv_init": "Use Recv_init for each part",
}


def not_on_the_grid(call: str, instead: str) -> NotOnTheGrid:
    """Return the error for a call on a communicator with members in several clusters."""
    if here().has_replicas:
        return NotOnTheGrid(
            f"{call} is not possible where ranks have replicas",
            cure="Use messages and collectives, and open files at one rank",
        )
    return NotOnTheGrid(f"{call} is not possible over several clusters", cure=instead)


_outside: set[str] = set()


def reaches_out() -> bool:
    """Return whether a native request may wait for something else than ranks.

    That is a file, or a process that the program has started itself.
    """
    return bool(_outside)


class RefusedCalls:
    """The part of a communicator that raises `NotOnTheGrid`."""

    __slots__ = ()
    _members: CommunicatorMembers | None


def _refusal(name: str, instead: str) -> Callable[..., Any]:
    def refuse(self: RefusedCalls, *args: Any, **kwargs: Any) -> Any:
        if self._members is None and not here().has_replicas:
            _outside.add(name)
            made = getattr(super(RefusedCalls, self), name)(*args, **kwargs)
            return hand_down(self, made) if isinstance(made, MPI.Comm) else made  # type: ignore[arg-type]  # it is a part of one
        raise not_on_the_grid(name, instead)

    return named_like(getattr(MPI.Cartcomm, name), refuse)


for _name, _instead in _INSTEAD.items():
    setattr(RefusedCalls, _name, _refusal(_name, _instead))


def _inside(native: type[Any], name: str, instead: str) -> Any:
    """Return a class method like a native one that refuses communicators of several clusters."""

    def call(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(getattr(one, "_members", None) is not None for one in given):
            raise not_on_the_grid(f"{native.__name__}.{name}", instead)
        if native is MPI.File:
            _outside.add(name)
        made = getattr(super(_FACES[native], cls), name)(*args, **kwargs)
        return handle_as_asked(made, _DEFAULTS[native])

    return classmethod(named_like(vars(native)[name].__func__, call))


class Win(MPI.Win, metaclass=SubstituteType):
    """One-sided communication, within a cluster only."""

    _stands_for = MPI.Win


class File(MPI.File, metaclass=SubstituteType):
    """Parallel input and output, within a cluster only."""

    _stands_for = MPI.File


_DEFAULTS = {MPI.Win: MPI.ERRORS_ARE_FATAL, MPI.File: MPI.ERRORS_RETURN}
_FACES: dict[type[Any], type[Any]] = {MPI.Win: Win, MPI.File: File}

for _name in ("Create", "Allocate", "Allocate_shared", "Create_dynamic"):
    setattr(Win, _name, _inside(MPI.Win, _name, f"{_MESSAGES}. {_IN_CLUSTER} for windows"))
File.Open = _inside(MPI.File, "Open", f"{_IN_CLUSTER}, or gather at one rank and write there")  # type: ignore[method-assign]
