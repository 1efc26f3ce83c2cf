"""Sessions that a program leaves open are finalised at its end.

While one is open, the end of MPI is none: a rank would go without a word to who started it, who
takes that for a failure.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar, Self

from mpi4py import MPI

from runtime.mpi.values.substitute_type import SubstituteType

_Native = MPI.Session  # `MPI` may get ours in its place

_open: list[_Native] = []


class OpenSession(_Native, metaclass=SubstituteType):
    """A session that is known until it is finalised."""

    _stands_for: ClassVar[type[_Native]] = _Native

    @classmethod
    def Init(cls, info: MPI.Info = MPI.INFO_NULL, errhandler: MPI.Errhandler | None = None) -> Self:
        """Return a new session."""
        made: Any = super().Init(info, errhandler)
        session: Self = made
        _open.append(_Native(session))
        return session

    def Finalize(self) -> None:
        """End the session."""
        known = _Native(self)
        _Native.Finalize(self)
        if known in _open:  # a handle may have come from elsewhere
            _open.remove(known)


def finalise_open() -> None:
    """Finalise all sessions that are open, before MPI is finalised itself."""
    while _open:
        with suppress(MPI.Exception):  # something of it is still in use, which is left to MPI
            _open.pop().Finalize()
