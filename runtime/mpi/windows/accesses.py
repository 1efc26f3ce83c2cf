"""The accesses of a window: what programs pass, and the places at the target that it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.progress.operations import Finished
from runtime.mpi.requests.requests import new_request
from runtime.mpi.values.faults import Wrong, WrongArgument
from runtime.mpi.values.numbers import integer
from runtime.mpi.values.specs import Spec, read
from runtime.mpi.windows.places import (
    TargetPlace,
    basic_of,
    check_sizes,
    operation_of,
    place_of,
    single,
    unit_of,
)
from runtime.mpi.windows.traffic import AwaitedAccesses, WindowTraffic, error_of_mpi
from runtime.windows.requests import (
    BASIC_TYPES,
    NO_OP,
    REDUCTIONS,
    RequestHeader,
    RequestKind,
)
from runtime.windows.runs import bounds_of

if TYPE_CHECKING:
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.windows.origin import Access


class WindowAccesses:
    """The calls by which a process accesses the memory of ranks, named as in MPI.

    Buffers are read and packed before the engine's lock is taken: what comes in goes on meanwhile.
    """

    members: CommunicatorMembers
    traffic: WindowTraffic
    is_dynamic: bool
    """Whether it has the memory that is attached; its targets alone know what is outside."""
    _sizes: Sequence[int]
    _units: Sequence[int]
    _defined: Sequence[frozenset[tuple[int, int]]] | None
    """Where ranks have different MPIs: the operations of each, with their basic types."""

    def Put(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Put data into the memory of a rank."""
        self._put(origin, target_rank, target)

    def Rput(self, origin: Any, target_rank: int, target: Any = None) -> MPI.Request:
        """Put data, with a request that is done when they may be changed."""
        return self._request(self._put(origin, target_rank, target, requested=True))

    def Get(self, origin: Any, target_rank: int, target: Any = None) -> None:
        """Get data from the memory of a rank."""
        self._get(origin, target_rank, target)

    def Rget(self, origin: Any, target_rank: int, target: Any = None) -> MPI.Request:
        """Get data, with a request that is done when they are here."""
        return self._request(self._get(origin, target_rank, target, requested=True))

    def Accumulate(
        self, origin: Any, target_rank: int, target: Any = None, op: MPI.Op = MPI.SUM
    ) -> None:
        """Reduce data into the memory of a rank."""
        self._accumulate(origin, None, target_rank, target, op)

    def Raccumulate(
        self, origin: Any, target_rank: int, target: Any = None, op: MPI.Op = MPI.SUM
    ) -> MPI.Request:
        """Reduce data, with a request that is done when they may be changed."""
        return self._request(
            self._accumulate(origin, None, target_rank, target, op, requested=True)
        )

    def Get_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: MPI.Op = MPI.SUM
    ) -> None:
        """Get what is in the memory of a rank, and reduce data into it."""
        self._accumulate(origin, result, target_rank, target, op)

    def Rget_accumulate(
        self, origin: Any, result: Any, target_rank: int, target: Any = None, op: MPI.Op = MPI.SUM
    ) -> MPI.Request:
        """Do that, with a request that is done when the result is here."""
        return self._request(
            self._accumulate(origin, result, target_rank, target, op, requested=True)
        )

    def Fetch_and_op(
        self, origin: Any, result: Any, target_rank: int, target_disp: int = 0,
        op: MPI.Op = MPI.SUM,
    ) -> None:  # fmt: skip
        """Get one element of the memory of a rank, and reduce another into it."""
        got = single(result, readonly=False, what="result")
        given = None if op == MPI.NO_OP and origin is None else single(
            origin, readonly=True, what="origin"
        )  # fmt: skip
        if given is not None and given.datatype != got.datatype:
            raise ValueError("mismatch in origin and result MPI datatypes")
        sent = got if given is None else given
        self._accumulate(sent, got, target_rank, target_disp, op)

    def Compare_and_swap(
        self, origin: Any, compare: Any, result: Any, target_rank: int, target_disp: int = 0
    ) -> None:
        """Get one element of the memory of a rank, and replace it if it is as expected."""
        new = single(origin, readonly=True, what="origin")
        old = single(compare, readonly=True, what="compare")
        got = single(result, readonly=False, what="result")
        if new.datatype != old.datatype:
            raise ValueError("mismatch in origin and compare MPI datatypes")
        if new.datatype != got.datatype:
            raise ValueError("mismatch in origin and result MPI datatypes")
        place = place_of(got, integer(target_disp))
        if _is_nobody(target_rank):
            return
        data = (_flat(old.pack()), _flat(new.pack()))
        with self._accessing(target_rank, "Compare_and_swap") as rank:
            start = self._start(rank, place, "Compare_and_swap")
            self._take(rank, RequestHeader(RequestKind.COMPARE_AND_SWAP), place, start, got, data)

    def _put(
        self, origin: Any, target_rank: Any, target: Any, *, requested: bool = False
    ) -> Access | None:
        if _is_nobody(target_rank):
            return None
        spec = read(origin, readonly=True)
        place = place_of(spec, target)
        check_sizes(spec.nbytes, place, "what is put")
        data = _flat(spec.pack())
        with self._accessing(target_rank, "Put", requested=requested) as rank:
            start = self._start(rank, place, "Put")
            return self._give(rank, RequestHeader(RequestKind.PUT), place, start, data)

    def _get(
        self, origin: Any, target_rank: Any, target: Any, *, requested: bool = False
    ) -> Access | None:
        if _is_nobody(target_rank):
            return None
        spec = read(origin, readonly=False)
        place = place_of(spec, target)
        check_sizes(spec.nbytes, place, "the buffer")
        with self._accessing(target_rank, "Get", requested=requested) as rank:
            start = self._start(rank, place, "Get")
            return self._take(rank, RequestHeader(RequestKind.GET), place, start, spec)

    def _accumulate(
        self, origin: Any, result: Any, target_rank: Any, target: Any, op: Any,
        *, requested: bool = False,
    ) -> Access | None:  # fmt: skip
        if _is_nobody(target_rank):
            return None
        name = "Accumulate" if result is None else "Get_accumulate"
        got = None
        if result is not None:
            got = result if isinstance(result, Spec) else read(result, readonly=False)
        is_read_only = got is not None and op == MPI.NO_OP
        if isinstance(origin, Spec):
            spec = origin
        elif is_read_only and got is not None:
            spec = got
        else:
            spec = read(origin, readonly=True)
        place = place_of(got if got is not None else spec, target)
        if not place.size:
            self._nothing(target_rank, name, requested=requested)
            return None
        if not is_read_only:
            check_sizes(spec.nbytes, place, "what is sent")
        if got is not None:
            check_sizes(got.nbytes, place, "the result")
        basic = basic_of(place.basics)
        operation = operation_of(op, basic)
        if got is None and operation == NO_OP:
            self._nothing(target_rank, name, requested=requested)
            return None
        data = memoryview(b"") if operation == NO_OP else _flat(spec.pack())
        unit = unit_of(basic)
        with self._accessing(target_rank, name, requested=requested) as rank:
            if self._defined is not None and (operation, basic) not in self._defined[rank]:
                reduction = f"{REDUCTIONS[operation]} of elements of type {BASIC_TYPES[basic]}"
                text = f"the MPI of rank {rank} does not define {reduction}"
                raise WrongArgument(Wrong.OPERATION, text)
            start = self._start(rank, place, name)
            if got is None:
                header = RequestHeader(RequestKind.ACCUMULATE, operation, basic)
                return self._give(rank, header, place, start, data, unit)
            header = RequestHeader(RequestKind.GET_ACCUMULATE, operation, basic)
            return self._take(rank, header, place, start, got, (data,) if data else (), unit)

    def _nothing(self, rank: Any, call: str, *, requested: bool) -> None:
        """Make an access that changes nothing: it has to fit the epoch."""
        with self._accessing(rank, call, requested=requested):
            pass

    @contextmanager
    def _accessing(self, rank: Any, call: str, *, requested: bool = False) -> Iterator[int]:
        """Take the lock, check that a rank can be accessed now, and let what is asked leave."""
        found = integer(rank)
        self._check_rank(found)
        traffic = self.traffic
        with traffic.engine.lock:
            traffic.origin.begin(found, call, requested=requested)
            traffic.check(found)
            try:
                yield found
            finally:
                traffic.depart()

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.members.size:
            text = f"rank {rank} is not between 0 and {self.members.size - 1}"
            raise WrongArgument(Wrong.RANK, text)

    def _start(self, rank: int, place: TargetPlace, call: str) -> int:
        """Return the first byte of a place at a rank; raises MPI.Exception where it is outside."""
        start: int = place.displacement * self._units[rank]
        if self.is_dynamic:
            return place.displacement
        low, high = bounds_of(place.runs)
        if place.size and not 0 <= start + low <= start + high <= self._sizes[rank]:
            raise error_of_mpi(
                MPI.ERR_RMA_RANGE,
                f"{call} to rank {rank} wants bytes {start + low} to {start + high} of its window,"
                f" which has {self._sizes[rank]} (displacement {place.displacement}, of"
                f" {self._units[rank]} bytes each)",
            )
        return start

    def _give(  # noqa: PLR0917 - a request, and what goes with it
        self,
        rank: int,
        header: RequestHeader,
        place: TargetPlace,
        start: int,
        data: memoryview,
        unit: int = 1,
    ) -> Access:
        """Send data to a place of a rank."""
        return self.traffic.origin.give(rank, header, start, place.runs, data, unit)

    def _take(  # noqa: PLR0917 - as above
        self, rank: int, header: RequestHeader, place: TargetPlace, start: int, spec: Spec,
        data: Sequence[memoryview] = (), unit: int = 1,
    ) -> Access:  # fmt: skip
        """Send a request to a place of a rank, perhaps with data, whose answer has data, too."""
        view = spec.view
        into = memoryview(bytearray(spec.nbytes)) if view is None else view
        into = into if into.format == "B" else into.cast("B")
        unpack = (lambda: spec.unpack(into)) if view is None else None
        origin = self.traffic.origin
        return origin.take(rank, header, start, place.runs, into, data, unit, unpack)

    def _request(self, access: Access | None) -> MPI.Request:
        if access is None:
            return new_request(self.members, Finished())
        traffic = self.traffic
        with traffic.engine.lock:
            access.is_requested = True
            traffic.origin.push()
            traffic.depart()
        return new_request(self.members, AwaitedAccesses(traffic, [access], tells_all=True))


def _is_nobody(rank: Any) -> bool:
    return integer(rank) == MPI.PROC_NULL


def _flat(data: Any) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")
