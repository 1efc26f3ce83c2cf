"""The members of a communicator of the grid, and how to reach them."""

from __future__ import annotations

from _blake2 import blake2b  # without `hashlib`, which loads OpenSSL
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.values.numbers import integer

if TYPE_CHECKING:
    from collections import deque

    from runtime.matching import JointReceive
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.mailboxes import Mailbox
    from runtime.mpi.progress.recovery import Recovery

CONTEXT_BYTES = 8


class CommunicatorMembers:
    """One communicator of the grid as this process sees it; made by `intra` or `inter`.

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

    __slots__ = (
        "all_near",
        "box",
        "children",
        "collecting",
        "context",
        "dense",
        "engine",
        "gaps",
        "group",
        "inner",
        "is_inter",
        "native",
        "native_rank",
        "near",
        "peers",
        "rank",
        "rank_from",
        "recovery",
        "sought",
        "topology",
    )

    box: Mailbox
    """The messages of programs; set by the engine."""
    sought: Mapping[Any, deque[JointReceive]]
    """Receives for which native MPI has to be probed; later ones may have to wait for them."""
    recovery: Recovery
    """How the members recover from losses; set by the engine."""

    def __init__(
        self,
        *,
        engine: Engine,
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
        self.engine = engine
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
        self.dense: Any = None
        """The communicator without gaps, for its collectives; None where there are no gaps."""
        self.topology: Any = None
        """The topology, see `runtime.mpi.communicators.topologies`, or None."""
        self.collecting: Any = None
        """The state of collectives, see `runtime.mpi.collectives.state`, or None."""
        self.children = 0
        """How many communicators were derived from it in calls that all its members made."""
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

    def next_context(self, *how: object) -> bytes:
        """Return the context of the next communicator derived from this one.

        All members call it in the same order with equal values that say how the child is made,
        such as its members: children of one call that have other members have other contexts.
        """
        self.children += 1
        return derived_context(self.context, self.children, *how)


def derived_context(parent: bytes, *how: object) -> bytes:
    """Return a context that only depends on the given values, so no messages are needed.

    Values are distinguished by their `repr`: use integers, strings, bytes and tuples of them.

    >>> derived_context(b"grid", 1, (0, 2)) == derived_context(b"grid", 1, (0, 2))
    True
    """
    said = repr((parent, how)).encode()
    return blake2b(said, digest_size=CONTEXT_BYTES).digest()


def near_members(engine: Engine, indexes: Iterable[int]) -> list[int]:
    """Return those of some processes that are in this cluster, in the same order."""
    return [index for index in indexes if engine.is_near(index)]


def intra(
    engine: Engine,
    group: Sequence[int],
    native: MPI.Intracomm,
    inner: MPI.Intracomm,
    context: bytes,
    *,
    topology: Any = None,
    gaps: frozenset[int] = frozenset(),
) -> CommunicatorMembers:
    """Return the membership of a communicator of one group, of which this process is a member.

    `native` and `inner` have the members of this cluster in the order of `group`.
    """
    members = tuple(group)
    made = _joined(engine, (members, members), native, inner, context, gaps=gaps)
    made.topology = topology
    return made


def inter(
    engine: Engine,
    group: Sequence[int],
    peers: Sequence[int],
    *,
    native: MPI.Intracomm,
    inner: MPI.Intracomm,
    context: bytes,
) -> CommunicatorMembers:
    """Return the membership of an intercommunicator; this process is in `group`.

    `native` and `inner` have the members of both groups in this cluster, in the order of their
    indexes, which both sides see alike.
    """
    return _joined(engine, (tuple(group), tuple(peers)), native, inner, context)


def keep_to_itself(inner: MPI.Intracomm) -> None:
    """Make errors of native collectives raise, whatever handler the duplicate has inherited.

    That handler is called once they leave a call.
    """
    if inner:
        inner.Set_errhandler(MPI.ERRORS_RETURN)


def _joined(
    engine: Engine,
    sides: tuple[tuple[int, ...], tuple[int, ...]],
    native: MPI.Intracomm,
    inner: MPI.Intracomm,
    context: bytes,
    *,
    gaps: frozenset[int] = frozenset(),
) -> CommunicatorMembers:
    group, peers = sides
    is_inter = group != peers
    keep_to_itself(inner)
    close = near_members(engine, sorted((*group, *peers)) if is_inter else group)
    places = {index: place for place, index in enumerate(close)}
    ranks = {index: rank for rank, index in enumerate(peers)}
    near = {rank: places[index] for index, rank in ranks.items() if index in places}
    made = CommunicatorMembers(
        engine=engine,
        context=context,
        group=group,
        peers=peers,
        rank=group.index(engine.me),
        is_inter=is_inter,
        native=native,
        inner=inner,
        native_rank=[places.get(index, -1) for index in peers],
        rank_from=[ranks.get(index, -1) for index in close],
        near={**near, MPI.PROC_NULL: MPI.PROC_NULL},
        gaps=gaps,
    )
    engine.join(made)
    return made
