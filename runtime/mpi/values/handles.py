"""Handles: code in C that gets one of an object over several clusters finds the grid behind it.

The object has the handle of a native communicator, since mpi4py reads it there, as in
`Datatype.Pack`. The library that stands before MPI takes that for the grid; it is loaded where it
is not yet. Where it cannot be had, no handle is given: code in C would compute on one cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mpi4py import MPI

from runtime.calls import CURES
from runtime.mpi.errors import NotOnTheGrid
from runtime.mpi.process import native_code

CURE = CURES["handle"]


def with_handle(thing: Any) -> Any:
    """Return what has the handle behind which code in C finds the members of several clusters.

    That is the object itself but for COMM_WORLD. Raises NotOnTheGrid where it is not possible.
    """
    if isinstance(thing, MPI.Comm):
        if getattr(thing, "_members", None) is None:
            return thing
    elif not isinstance(thing, MPI.Group) or getattr(thing, "_engine", None) is None:
        return thing
    if why := native_code.why_not():
        raise NotOnTheGrid(
            f"The {type(thing).__name__} has members in several clusters: there is no handle of "
            f"it, and native code that was given one would see those of this cluster alone: {why}",
            cure=CURE,
        )
    if native_code.tokens is None:
        return thing
    if isinstance(thing, MPI.Comm):
        return native_code.tokens.named(thing)
    native_code.tokens.add_group(thing)
    return thing


def named_like(
    native: Any, call: Callable[..., Any], arguments: Sequence[str] = ()
) -> Callable[..., Any]:
    """Return a function with the name, docstring and signature of mpi4py's, on stacks too.

    The first of its arguments behind `self` get the names of `arguments`.
    """
    made: Any = call
    code = made.__code__
    others = code.co_varnames[1 + len(arguments) :]
    made.__name__, made.__qualname__ = native.__name__, native.__qualname__
    names = (*code.co_varnames[:1], *arguments, *others)
    made.__code__ = code.replace(co_name=native.__name__, co_varnames=names)
    made.__doc__ = native.__doc__
    made.__wrapped__ = native  # `inspect.signature` follows it
    return call


def with_checked_handles(face: type[Any], native: type[Any]) -> None:
    """Make a class refuse to give handles of objects with members in several clusters."""

    def call(name: str) -> Callable[[Any], int]:
        def checked(self: Any) -> int:
            found: int = getattr(native, name)(with_handle(self))
            return found

        return named_like(getattr(native, name), checked)

    def handle(self: Any) -> int:
        """MPI handle."""
        found: int = native.handle.__get__(with_handle(self))
        return found

    face.handle = property(handle)
    for name in ("toint", "py2f"):
        setattr(face, name, call(name))


def addressof(arg: Any) -> int:
    """Return the address of a handle; raises NotOnTheGrid if there is none."""
    return MPI._addressof(with_handle(arg))


def handleof(arg: Any) -> int:
    """Return the number of a handle; raises NotOnTheGrid if there is none."""
    return MPI._handleof(with_handle(arg))
