"""A window over several clusters: one process's memory, and its way to that of the others.

Accesses are requests to the port of the target, in this cluster too: native MPI would wake nobody,
and two ways to one memory would not be atomic to each other. A request that waits for a lock holds
those behind it up at the target, so `Lock` waits for nobody: a lock, what is done with it and its
end need one round trip together. A target answers `Unlock` and `Flush` once all before it is done.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from mpi4py import MPI

from runtime.mpi.communicators.groups import group_of, members_of
from runtime.mpi.values.faults import Wrong, WrongArgument
from runtime.mpi.values.numbers import integer
from runtime.mpi.windows.accesses import WindowAccesses
from runtime.mpi.windows.reducing import all_defined, reduce
from runtime.mpi.windows.traffic import WindowTraffic
from runtime.mpi.windows.waiting import Awaited, FirstError, WindowLosses
from runtime.windows.conflicts import AccessLedger
from runtime.windows.requests import RequestKind
from runtime.windows.target import AttachedMemory, OneMemory

if TYPE_CHECKING:
    from runtime.mpi.progress.engine import Engine
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.windows.shared_memory import SharedMemory
    from runtime.windows.origin import OutgoingRequest


class GridWindow(WindowAccesses):
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
        self.faces: WeakValueDictionary[int, MPI.Win] = WeakValueDictionary()
        """The windows that the program has of it: one, and copies of its handle; by their `id`."""
        self.tell_fault: Callable[[str, str], None] | None = None
        """Gets a call's name and a conflict that is known then, where the run is checked."""
        served = AttachedMemory() if memory is None else OneMemory(memory)
        self.traffic = WindowTraffic(m, self._losses, served, reduce)
        self.target, self.origin = self.traffic.target, self.traffic.origin
        self.epochs = self.origin.epochs
        with self.engine.lock:
            self.engine.services().open(m.context, self.traffic)
        unit, library = native.Get_attr(MPI.WIN_DISP_UNIT), MPI.Get_library_version()
        told = comm.allgather((len(memory or b""), unit, library))
        self._sizes = [one for one, _, _ in told]
        self._units = [one for _, one, _ in told]
        has_other_mpis = len({one for _, _, one in told}) > 1
        self._defined = comm.allgather(all_defined()) if has_other_mpis else None

    def look_for_conflicts(self, tell: Callable[[str, str], None]) -> None:
        """Tell of accesses to this memory that conflict, from now on."""
        self.tell_fault = tell
        with self.engine.lock:
            self.target.ledger = AccessLedger()

    def _tell_conflicts(self, call: str, epoch: int | None = None) -> None:
        """Tell of the conflicts that were found until this call, which ends an epoch of fences."""
        ledger = self.target.ledger
        if ledger is None or self.tell_fault is None:
            return
        with self.engine.lock:
            found = ledger.take(self.origin.fences if epoch is None else epoch)
        for one in found:
            first, second = (self.traffic.ranks[each.source] for each in (one.first, one.second))
            self.tell_fault(
                call,
                f"rank {second} {one.second.verb} bytes {one.low} to {one.high} of the window of"
                f" rank {self.members.rank}, which rank {first} {one.first.verb} in the same epoch:"
                " nothing orders the two",
            )

    # --- ends of accesses -------------------------------------------------------------------------

    def _finish(self, ranks: Iterable[int], asked: Sequence[OutgoingRequest] = ()) -> None:
        """Wait until what was begun with some ranks is done here; raises the first error."""
        ranks = [*ranks]
        with self.engine.lock:
            accesses = self.origin.under_way(ranks)
            self.traffic.depart()
        try:
            self.traffic.wait_for([*accesses, *asked])
        finally:
            with self.engine.lock:
                self.origin.forget(accesses)

    def _flush(self, ranks: Iterable[int]) -> None:
        """Wait until all is done at some ranks, too."""
        ranks = [*ranks]
        with self.engine.lock:
            asked = [one for rank in ranks if (one := self.origin.flush(rank)) is not None]
            self.traffic.depart()
        self._finish(ranks, asked)

    def _ranks_under_way(self) -> list[int]:
        with self.engine.lock:
            return self.origin.ranks_under_way()

    def Flush(self, rank: int) -> None:
        """Wait until all accesses to a rank are done there."""
        self._flush(self._locked(rank))

    def Flush_all(self) -> None:
        """Wait until all accesses are done at their targets."""
        self.epochs.check_locked()
        self._flush(self._ranks_under_way())

    def Flush_local(self, rank: int) -> None:
        """Wait until all accesses to a rank are done here."""
        self._finish(self._locked(rank))

    def Flush_local_all(self) -> None:
        """Wait until all accesses are done here."""
        self.epochs.check_locked()
        self._finish(self._ranks_under_way())

    def Sync(self) -> None:
        """Let small accesses leave; nothing else, since there is one copy of the memory."""
        with self.engine.lock:
            self.origin.push()
            self.traffic.depart()

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
        is_asked = not integer(assertion) & MPI.MODE_NOCHECK
        with self.engine.lock:
            self.traffic.check(found)
            self.origin.lock(found, exclusive=lock_type == MPI.LOCK_EXCLUSIVE, asks=is_asked)
            self.traffic.depart()
        if is_asked and found == self.members.rank:
            self._wait_for_own_lock()

    def Unlock(self, rank: int) -> None:
        """Wait until all accesses to a rank are done there, and give its lock back."""
        found = integer(rank)
        if found == MPI.PROC_NULL:
            return
        self._check_rank(found)
        with self.engine.lock:
            asked = self.origin.unlock(found)
            self.traffic.depart()
        self._finish([found], asked)
        self._tell_conflicts("Win.Unlock")

    def Lock_all(self, assertion: int = 0) -> None:
        """Lock all ranks, each where it is accessed; the own memory may be used at once."""
        is_asked = not integer(assertion) & MPI.MODE_NOCHECK
        with self.engine.lock:
            self.traffic.check(self.members.rank)
            self.origin.lock_all(asks=is_asked)
            self.traffic.depart()
        if is_asked:
            self._wait_for_own_lock()

    def Unlock_all(self) -> None:
        """Wait until all accesses are done at their targets, and give all locks back."""
        with self.engine.lock:
            ranks = self.origin.ranks_under_way()
            asked = self.origin.unlock_all()
            self.traffic.depart()
        self._finish(ranks, asked)
        self._tell_conflicts("Win.Unlock_all")

    def _wait_for_own_lock(self) -> None:
        me, lock = self.engine.me, self.target.lock
        who = self.traffic.holders_in_words(lock.holders)
        what = f"the lock of its own memory, which {who} has"
        self.traffic.wait_until(what, (), lambda: not lock.waits(me))

    # --- fences, and epochs of groups -------------------------------------------------------------

    def Fence(self, assertion: int = 0) -> None:
        """End the accesses of all ranks, and begin others."""
        origin = self.origin
        with self.engine.lock:
            self.epochs.fence(succeeds=not integer(assertion) & MPI.MODE_NOSUCCEED)
        steps = FirstError()
        if self.is_dynamic:  # its targets alone know what is outside
            with steps.goes_on():
                self._flush(self._ranks_under_way())
        with steps.goes_on():
            self._finish(self._ranks_under_way())
        if (closed := self._losses.error) is not None:
            self._give_up()  # those that are in the reduction already would wait for this process
            steps.tell()
            raise closed
        sent, mine = array("q", origin.sent), array("q", [0])
        self.comm.Reduce_scatter_block(sent, mine)
        applied, epoch = self.target.applied, origin.fences
        others = [one for one in range(self.members.size) if one != self.members.rank]
        if applied[epoch] < mine[0]:
            is_there = lambda: applied[epoch] >= mine[0]  # noqa: E731
            self.traffic.wait_until("accesses to its memory", others, is_there)
        del applied[epoch]
        with self.engine.lock:
            origin.end_fence()
            if self.target.ledger is not None:
                self.target.ledger.fenced(epoch)
        self._tell_conflicts("Win.Fence", epoch)
        steps.tell()

    def Start(self, group: MPI.Group, assertion: int = 0) -> None:
        """Begin to access the ranks of a group, once they allow it."""
        ranks = self._ranks_of(group)
        self.epochs.start(ranks)
        if integer(assertion) & MPI.MODE_NOCHECK:
            return
        steps, posts = FirstError(), self.origin.posts
        for rank in ranks:
            what = f"a Post of {self.traffic.in_words(rank)}"
            with steps.goes_on():
                self.traffic.wait_until(what, (rank,), lambda at=rank: posts[at] > 0)  # type: ignore[misc]  # a default of a lambda
                with self.engine.lock:
                    posts[rank] -= 1
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
        with self.engine.lock:
            self.origin.forget_touched(ranks)
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
            with steps.goes_on(), self.engine.lock:
                self.traffic.check(rank)
                self.origin.tell(rank, kind)
                self.traffic.depart()
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
            index, what = self.members.peers[rank], f"a Complete of {self.traffic.in_words(rank)}"
            is_there = lambda: self.target.completed[index] > 0  # noqa: E731
            return self.traffic.awaited(what, (rank,), is_there)

        return [completed(rank) for rank in sorted(self.epochs.wait())]

    def _end_exposure(self) -> None:
        with self.engine.lock:
            indexes = [self.members.peers[rank] for rank in self.epochs.wait()]
            self.target.completed.subtract(indexes)
            if self.target.ledger is not None:
                self.target.ledger.over(indexes)
            self.epochs.exposed_to = None
        self._tell_conflicts("Win.Wait")

    def _ranks_of(self, group: MPI.Group) -> list[int]:
        indexes, ranks = members_of(group, self.engine), self.traffic.ranks
        strangers = [one for one in indexes if one not in ranks]
        if strangers:
            name = self.engine.name_of(strangers[0])
            raise WrongArgument(Wrong.GROUP, f"{name} is not in the group of the window")
        return [ranks[one] for one in indexes]

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
                    self._flush(self._ranks_under_way())
                with steps.goes_on():
                    self.comm.Barrier()
                    is_over = True
            if not is_over:
                self._give_up()
            self._tell_conflicts("Win.Free")
        finally:
            with self.engine.lock:
                self.engine.services().close(self.members.context)
                self._losses.end()
                self.target.memory = OneMemory(memoryview(b""))
            self.comm.Free()
        steps.tell()

    def _give_up(self) -> None:
        """Let calls of all ranks fail: others would wait for ever for this one."""
        self.comm.Revoke()
