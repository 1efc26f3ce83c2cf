"""Who the members of a communicator of the grid are, and where."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from runtime.mpi.progress.losses import LossHandler
from runtime.mpi.values.numbers import integer


class CommunicatorRanks:
    """The ranks of one communicator of the grid, as mailboxes and the engine need them.

    Processes are known by their index, their rank in COMM_GRID. `group` are the members in the
    order of their ranks, `peers` are those that ranks in calls refer to: the group itself, or the
    other group of an intercommunicator. `native` has the members of this cluster in the order of
    `group`, that of an intercommunicator those of both groups in the order of their indexes;
    programs' messages between them, attributes, names and error handlers are its. `inner` is a
    duplicate of it for collectives.

    `native_rank` leads from a rank in `peers` to the one in `native`, or to -1 for a process of
    another cluster; `rank_from` back, with -1 for members of the own group of an
    intercommunicator. `near` has the same as `native_rank` as a dictionary of those in this
    cluster, and MPI.PROC_NULL.
    """

    recovery: LossHandler
    """What is done about losses; set by `membership.join`."""

    def __init__(
        self,
        *,
        context: bytes,
        group: tuple[int, ...],
        peers: tuple[int, ...],
        rank: int,
        is_inter: bool,
        native: MPI.Intracomm,
        inner: MPI.Intracomm,
        native_rank: list[int],
        rank_from: list[int],
        near: dict[int, int],
        gaps: frozenset[int] = frozenset(),
    ) -> None:
        self.context = context
        self.group = group
        self.peers = peers
        self.rank = rank
        self.is_inter = is_inter
        self.native = native
        self.inner = inner
        self.native_rank = native_rank
        self.rank_from = rank_from
        self.near = near
        self.gaps = gaps
        """Members that were lost before it was made, whose ranks stay empty."""
        self.collecting: Any = None
        """The state of collectives, see `runtime.mpi.collectives.state`, or None."""
        self.all_near = -1 not in native_rank
        """Whether all peers are in this cluster."""

    @property
    def size(self) -> int:
        """The number of members of its group."""
        return len(self.group)

    @property
    def index(self) -> int:
        """The index of this process."""
        return self.group[self.rank]

    def near_to(self, rank: Any) -> int | None:
        """Return the native rank of a rank as a program gives it; None if it is not in `near`.

        The most frequent calls look into `near` themselves if the rank is an `int`.
        """
        return self.near.get(rank if type(rank) is int else integer(rank))
