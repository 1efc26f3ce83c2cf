"""The communicator classes that programs see, put together from their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from mpi4py import MPI

from runtime.mpi.collectives.calls import Collectives, NeighbourCollectives, Scans
from runtime.mpi.communicators.attributes import Attributes
from runtime.mpi.communicators.classes import class_of, null, use, wanted_by
from runtime.mpi.communicators.creation import Creation
from runtime.mpi.communicators.intercommunicators import GroupCreation, InterParts
from runtime.mpi.communicators.recovery_calls import RecoveryCalls
from runtime.mpi.communicators.topologies import CartParts, DistgraphParts, GraphParts
from runtime.mpi.communicators.topology_creation import TopologyCreation
from runtime.mpi.errors import abort, abort_natively
from runtime.mpi.point_to_point.calls import PointToPoint
from runtime.mpi.progress.predefined import predefined
from runtime.mpi.surface.refusals import RefusedCalls
from runtime.mpi.surface.topology_calls import TopologyCalls
from runtime.mpi.values.handles import with_checked_handles
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.substitute_type import SubstituteType

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers


class Comm(
    PointToPoint,
    Collectives,
    Creation,
    Attributes,
    TopologyCalls,
    RecoveryCalls,
    RefusedCalls,
    MPI.Comm,
    metaclass=SubstituteType,
):
    """A communicator. Without `_members` it is a native one, and all its methods are mpi4py's."""

    __slots__ = ("__dict__", "_members")  # each call reads it, from a slot in half the time
    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Comm
    _members: CommunicatorMembers | None

    def __new__(cls, comm: MPI.Comm | None = None) -> Self:
        """Return a communicator with the handle of another one; raises TypeError for a wrong one.

        It does not call the constructors of mpi4py's subclasses, which check the handle: a
        Cartesian communicator of the grid has the handle of a native one without topology.
        """
        members: CommunicatorMembers | None = getattr(comm, "_members", None)
        if comm is not None:
            _check(cls, comm, members)
        self = MPI.Comm.__new__(cls, comm)
        self._members = members
        return self

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Pickle predefined communicators; raises ValueError for others."""
        if not self:
            return (null if self is null() else type(self)), ()
        ours = predefined()
        name = ours.name_of(self)
        if name is None:
            raise ValueError(f"cannot serialize '{type(self).__module__}.{type(self).__name__}'")
        if ours.comms[name] is self:
            return ours.find, (name,)
        return type(self), (ours.comms[name],)

    def Abort(self, errorcode: int = 0) -> NoReturn:
        """End the whole run on all clusters, with this exit code."""
        errorcode = integer(errorcode)
        abort(errorcode)
        abort_natively(super().Abort, errorcode)


with_checked_handles(Comm, MPI.Comm)


class Intracomm(Comm, Scans, GroupCreation, TopologyCreation, MPI.Intracomm):
    """A communicator of one group."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Intracomm


class Topocomm(Intracomm, NeighbourCollectives, MPI.Topocomm):
    """A communicator with a topology."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Topocomm


class Cartcomm(Topocomm, CartParts, MPI.Cartcomm):
    """A communicator whose ranks form a grid of any number of dimensions."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Cartcomm


class Graphcomm(Topocomm, GraphParts, MPI.Graphcomm):
    """A communicator whose ranks form a graph that every rank knows."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Graphcomm


class Distgraphcomm(Topocomm, DistgraphParts, MPI.Distgraphcomm):
    """A communicator whose ranks form a graph of which every rank knows its neighbours."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Distgraphcomm


class Intercomm(Comm, InterParts, MPI.Intercomm):
    """A communicator of two groups."""

    _stands_for: ClassVar[type[MPI.Comm]] = MPI.Intercomm


use(Comm, Intracomm, Topocomm, Cartcomm, Graphcomm, Distgraphcomm, Intercomm)


def _check(cls: type[Comm], comm: MPI.Comm, members: CommunicatorMembers | None) -> None:
    """Raise the TypeError of mpi4py if a communicator does not fit a class."""
    wanted = wanted_by(cls)
    if members is None:
        wanted.__new__(wanted, comm)
    elif not issubclass(class_of(members), wanted):
        raise TypeError(f"expecting a communicator that is a {wanted.__name__}")
