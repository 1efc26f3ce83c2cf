"""Handles: a communicator with members in several clusters has none that C code could use.

The object itself holds MPI_COMM_NULL, so C code that looks into it, by mpi4py's C interface, is
told by MPI that there is no such communicator, and does not compute on one cluster instead. What
MPI keeps with a communicator, such as attributes and its name, is kept with the native one.
"""

from __future__ import annotations

from mpi4py import MPI

from runtime.mpi.errors import NotOnTheGrid

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from runtime.mpi.membership import Membership

_KEPT = (
    "Attach_buffer",
    "Call_errhandler",
    "Delete_attr",
    "Detach_buffer",
    "Flush_buffer",
    "Get_attr",
    "Get_errhandler",
    "Get_info",
    "Get_name",
    "Iflush_buffer",
    "Set_attr",
    "Set_errhandler",
    "Set_info",
    "Set_name",
)
"""Calls about what is kept with the native communicator."""

_CURE = "Give it MPI.COMM_CLUSTER, or another communicator of one cluster, and combine the results"


def check_handle(thing: object) -> None:
    """Raise NotOnTheGrid for a communicator or a group with members in several clusters."""
    if isinstance(thing, MPI.Comm):
        if getattr(thing, "_members", None) is None:
            return
    elif not isinstance(thing, MPI.Group) or getattr(thing, "_engine", None) is None:
        return
    raise NotOnTheGrid(
        f"The {type(thing).__name__} has members in several clusters: there is no handle of it, "
        "and native code that was given one would see those of this cluster alone",
        cure=_CURE,
    )


class Handles:
    """The part of a communicator that stands for the handle of MPI."""

    __slots__ = ()
    _members: Membership | None

    def __bool__(self) -> bool:
        """Tell whether it is a communicator at all."""
        return self._members is not None or MPI.Comm.__bool__(self)  # type: ignore[arg-type]  # it is a part of one

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same communicator."""
        mine, theirs = self._members, getattr(other, "_members", None)
        if isinstance(other, MPI.Comm) and (mine is not None or theirs is not None):
            return mine is theirs
        native: Any = MPI.Comm.__eq__
        same: bool = native(self, other)
        return same

    def __ne__(self, other: object) -> bool:
        """Tell whether it is another communicator."""
        return not self == other if isinstance(other, MPI.Comm) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as mpi4py's


def named_like(native: Any, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that has the name, the description and the signature of mpi4py's."""
    call.__name__, call.__doc__ = native.__name__, native.__doc__
    call.__wrapped__ = native  # type: ignore[attr-defined]  # `inspect.signature` follows it
    return call


def with_checked_handles(face: type[Any], native: type[Any]) -> None:
    """Let a class refuse to give a handle of what has members in several clusters."""

    def call(name: str) -> Callable[[Any], int]:
        def checked(self: Any) -> int:
            check_handle(self)
            found: int = getattr(native, name)(self)
            return found

        return named_like(getattr(native, name), checked)

    def handle(self: Any) -> int:
        """MPI handle."""
        check_handle(self)
        found: int = native.handle.__get__(self)
        return found

    face.handle = property(handle)
    for name in ("toint", "py2f"):
        setattr(face, name, call(name))


def _kept(name: str) -> Callable[..., Any]:
    native = getattr(MPI.Comm, name)

    def call(self: Handles, *args: Any, **kwargs: Any) -> Any:
        members = self._members
        return native(self if members is None else members.native, *args, **kwargs)

    return named_like(native, call)


for _name in _KEPT:
    setattr(Handles, _name, _kept(_name))
with_checked_handles(Handles, MPI.Comm)


def addressof(arg: Any) -> int:
    """Return the address of a handle; raises NotOnTheGrid where there is none."""
    check_handle(arg)
    return MPI._addressof(arg)


def handleof(arg: Any) -> int:
    """Return the number of a handle; raises NotOnTheGrid where there is none."""
    check_handle(arg)
    return MPI._handleof(arg)
