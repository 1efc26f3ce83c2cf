"""A window over several clusters: one process's memory, and its way to that of the others.

Accesses are requests to the port of the target, in this cluster too: native MPI would wake nobody,
and two ways to one memory would not be atomic to each other. A request that waits for a lock holds
those behind it up at the target, so `Lock` waits for nobody: a lock, what is done with it and its
end need one round trip together. A target answers `Unlock` and `Flush` once all before it is done.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.mpi.communicators.groups import group_of, members_of
from runtime.mpi.progress.mailboxes import HEAD, SERVED
from runtime.mpi.progress.operations import Finished, Operation
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
from runtime.mpi.windows.reducing import all_defined, reduce
from runtime.mpi.windows.waiting import (
    AllOf,
    Answered,
    Awaited,
    FirstError,
    Unfinished,
    WindowLosses,
)
from runtime.services import BodyHere, Effect, SendRequest, ServicePort, several
from runtime.services.port import SEVERAL
from runtime.topology import member_in_words
from runtime.windows.epochs import Epoch, WindowEpochs, WrongEpoch
from runtime.windows.requests import (
    AT_ONCE,
    BASIC_TYPES,
    NO_OP,
    REDUCTIONS,
    AnswerCode,
    RequestHeader,
    RequestKind,
)
from runtime.windows.runs import bounds_of, packed, pieces, size_of
from runtime.windows.target import AttachedMemory, OneMemory, WindowTarget

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.windows.shared_memory import SharedMemory
    from runtime.windows.runs import Run

_SMALL, _MOST_HELD = 256, 16
"""Bodies of up to so many bytes are kept until a synchronisation, and so many of them at most."""

_MOST_TOLD = 4


class GridWindow:
    """One process's part of a window; `comm` is its own duplicate of the communicator.

    Methods have the names and arguments of MPI's. They raise `WrongEpoch` and `WrongArgument`,
    which the caller turns into MPI's errors.
    """

    is_freed = False
    """Whether it is given up; the program may have copies of its handle."""

    def __init__(
        self, comm: Any, parent: CommunicatorMembers, native: MPI.Win, memory: memoryview | None
    ) -> None:
        """Serve memory; without any it is a window to which parts are attached."""
        self.comm, self.native = comm, native
        m: CommunicatorMembers = comm._members
        self.members = m
        self.engine: Engine = m.engine
        self._losses = WindowLosses(parent.recovery, m.recovery, m.engine.name_of)
        self.is_dynamic = memory is None
        self.shared: SharedMemory | None = None
        """The memory of all ranks, where they share it."""
        self.flavor: int = MPI.WIN_FLAVOR_CREATE
        """In which way it was made, as MPI says it."""
        self.target = WindowTarget(
            AttachedMemory() if memory is None else OneMemory(memory), reduce
        )
        self.epochs = WindowEpochs()
        self.posts: Counter[int] = Counter()
        """Whose exposure epochs have begun for this process, less those that it has used."""
        self._ranks = {index: rank for rank, index in enumerate(m.peers)}
        self._fences = self._token = 0
        self._sent = [0] * m.size
        self._unfinished: dict[int, Unfinished] = {}
        self._touched: set[int] = set()
        self._has_lock: dict[int, bool] = {}
        self._held: dict[int, list[tuple[bytes, bytes]]] = {}
        self._answers: dict[int, Answered] = {}
        self._head = HEAD.pack(m.context, True, m.engine.me, SERVED)
        with self.engine.lock:
            port_of(self.engine).open(m.context, self)
        unit, library = native.Get_attr(MPI.WIN_DISP_UNIT), MPI.Get_library_version()
        told = comm.allgather((len(memory or b""), unit, library))
        self._sizes = [one for one, _, _ in told]
        self._units = [one for _, one, _ in told]
        self._defined: list[frozenset[tuple[int, int]]] | None = None
        """Where ranks have different MPIs: the operations of each, with their basic types."""
        if len({one for _, _, one in told}) > 1:
            self._defined = comm.allgather(all_defined())

    # --- the service ------------------------------------------------------------------------------

    def admits(self, source: int) -> bool:
        """Return whether a process does not wait for the lock."""
        return self.target.admits(source)

    def may_wait(self, header: bytes) -> bool:
        """Return whether it is a request for the lock."""
        return header[0] == RequestKind.LOCK

    def room(self, source: int, header: bytes, size: int) -> memoryview | None:  # noqa: ARG002 - others may need the source
        """Return where data go: into the window, or where they were asked for."""
        told = RequestHeader.of(header)
        if told.kind != RequestKind.ANSWER:
            return self.target.room(told, size)
        waiting = self._answers.get(told.token)
        into = None if waiting is None or told.operation != AnswerCode.DONE else waiting.into
        return into if into is not None and len(into) == size else None

    def handle(self, source: int, header: bytes, body: memoryview | None) -> Iterable[Effect]:
        """Serve a request, or take an answer."""
        told = RequestHeader.of(header)
        if told.kind == RequestKind.ANSWER:
            waiting = self._answers.pop(told.token, None)
            if waiting is not None and told.operation == AnswerCode.DONE:
                waiting.answer(body)
            elif waiting is not None:
                rank, said = self._ranks[source], bytes(body or b"").decode()
                text = f"an access to rank {rank} was refused there: {said}"
                is_outside = told.operation == AnswerCode.OUTSIDE
                waiting.refuse(_error(MPI.ERR_RMA_RANGE if is_outside else MPI.ERR_OTHER, text))
            return ()
        if told.kind == RequestKind.POST:
            self.posts[self._ranks[source]] += 1
            return ()
        return self.target.handle(source, told, body)

    def lost(self, source: int) -> Iterable[Effect]:
        """Go on without a lost process; what waits for it finds out itself."""
        return self.target.lost(source)

    def _send(self, rank: int, header: RequestHeader, *body: memoryview) -> Operation | None:
        """Send a request; return the operation to wait for, if its body is still needed.

        A small one is copied, and may leave later: with others, at the next synchronisation.
        """
        m, engine = self.members, self.engine
        index = m.peers[rank]
        with engine.lock:
            if (closed := self._losses.error) is not None:
                raise closed
            if index == engine.me:
                data = body[0] if len(body) == 1 else b"".join(body)
                port_of(engine).arrived(m.context, header.packed(), BodyHere(index, data))
                return None
            if engine.connections is None or index in engine.losses.gone:
                error = engine.losses.of(index)
                raise error if error is not None else RuntimeError("the connections are closed")
            if header.kind == RequestKind.POST or sum(map(len, body)) > _SMALL:
                self._push(rank)
                return self._transmit(rank, header.packed(), body)
            held = self._held.setdefault(rank, [])
            held.append((header.packed(), b"".join(body)))
            if header.kind >= RequestKind.UNLOCK or len(held) >= _MOST_HELD:
                self._push(rank)
            return None

    def _push(self, rank: int) -> None:
        """Send the small requests to a rank that have not left; the lock is held."""
        held = self._held.pop(rank, None)
        if held is None:
            return
        if len(held) == 1:
            header, body = held[0]
            self._transmit(rank, header, (memoryview(body),) if body else ())
        else:
            self._transmit(rank, SEVERAL, (memoryview(several(held)),))

    def _transmit(self, rank: int, header: bytes, body: Sequence[memoryview]) -> Operation | None:
        m, engine = self.members, self.engine
        assert engine.connections is not None, "it was asked before"
        outgoing = engine.connections.send(m.peers[rank], self._head + header, body)
        engine.wake()
        if outgoing.done and outgoing.error is None:
            return None
        return engine.far_send(outgoing, rank, m.peers[rank], self._losses)

    def _ask(self, rank: int, header: RequestHeader, what: str, *body: memoryview,
             into: memoryview | None = None) -> list[Operation]:  # fmt: skip
        """Send a request that is answered; return what to wait for."""
        index = self.members.peers[rank]
        answer = Answered(self.engine, self._losses, index, what, into)
        with self.engine.lock:
            self._token += 1
            token = self._token
            self._answers[token] = answer
            try:
                sent = self._send(rank, header._replace(token=token), *body)
            except BaseException:
                del self._answers[token]
                raise
        return [answer] if sent is None else [sent, answer]

    # --- accesses ---------------------------------------------------------------------------------

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
        with self._accessing(target_rank, "Compare_and_swap") as rank:
            if rank is None:
                return
            place = place_of(got, integer(target_disp))
            start = self._start(rank, place, "Compare_and_swap")
            data = (_flat(old.pack()), _flat(new.pack()))
            what = self._what("a Compare_and_swap", rank)
            self._gather(
                rank, RequestHeader(RequestKind.COMPARE_AND_SWAP), place, start, got, what, data
            )

    def _put(
        self, origin: Any, target_rank: Any, target: Any, *, requested: bool = False
    ) -> Operation:
        with self._accessing(target_rank, "Put", requested=requested) as rank:
            if rank is None:
                return Finished()
            spec = read(origin, readonly=True)
            place = place_of(spec, target)
            check_sizes(spec.nbytes, place, "what is put")
            start = self._start(rank, place, "Put")
            return self._scatter(
                rank, RequestHeader(RequestKind.PUT), place, start, _flat(spec.pack()), 1
            )

    def _get(
        self, origin: Any, target_rank: Any, target: Any, *, requested: bool = False
    ) -> Operation:
        with self._accessing(target_rank, "Get", requested=requested) as rank:
            if rank is None:
                return Finished()
            spec = read(origin, readonly=False)
            place = place_of(spec, target)
            check_sizes(spec.nbytes, place, "the buffer")
            start = self._start(rank, place, "Get")
            what = self._what("data", rank)
            return self._gather(rank, RequestHeader(RequestKind.GET), place, start, spec, what)

    def _accumulate(
        self, origin: Any, result: Any, target_rank: Any, target: Any, op: Any,
        *, requested: bool = False,
    ) -> Operation:  # fmt: skip
        name = "Accumulate" if result is None else "Get_accumulate"
        with self._accessing(target_rank, name, requested=requested) as rank:
            if rank is None:
                return Finished()
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
                return Finished()
            if not is_read_only:
                check_sizes(spec.nbytes, place, "what is sent")
            basic = basic_of(place.basics)
            operation = operation_of(op, basic)
            if self._defined is not None and (operation, basic) not in self._defined[rank]:
                reduction = f"{REDUCTIONS[operation]} of elements of type {BASIC_TYPES[basic]}"
                text = f"the MPI of rank {rank} does not define {reduction}"
                raise WrongArgument(Wrong.OPERATION, text)
            start = self._start(rank, place, name)
            data = memoryview(b"") if operation == NO_OP else _flat(spec.pack())
            unit = unit_of(basic)
            if got is None:
                if operation == NO_OP:
                    return Finished()
                header = RequestHeader(RequestKind.ACCUMULATE, operation, basic)
                return self._scatter(rank, header, place, start, data, unit)
            check_sizes(got.nbytes, place, "the result")
            header = RequestHeader(RequestKind.GET_ACCUMULATE, operation, basic)
            what = self._what("data", rank)
            return self._gather(
                rank, header, place, start, got, what, (data,) if data else (), unit
            )

    @contextmanager
    def _accessing(self, rank: Any, call: str, *, requested: bool = False) -> Iterator[int | None]:
        """Check that a rank can be accessed now, and hand it on; None for PROC_NULL."""
        found = integer(rank)
        if found == MPI.PROC_NULL:
            yield None
            return
        self._check_rank(found)
        try:
            self.epochs.check_access(found, requested=requested)
        except WrongEpoch as fault:
            raise WrongEpoch(f"{call} to rank {found}: {fault}") from None
        with self.engine.lock:
            if self.epochs.access is Epoch.ALL_LOCKED and found not in self._has_lock:
                self._send(found, RequestHeader(RequestKind.LOCK))
                self._has_lock[found] = True
            yield found

    def _check_rank(self, rank: int) -> None:
        if not 0 <= rank < self.members.size:
            text = f"rank {rank} is not between 0 and {self.members.size - 1}"
            raise WrongArgument(Wrong.RANK, text)

    def _start(self, rank: int, place: TargetPlace, call: str) -> int:
        """Return the first byte of a place at a rank; raises WrongArgument where it is outside."""
        start: int = place.displacement * self._units[rank]
        if self.is_dynamic:
            return place.displacement
        low, high = bounds_of(place.runs)
        if place.size and not 0 <= start + low <= start + high <= self._sizes[rank]:
            raise _error(
                MPI.ERR_RMA_RANGE,
                f"{call} to rank {rank} wants bytes {start + low} to {start + high} of its window,"
                f" which has {self._sizes[rank]} (displacement {place.displacement}, of"
                f" {self._units[rank]} bytes each)",
            )
        return start

    def _what(self, what: str, rank: int) -> str:
        name = self.engine.name_of(self.members.peers[rank])
        return f"{what} of {member_in_words(rank, name)}"

    def _scatter(  # noqa: PLR0917 - a request, and what goes with it
        self,
        rank: int,
        header: RequestHeader,
        place: TargetPlace,
        start: int,
        data: memoryview,
        unit: int,
    ) -> Operation:
        """Send data to a place of a rank."""
        is_block = len(place.runs) == 1 and place.runs[0].times == 1
        is_put_at_once = header.kind == RequestKind.PUT and is_block  # it lands in the window
        most = len(data) or 1 if is_put_at_once else AT_ONCE
        waiting: list[Operation] = []
        at = 0
        for piece in pieces(place.runs, most, unit):
            size = size_of(piece)
            told, *body = self._addressed(header, start, piece, data[at : at + size])
            sent = self._send(rank, told, *body)
            self._take_note(rank)
            waiting += [] if sent is None else [sent]
            at += size
        return self._keep(rank, waiting, None)

    def _gather(  # noqa: PLR0917 - as above
        self, rank: int, header: RequestHeader, place: TargetPlace, start: int, spec: Spec,
        what: str, data: Sequence[memoryview] = (), unit: int = 1,
    ) -> Operation:  # fmt: skip
        """Send a request to a place of a rank, perhaps with data, whose answer has data, too."""
        view = spec.view
        into = memoryview(bytearray(spec.nbytes)) if view is None else view
        into = into if into.format == "B" else into.cast("B")
        waiting: list[Operation] = []
        at = 0
        for piece in pieces(place.runs, AT_ONCE, unit):
            size = size_of(piece)
            sent = [one[at : at + size] for one in data]
            told, *body = self._addressed(header, start, piece, *sent)
            waiting += self._ask(rank, told, what, *body, into=into[at : at + size])
            self._take_note(rank)
            at += size
        return self._keep(rank, waiting, (lambda: spec.unpack(into)) if view is None else None)

    def _addressed(
        self, header: RequestHeader, start: int, piece: Sequence[Run], *data: memoryview
    ) -> tuple[Any, ...]:
        """Return a header with the place of a piece, and the body of its request."""
        told = header._replace(epoch=self._fences)
        if len(piece) == 1 and piece[0].times == 1:
            return (told._replace(start=start + piece[0].start, length=piece[0].length), *data)
        runs = memoryview(packed(piece))
        return (told._replace(start=start, runs=len(piece)), runs, *data)

    def _take_note(self, rank: int) -> None:
        self._sent[rank] += 1
        self._touched.add(rank)

    def _keep(
        self, rank: int, waiting: Sequence[Operation], then: Callable[[], object] | None
    ) -> Operation:
        """Keep an access until a synchronisation, and return it."""
        if not waiting:
            return Finished()
        made = AllOf(waiting, then)
        self._unfinished.setdefault(rank, Unfinished()).add(made)
        return made

    def _request(self, operation: Operation) -> MPI.Request:
        self.Sync()
        return new_request(self.members, operation)

    # --- ends of accesses -------------------------------------------------------------------------

    def _finish(self, ranks: Iterable[int], more: Sequence[Operation] = ()) -> None:
        """Wait until what was begun with some ranks is done here; raises the first error."""
        operations: list[Operation] = []
        steps = FirstError()
        with self.engine.lock:
            for rank in ranks:
                with steps.goes_on():
                    self._push(rank)
                if (kept := self._unfinished.pop(rank, None)) is not None:
                    operations += kept.operations
        with steps.goes_on():
            self.engine.waits.wait_for(*operations, *more)
        steps.tell()

    def _flush(self, ranks: Iterable[int]) -> None:
        """Wait until all is done at some ranks, too."""
        asked: list[Operation] = []
        ranks = [*ranks]
        touched = self._touched.intersection(ranks)
        self._touched -= touched  # before: other threads may go on to access them
        steps = FirstError()
        try:
            for rank in sorted(touched):
                what = self._what("the end of accesses to the memory", rank)
                with steps.goes_on():
                    asked += self._ask(rank, RequestHeader(RequestKind.FLUSH), what)
            with steps.goes_on():
                self._finish(ranks, asked)
            steps.tell()
        except BaseException:
            self._touched |= touched  # another call has to ask again
            raise

    def Flush(self, rank: int) -> None:
        """Wait until all accesses to a rank are done there."""
        self._flush(self._locked(rank))

    def Flush_all(self) -> None:
        """Wait until all accesses are done at their targets."""
        self.epochs.check_locked()
        self._flush(sorted({*self._touched, *self._unfinished}))

    def Flush_local(self, rank: int) -> None:
        """Wait until all accesses to a rank are done here."""
        self._finish(self._locked(rank))

    def Flush_local_all(self) -> None:
        """Wait until all accesses are done here."""
        self.epochs.check_locked()
        self._finish(sorted({*self._held, *self._unfinished}))

    def Sync(self) -> None:
        """Let small accesses leave; nothing else, since there is one copy of the memory."""
        with self.engine.lock:
            for rank in tuple(self._held):
                self._push(rank)

    def _locked(self, rank: Any) -> Sequence[int]:
        found = integer(rank)
        if found == MPI.PROC_NULL:
            return ()
        self._check_rank(found)
        self.epochs.check_locked(found)
        return (found,)

    # --- locks ------------------------------------------------------------------------------------

    def Lock(self, rank: int, lock_type: int = MPI.LOCK_EXCLUSIVE, assertion: int = 0) -> None:
        """Lock a rank. Only the lock of this process itself is waited for."""
        found = integer(rank)
        if found == MPI.PROC_NULL:
            return
        self._check_rank(found)
        if lock_type not in (MPI.LOCK_EXCLUSIVE, MPI.LOCK_SHARED):
            raise WrongArgument(Wrong.LOCKTYPE, f"{lock_type} is no type of a lock")
        with self.engine.lock:
            self.epochs.lock(found)
            has_lock = not integer(assertion) & MPI.MODE_NOCHECK
            try:
                if has_lock:
                    exclusive = int(lock_type == MPI.LOCK_EXCLUSIVE)
                    self._send(found, RequestHeader(RequestKind.LOCK, exclusive))
            except BaseException:
                self.epochs.unlock(found)
                raise
            self._has_lock[found] = has_lock
        if has_lock and found == self.members.rank:
            self._wait_for_own_lock()

    def Unlock(self, rank: int) -> None:
        """Wait until all accesses to a rank are done there, and give its lock back."""
        found = integer(rank)
        if found == MPI.PROC_NULL:
            return
        self._check_rank(found)
        self.epochs.unlock(found)
        self._unlock([found])

    def Lock_all(self, assertion: int = 0) -> None:
        """Lock all ranks, each where it is accessed; the own memory may be used at once."""
        with self.engine.lock:
            self.epochs.lock_all()
            mine = self.members.rank
            if integer(assertion) & MPI.MODE_NOCHECK:
                self._has_lock = dict.fromkeys(range(self.members.size), False)
                return
            self._send(mine, RequestHeader(RequestKind.LOCK))
            self._has_lock[mine] = True
        self._wait_for_own_lock()

    def Unlock_all(self) -> None:
        """Wait until all accesses are done at their targets, and give all locks back."""
        self.epochs.unlock_all()
        self._unlock(sorted({*self._has_lock, *self._touched}))

    def _unlock(self, ranks: Sequence[int]) -> None:
        asked: list[Operation] = []
        steps = FirstError()
        for rank in ranks:
            has_lock = self._has_lock.pop(rank, False)
            if not has_lock and rank not in self._touched:
                continue
            self._touched.discard(rank)
            what = self._what("the end of accesses to the memory, or the lock,", rank)
            with steps.goes_on():
                asked += self._ask(rank, RequestHeader(RequestKind.UNLOCK, int(has_lock)), what)
        with steps.goes_on():
            self._finish(ranks, asked)
        steps.tell()

    def _wait_for_own_lock(self) -> None:
        me, lock = self.engine.me, self.target.lock
        who = " and ".join(
            member_in_words(self._ranks[one], self.engine.name_of(one))
            for one in sorted(lock.holders)[:_MOST_TOLD]
        )
        what = f"the lock of its own memory, which {who} has"
        self._wait(what, (), lambda: not lock.waits(me))

    # --- fences, and epochs of groups -------------------------------------------------------------

    def Fence(self, assertion: int = 0) -> None:
        """End the accesses of all ranks, and begin others."""
        with self.engine.lock:
            self.epochs.fence(succeeds=not integer(assertion) & MPI.MODE_NOSUCCEED)
        steps = FirstError()
        if self.is_dynamic:  # its targets alone know what is outside
            with steps.goes_on():
                self._flush(sorted({*self._touched, *self._unfinished}))
        with steps.goes_on():
            self._finish(sorted({*self._held, *self._unfinished}))
        if (closed := self._losses.error) is not None:
            self._give_up()  # those that are in the reduction already would wait for this process
            steps.tell()
            raise closed
        sent, mine = array("q", self._sent), array("q", [0])
        self.comm.Reduce_scatter_block(sent, mine)
        applied, epoch = self.target.applied, self._fences
        others = [one for one in self.members.peers if one != self.engine.me]
        if applied[epoch] < mine[0]:
            self._wait("accesses to its memory", others, lambda: applied[epoch] >= mine[0])
        del applied[epoch]
        self._fences += 1
        self._sent = [0] * self.members.size
        self._touched.clear()
        steps.tell()

    def Start(self, group: MPI.Group, assertion: int = 0) -> None:
        """Begin to access the ranks of a group, once they allow it."""
        ranks = self._ranks_of(group)
        self.epochs.start(ranks)
        if integer(assertion) & MPI.MODE_NOCHECK:
            return
        steps = FirstError()
        for rank in ranks:
            what = self._what("a Post", rank)
            with steps.goes_on():
                self._wait(what, (self.members.peers[rank],), lambda at=rank: self.posts[at] > 0)  # type: ignore[misc]  # a default of a lambda
                with self.engine.lock:
                    self.posts[rank] -= 1
        steps.tell()

    def Complete(self) -> None:
        """End the accesses that `Start` has begun."""
        ranks = sorted(self.epochs.complete())
        steps = FirstError()
        with steps.goes_on():
            if self.is_dynamic:
                self._flush(ranks)
            else:
                self._finish(ranks)
        self._touched.difference_update(ranks)
        self._tell_each(ranks, RequestKind.COMPLETE, steps)

    def Post(self, group: MPI.Group, assertion: int = 0) -> None:
        """Let the ranks of a group access this memory."""
        ranks = self._ranks_of(group)
        self.epochs.post(ranks)
        if not integer(assertion) & MPI.MODE_NOCHECK:
            self._tell_each(ranks, RequestKind.POST, FirstError())

    def _tell_each(self, ranks: Iterable[int], kind: RequestKind, steps: FirstError) -> None:
        """Tell all ranks, whoever of them is lost; raises the first error of all steps."""
        for rank in ranks:
            with steps.goes_on():
                self._send(rank, RequestHeader(kind))
        steps.tell()

    def Wait(self) -> None:
        """Wait until all ranks that `Post` has named have ended their accesses."""
        self.engine.waits.wait_for(*self._completions())
        self._end_exposure()

    def Test(self) -> bool:
        """Return whether they have, and end the epoch if so."""
        awaited = self._completions()
        self.engine.ask()
        with self.engine.lock:
            is_over = [one.test() for one in awaited]
        for one in awaited:
            if one.error is not None:
                raise one.error
        if all(is_over):
            self._end_exposure()
        return all(is_over)

    def _completions(self) -> list[Awaited]:
        """Return what ends an exposure epoch; raises WrongEpoch where there is none."""

        def completed(rank: int) -> Awaited:
            index, what = self.members.peers[rank], self._what("a Complete", rank)
            is_there = lambda: self.target.completed[index] > 0  # noqa: E731
            return Awaited(self.engine, self._losses, (index,), what, is_there)

        return [completed(rank) for rank in sorted(self.epochs.wait())]

    def _end_exposure(self) -> None:
        with self.engine.lock:
            for rank in self.epochs.wait():
                self.target.completed[self.members.peers[rank]] -= 1
            self.epochs.exposed_to = None

    def _ranks_of(self, group: MPI.Group) -> list[int]:
        indexes = members_of(group, self.engine)
        strangers = [one for one in indexes if one not in self._ranks]
        if strangers:
            name = self.engine.name_of(strangers[0])
            raise WrongArgument(Wrong.GROUP, f"{name} is not in the group of the window")
        return [self._ranks[one] for one in indexes]

    def _wait(self, what: str, indexes: Sequence[int], is_there: Callable[[], bool]) -> None:
        self.engine.waits.wait_for(Awaited(self.engine, self._losses, indexes, what, is_there))

    # --- memory and facts -------------------------------------------------------------------------

    def Attach(self, memory: Any) -> None:
        """Let a part of the memory of this process belong to the window."""
        attached = self._attached()
        part: Any = MPI.buffer.frombuffer(memory, readonly=False)
        with self.engine.lock:
            attached.attach(MPI.Get_address(memory), memoryview(part))

    def Detach(self, memory: Any) -> None:
        """Let it belong to the window no more."""
        attached = self._attached()
        with self.engine.lock:
            if not attached.detach(MPI.Get_address(memory)):
                text = "this memory is not attached to the window"
                raise WrongArgument(Wrong.ATTACH, text)

    def _attached(self) -> AttachedMemory:
        memory = self.target.memory
        if not isinstance(memory, AttachedMemory):
            text = "only a window of Create_dynamic takes more memory"
            raise WrongArgument(Wrong.FLAVOR, text)
        return memory

    def Get_group(self) -> MPI.Group:
        """Return the group of the window."""
        return group_of(self.engine, self.members.group)

    def Shared_query(self, rank: int) -> tuple[MPI.buffer, int]:
        """Return memory that this process shares with a rank, and the size of its units.

        Where a window shares none it has the own memory, and nothing of others.
        """
        found = integer(rank)
        if self.shared is not None and found == MPI.PROC_NULL:
            found = next((at for at, size in enumerate(self.shared.sizes) if size), 0)
        if self.shared is not None:
            self._check_rank(found)
            return MPI.buffer(self.shared.part(found)), self._units[found]
        if found == self.members.rank:
            return self.native.tomemory(), self._units[found]
        return MPI.buffer(b""), 1

    @property
    def is_broken(self) -> bool:
        """Whether its communicator was revoked, or a member is lost."""
        gone = self.engine.losses.gone
        return self._losses.is_closed or any(one in gone for one in self.members.peers)

    def Free(self) -> None:
        """Wait until all have called this, and give the window up; a broken one at once."""
        steps = FirstError()
        try:
            is_over = False
            if not self.is_broken:
                with steps.goes_on():
                    self._flush(sorted({*self._touched, *self._unfinished}))
                with steps.goes_on():
                    self.comm.Barrier()
                    is_over = True
            if not is_over:
                self._give_up()
        finally:
            with self.engine.lock:
                port_of(self.engine).close(self.members.context)
                self._losses.end()
                self.target.memory = OneMemory(memoryview(b""))
            self.comm.Free()
        steps.tell()

    def _give_up(self) -> None:
        """Let calls of all ranks fail: others would wait for ever for this one."""
        self.comm.Revoke()


def port_of(engine: Engine) -> ServicePort:
    """Return the port of this process; the first call opens it. The lock is held."""
    port = engine.port
    if port is None:
        port = engine.port = ServicePort(lambda key, send: _carry_out(engine, key, send))
    return port


def _carry_out(engine: Engine, key: bytes, send: SendRequest) -> None:
    """Send what a service says. Nobody waits for that: a lost receiver needs no answer."""
    port = engine.port
    assert port is not None, "it calls this"
    if send.to == engine.me:
        port.arrived(key, send.header, BodyHere(send.to, b"".join(send.body)))
    elif engine.connections is not None and send.to not in engine.losses.gone:
        head = HEAD.pack(key, True, engine.me, SERVED)
        engine.connections.send(send.to, head + send.header, send.body)


def _flat(data: Any) -> memoryview:
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def _error(kind: int, text: str) -> MPI.Exception:
    error = MPI.Exception(kind)
    error.add_note(text)
    return error
