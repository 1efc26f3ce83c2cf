"""The class of windows that programs see: mpi4py's own, until a window spans clusters.

The methods of windows over several clusters are added with the first of these, by rows of the
table: most programs have no windows, and their ranks start without this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self

from mpi4py import MPI

from runtime import calls
from runtime.lazy_import import LazyModule
from runtime.mpi.communicators.groups import Group
from runtime.mpi.process.options import handle_as_asked
from runtime.mpi.values.handles import named_like
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.windows.window import GridWindow

_making: Any = LazyModule("runtime.mpi.windows.making")


class Win(MPI.Win, metaclass=SubstituteType):
    """A window. One with a `_grid` spans clusters, and has the handle of a window of its own."""

    _stands_for: ClassVar[type[MPI.Win]] = MPI.Win
    _grid: GridWindow | None = None

    def __new__(cls, win: MPI.Win | None = None) -> Self:
        """Return a window with the handle of another one, or WIN_NULL."""
        self = MPI.Win.__new__(cls, win)
        grid = getattr(win, "_grid", None)
        if grid is not None:
            self._grid = grid
            grid.faces[id(self)] = self
        return self

    def Get_group(self) -> MPI.Group:
        """Return the group of the window."""
        return Group(MPI.Win.Get_group(self)) if self._grid is None else self._grid.Get_group()

    def Free(self) -> None:
        """Free the window."""
        if self._grid is None:
            MPI.Win.Free(self)
        elif self._grid.engine.connections is None:  # `__del__` comes when modules are gone, too
            MPI.Win.Free(self)
            self._grid = None
        else:
            _making.free(self)

    def free(self) -> None:
        """Free the window unless it is null."""
        if self:
            self.Free()


def _making_call(name: str) -> Any:
    native: Callable[..., Any] = vars(MPI.Win)[name].__func__

    def call(cls: type[Win], *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if any(getattr(one, "_members", None) is not None for one in given):
            return _making.make(cls, name, args, kwargs)
        made = getattr(super(Win, cls), name)(*args, **kwargs)
        return handle_as_asked(made, MPI.ERRORS_ARE_FATAL)

    return classmethod(named_like(native, call))


native_handle: Callable[[MPI.Win], int] = MPI.Win.handle.__get__  # type: ignore[attr-defined]  # it is a descriptor
"""The handle of a window, also where programs get none because it spans clusters."""


for _call in calls.of_kind("window", of=("Win",)).values():
    if _call.takes("comm"):
        setattr(Win, _call.name, _making_call(_call.name))
