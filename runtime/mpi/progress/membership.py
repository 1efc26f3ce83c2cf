"""The members of a communicator of the grid, and how to reach them."""

from __future__ import annotations

from _blake2 import blake2b  # without `hashlib`, which loads OpenSSL
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.progress.mailboxes import CONTEXT_BYTES
from runtime.mpi.progress.ranks import CommunicatorRanks
from runtime.mpi.progress.recovery import Recovery

if TYPE_CHECKING:
    from collections import deque

    from runtime.matching import JointReceive
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.mailboxes import Mailbox
    from runtime.mpi.progress.operations import Operation


class CommunicatorMembers(CommunicatorRanks):
    """One communicator of the grid as this process sees it; made by `intra` or `inter`."""

    box: Mailbox
    """The messages of programs; set by `join`."""
    sought: Mapping[Any, deque[JointReceive]]
    """Receives for which native MPI has to be probed; later ones may have to wait for them."""
    recovery: Recovery

    def __init__(self, engine: Engine, **ranks: Any) -> None:
        super().__init__(**ranks)
        self.engine = engine
        self.dense: Any = None
        """The communicator without gaps, for its collectives; None where there are no gaps."""
        self.topology: Any = None
        """The topology, see `runtime.mpi.communicators.topologies`, or None."""
        self.children = 0
        """How many communicators were derived from it in calls that all its members made."""
        self.copies: Sequence[Operation] = ()
        """The duplicates of it that were begun last, some of which may not be there yet."""

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
    join(made)
    return made


def join(made: CommunicatorMembers) -> None:
    """Register a communicator with its engine."""
    engine = made.engine
    with engine.lock:
        engine.join(made)
        made.box = engine.box(made.context, False)
        made.sought = made.box.matcher.queue
        box = engine.collective_box(made)
        if box.recovery is None:
            made.recovery = Recovery(made, engine)
            box.recover_with(made.recovery)


def communicators(engine: Engine) -> list[CommunicatorMembers]:
    """Return the registered communicators of an engine; its lock is held."""
    return [one for one in engine.communicators() if isinstance(one, CommunicatorMembers)]
