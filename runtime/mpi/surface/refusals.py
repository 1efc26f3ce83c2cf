"""Calls that are impossible over several MPIs: they raise, and name alternatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime import calls
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process.options import hand_down, handle_as_asked
from runtime.mpi.process.place import here
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


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


for _call in calls.of_kind("process", "partition").values():
    if _call.grid == calls.REFUSED:
        setattr(RefusedCalls, _call.name, _refusal(_call.name, _call.cure))


def _inside(name: str, instead: str) -> Any:
    """Return a class method like a native one that refuses communicators of several clusters."""

    def call(cls: type[Any], *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(getattr(one, "_members", None) is not None for one in given):
            raise not_on_the_grid(f"File.{name}", instead)
        _outside.add(name)
        made = getattr(super(File, cls), name)(*args, **kwargs)
        return handle_as_asked(made, MPI.ERRORS_RETURN)

    return classmethod(named_like(vars(MPI.File)[name].__func__, call))


class File(MPI.File, metaclass=SubstituteType):
    """Parallel input and output, within a cluster only."""

    _stands_for = MPI.File


for _call in calls.of_kind("file", of=("File",)).values():
    if _call.takes("comm"):
        setattr(File, _call.name, _inside(_call.name, _call.cure))
