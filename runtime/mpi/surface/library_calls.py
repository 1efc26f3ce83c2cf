"""Private functions of `MPI` that mpi4py's own libraries, such as `mpi4py.util.pkl5`, call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.classes import wrap
from runtime.mpi.communicators.members import members_behind

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers

_TAGS = 32768
"""MPI guarantees this many."""


class _Aside:
    """A duplicate of a communicator for one library's messages, and their next tag."""

    def __init__(self, members: CommunicatorMembers) -> None:
        plain: Any = wrap(members)  # a library's own class would call this function again
        self.comm = plain.Dup()
        self.local, self.is_low = None, False
        if members.is_inter:
            self.local, self.is_low = _local_group(plain, members)
        self._tag = -1

    def next_tag(self) -> int:
        """Return a tag that was not used before, or not for long."""
        self._tag = (self._tag + 1) % _TAGS
        return self._tag


def commctx_intra(comm: Any) -> tuple[Any, int]:
    """Return a duplicate of a communicator, for messages of a library, and a tag for them."""
    if members_behind(comm) is None:
        found: tuple[Any, int] = MPI._commctx_intra(comm)
        return found
    aside = _aside(comm)
    return aside.comm, aside.next_tag()


def commctx_inter(comm: Any) -> tuple[Any, int, Any, bool]:
    """Return the same for two groups, a communicator of the own one, and whether that is first."""
    if members_behind(comm) is None:
        found: tuple[Any, int, Any, bool] = MPI._commctx_inter(comm)
        return found
    aside = _aside(comm)
    return aside.comm, aside.next_tag(), aside.local, aside.is_low


def _aside(comm: Any) -> _Aside:
    members = members_behind(comm)
    assert members is not None
    kept = members.inner.Get_attr(_key())
    if not isinstance(kept, _Aside):
        kept = _Aside(members)
        members.inner.Set_attr(_key(), kept)
    return kept


def _local_group(comm: Any, members: CommunicatorMembers) -> tuple[Any, bool]:
    """Return a communicator of the own group, and whether that is first."""
    is_low = min(members.group) < min(members.peers)
    whole = comm.Merge(high=not is_low)
    try:
        return whole.Split(int(is_low), members.rank), is_low
    finally:
        whole.Free()


@cache
def _key() -> int:
    forget: Callable[[MPI.Comm, int, _Aside], None] = _forget
    return MPI.Comm.Create_keyval(delete_fn=forget)


def _forget(_comm: MPI.Comm, _key: int, aside: _Aside) -> None:
    if aside.local is not None:
        aside.local.Free()
    aside.comm.Free()
