"""The engine of the grid's messages: starts operations, drives them, and waits for them.

One engine serves all communicators and all threads of a process. What it has to drive comes from
four places: connections to other clusters, the mailboxes of communicators, where native MPI and
other clusters may both have the message of a receive, collectives in progress, and requests that
the program has freed. `move` gives each of them one step. It never blocks, and whoever calls it
holds the lock.

Three kinds of threads call it. A thread that waits for something does so in `wait_until`: one of
those that wait drives the engine for all, the others sleep until it tells them. A thread that
tests a request takes one step in `ask`. While the program computes and nobody waits, the progress
thread drives. So no operation may rely on a certain thread, and everything that a callback of the
wire does (`arrived`, `completed`, `lost`) has to be brief, since it happens with the lock held.

Native MPI wakes nobody, so what depends on it has to be polled, and the price of polling is the
processor time of the other ranks of this host. `urgency` says how often that is worth it: an
operation that only other clusters can end is IDLE, one that a wake-up announces is NOTIFIED,
others are POLLED. The times between two polls are in `waiting`.

A receive must be posted and a loss recorded under the same lock: a receive that is posted after
its sender was lost would otherwise wait for ever. For the same reason `shut` clears `near` of a
closed communicator: no call may reach native MPI past the engine any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.matching import Pattern
from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress import polling as politeness
from runtime.mpi.progress.collective_mailbox import CollectiveBox
from runtime.mpi.progress.landings import Fresh, InMemory
from runtime.mpi.progress.losses import Losses
from runtime.mpi.progress.mailboxes import HEAD, Mailbox, Receive, pattern_of
from runtime.mpi.progress.operations import (
    IDLE,
    POLLED,
    Failed,
    FarSend,
    Finished,
    NativeOperation,
    Operation,
    Task,
    most_urgent,
)
from runtime.mpi.progress.progress_thread import ProgressThread
from runtime.mpi.progress.recovery import INVITED, Recovery
from runtime.mpi.progress.tasks import Tasks
from runtime.mpi.progress.waiting import Waits
from runtime.topology import member_in_words

if TYPE_CHECKING:
    from runtime.machine.composition import Composition
    from runtime.matching import Envelope
    from runtime.mpi.progress.decision_points import DecisionPoints
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.mpi.progress.newcomers import Newcomers
    from runtime.mpi.progress.operations import Steps
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.mpi.values.specs import Data
    from runtime.wire import Incoming, Outgoing
    from runtime.wire.peer_connections import PeerConnections
    from runtime.wire.wake_ups import WakeUps

_SHUT = "the connections of this process are closed"

_MOST_PAST = 64
"""For how many freed communicators the results of agreements are kept."""


class Engine:
    """Drives all communication between this process and others; one per process.

    Its lock protects it and its connections; methods take it themselves. In a grid of one cluster
    it has no connections.

        engine = Engine(me=3, first=2, last=4, name_of=...)
        engine.attach(open_connections(link, engine))
    """

    def __init__(
        self,
        me: int,
        first: int,
        last: int,
        name_of: Callable[[int], str] = "process {}".format,
        process_of: Callable[[int], str] = str,
    ) -> None:
        """Make the engine of process `me`; `first` to before `last` are in its cluster.

        `name_of` says who a process is, for messages: `rank 5 (south/cedar 3) on node7`, and
        `process_of` for programs: `0:1:3`.
        """
        self.me, self.first, self.last, self.name_of = me, first, last, name_of
        self.process_of = process_of
        self.is_alone = last - first == 1
        """Whether there is no other process in this cluster."""
        self.lock = threading.RLock()
        self.connections: PeerConnections | ReplicatedConnections | None = None
        self.wake_ups: WakeUps | None = None
        """Wakes members of this cluster for which native MPI has something."""
        self.composition: Composition | None = None
        """The controllers and interceptors that the descriptor names for this rank, if any."""
        self.waits = Waits(self)
        self._progress_thread: ProgressThread | None = None
        self._boxes: dict[tuple[bytes, bool], Mailbox] = {}
        self._past: dict[bytes, CollectiveBox] = {}
        self._tasks = Tasks()
        self._left_alone: list[Operation] = []
        self._landing: set[Receive] = set()
        self.losses = Losses(name_of, process_of)
        self.newcomers: Newcomers | None = None
        """Replacements of lost processes, where losses are survived."""
        self.decisions: DecisionPoints | None = None
        """What the replicas of this rank agree on, where it has several."""

    def attach(
        self, connections: PeerConnections | ReplicatedConnections, wake_ups: WakeUps | None = None
    ) -> None:
        """Use connections whose sink is this engine; a thread drives them from now on."""
        self.connections, self.wake_ups = connections, wake_ups
        politeness.use(self)
        self._progress_thread = ProgressThread(self, connections)
        self._progress_thread.start()

    def close(self) -> None:
        """Flush messages and close connections, waiting for nobody. MPI must not be finalised."""
        if self.decisions is not None:
            self.decisions.finish()
        if self._progress_thread is not None:
            self._progress_thread.end()
            self._progress_thread = None
        politeness.use(None)
        with self.lock:
            connections, self.connections = self.connections, None
            if connections is not None:
                connections.close()

    # ------------------------------------------------------------------------- communicators

    def is_near(self, index: int) -> bool:
        """Return whether a process is in this cluster."""
        return self.first <= index < self.last

    def join(self, m: CommunicatorMembers) -> None:
        """Register a new communicator."""
        with self.lock:
            m.box = self._box(m.context, False)
            m.sought = m.box.matcher.queue
            m.box.open(m, m.native)
            box = self.collective_box(m)
            box.open(m, m.inner)
            if box.recovery is None:
                m.recovery = Recovery(m)
                box.recover_with(m.recovery)

    def leave(self, m: CommunicatorMembers) -> None:
        """Forget a communicator that is freed, and its unreceived messages."""
        with self.lock:
            if m.recovery.has_agreed:
                self._past[m.context] = self.collective_box(m)
                if len(self._past) > _MOST_PAST:
                    del self._past[next(iter(self._past))]
            for inner in (False, True):
                box = self._boxes.pop((m.context, inner), None)
                for incoming in box.drain() if box is not None else ():
                    incoming.take()

    def communicators(self) -> list[CommunicatorMembers]:
        """Return the registered communicators; the lock is held."""
        known = [box for (_, inner), box in self._boxes.items() if not inner]
        return [box.members for box in known if box.is_open]

    # ---------------------------------------------------------------------------- operations

    def send(
        self,
        m: CommunicatorMembers,
        to: int,
        tag: int,
        data: Data | Sequence[Data],
        *,
        inner: bool = False,
        sync: bool = False,
    ) -> Operation:
        """Send bytes, or several pieces as one message, to a rank of the peers.

        The memory may be used again when the operation is done. `inner` messages belong to
        collectives and never match receives of the program. With `sync` it is done when matched.
        """
        pieces: Sequence[Any] = data if isinstance(data, list | tuple) else [data]
        near = m.near.get(to)
        if m.recovery.is_closed:
            return Failed(m.recovery.error)
        if near is None:
            return self._send_far(m, to, HEAD.pack(m.context, inner, m.rank, tag), pieces, sync)
        if near == MPI.PROC_NULL:
            return Finished()
        comm = m.inner if inner else m.native
        whole = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        begin = comm.Issend if sync else comm.Isend
        return NativeOperation(begin([whole, MPI.BYTE], near, tag), None, f"a send to rank {to}")

    def receive(
        self,
        m: CommunicatorMembers,
        source: int,
        tag: int,
        into: memoryview | Landing | None,
        *,
        inner: bool = False,
    ) -> Operation:
        """Receive bytes from a rank of the peers into memory, or into `data` of the operation.

        Messages longer than the memory fail with an MPI.Exception of class ERR_TRUNCATE.
        Collectives may receive from any rank and with any tag, too.
        """
        if source == MPI.PROC_NULL:
            return Failed(m.recovery.error) if m.recovery.is_closed else Finished()
        landing: Landing
        if into is None:
            landing = Fresh()
        else:
            landing = InMemory(into) if isinstance(into, memoryview) else into
        any_source = source == MPI.ANY_SOURCE
        with self.lock:
            # With the lock held: a receive posted after all pending ones have failed would wait for
            # ever.
            if m.recovery.is_closed:
                return Failed(m.recovery.error)
            if self.decisions is not None and not inner:
                return self.decisions.receive(m, source, tag, landing)
            box = self._box(m.context, inner)
            if landing.sized and source in m.near and not box.matcher.queue:
                request = box.native.Irecv(landing.native(0), m.near[source], tag)
                return NativeOperation(request, m.rank_from, f"a message from rank {source}")
            receive = Receive(
                box,
                pattern_of(source, tag),
                landing,
                near=bool(m.rank_from) if any_source else source in m.near,
                far=not m.all_near if any_source else source not in m.near,
            )
            self.post(receive)
            return receive

    def receive_again(self, m: CommunicatorMembers, failed: Receive) -> Operation:
        """Post a receive again that a loss had ended, because others may still send."""
        with self.lock:
            if m.recovery.is_closed:
                return Failed(m.recovery.error)
            receive = failed.again()
            self.post(receive)
            return receive

    def post(self, receive: Receive) -> None:
        """Post a receive; the lock is held."""
        receive.post()
        if receive.comes_from is not None:
            self._landing.add(receive)
        if not receive.done:
            self._fail_if_hopeless(receive)

    def send_word(self, m: CommunicatorMembers, to: int, tag: int, words: bytes) -> None:
        """Send a member a notice about collectives, in this cluster too, without waiting."""
        with self.lock, suppress(ProcessGone):  # a lost member needs no notice
            self.leave_alone(self._send_far(m, to, self.head_of(m, tag), [words], False))

    def send_recovery(self, context: bytes, index: int, tag: int, data: bytes) -> None:
        """Send a process a notice about losses, without waiting. The lock is held."""
        if self.connections is not None:
            head = HEAD.pack(context, True, self.me, tag)
            outgoing = self.connections.send(index, head, (memoryview(data),))
            if not outgoing.done:
                self.leave_alone(self._far_send(outgoing, index, index))
            self._tell_waiting()

    def shut(self, m: CommunicatorMembers) -> None:
        """End pending operations of a communicator that is closed to calls; the lock is held."""
        m.near = {}  # no call may bypass the engine into native MPI any more
        parts = [m] if m.collecting is None else [m, m.collecting.everybody]
        for part in parts:
            part.recovery.closing = m.recovery.closing
            for box in (part.box, self._box(part.context, True)):
                for asked in list(box.matcher.pending()):
                    receive: Receive = asked.owner
                    if receive.forget():
                        receive.finish(m.recovery.error)
        self._tell_waiting()

    def head_of(self, m: CommunicatorMembers, tag: int) -> bytes:
        """Return the beginning of the head of this process's collective messages with a tag."""
        return HEAD.pack(m.context, True, m.rank, tag)

    def send_brief(
        self, m: CommunicatorMembers, to: int, head: bytes, data: Data
    ) -> Operation | None:
        """Send little data, which is not changed meanwhile, to a member, in this cluster too.

        Return the operation to wait for, if it cannot be sent at once. The lock is held.
        """
        index = m.peers[to]
        if self.connections is None:
            raise self.losses.problem(index, RuntimeError(_SHUT))
        outgoing = self.connections.send(index, head, (memoryview(data),))
        if outgoing.done and outgoing.error is None:
            return None
        return self._far_send(outgoing, to, index, m.recovery)

    def round_trip(self, m: CommunicatorMembers, to: int) -> float:
        """Return the shortest round trip to a member in seconds; 0 if unknown."""
        with self.lock:
            return 0.0 if self.connections is None else self.connections.round_trip(m.peers[to])

    def collective_box(self, m: CommunicatorMembers) -> CollectiveBox:
        """Return the mailbox of the collectives of a communicator."""
        with self.lock:
            box = self._box(m.context, True)
        assert isinstance(box, CollectiveBox)
        return box

    def listen(self) -> None:
        """Take note of what members say of collectives, also where no call waits for that.

        Whoever waits in one may ask those that have left it, or are in another one. The lock is
        held.
        """
        for box in tuple(self._boxes.values()):
            if isinstance(box, CollectiveBox) and box.has_news and box.listen is not None:
                box.listen()

    def receive_found(
        self, m: CommunicatorMembers, envelope: Envelope, incoming: Incoming, landing: Landing
    ) -> Operation:
        """Receive a message of another cluster that a matched probe has found."""
        with self.lock:
            receive = Receive(m.box, Pattern(*envelope), landing, near=False, far=True)
            receive.begin_far(envelope, incoming)
            if receive.comes_from is not None:
                problem = self.losses.of(incoming.source)
                if problem is None:
                    self._landing.add(receive)
                else:
                    receive.finish(problem)
            return receive

    def native(self, request: MPI.Request, what: str = "a native operation") -> Operation:
        """Return the operation of a native request."""
        return NativeOperation(request, None, what)

    def start(
        self,
        m: CommunicatorMembers,
        steps: Steps,
        what: str = "a collective",
        *,
        has_begun: bool = False,
    ) -> Task:
        """Begin a collective; those of one membership run strictly one after the other.

        `steps` is a generator of operations, or of several at once, which is resumed when they are
        done; errors are thrown into it. Its return value is the task's `result`. A task that
        `has_begun` comes before all others.
        """
        task = Task(steps, what)
        with self.lock:
            self._tasks.add(m, task, has_begun=has_begun)
            self._tell_waiting()
        return task

    def collectives(self) -> list[Task]:
        """Return the collectives in progress, one of each communicator."""
        return self._tasks.first()

    def leave_alone(self, operation: Operation) -> None:
        """Keep a freed request and its memory until it is done."""
        with self.lock:
            if not operation.done:
                self._left_alone.append(operation)

    # ------------------------------------------------------------------------------- waiting

    def wait(self, *operations: Operation) -> None:
        """Wait until all operations are done. Raises the first error."""
        self.wait_until(
            lambda: all(one.test() for one in operations),
            lambda: [one for one in operations if not one.done],
        )
        for one in operations:
            if one.error is not None:
                raise one.error

    def wait_until(
        self, ready: Callable[[], bool], operations: Callable[[], Sequence[Operation]]
    ) -> None:
        """Wait until `ready` returns true, which is called with the lock held after each step.

        `operations` are those that it depends on.
        """
        self.waits.wait(ready, operations)

    def poll(self) -> bool:
        """Make progress without blocking; return whether there was any."""
        with self.lock:
            moved = self.move()
            if moved:
                self._tell_waiting()
            return moved

    def ask(self) -> None:
        """Make progress for a program that tests whether something is done, perhaps repeatedly.

        Others of its cluster rely on native MPI making progress then, whatever is tested.
        """
        with self.lock:
            if not self.poll() and not self.is_alone and self.urgency == IDLE:
                politeness.ask_native()

    def move(self) -> bool:
        """Do what `poll` does with the lock held, without waking other waiting threads."""
        moved = self.connections.progress() if self.connections is not None else False
        for box in tuple(self._boxes.values()):
            if box.matcher.queue:
                moved |= box.matcher.look()
        moved |= self._tasks.advance()
        if self._left_alone:
            self._left_alone = [one for one in self._left_alone if not one.test()]
        return moved

    @property
    def is_quiet(self) -> bool:
        """Whether nothing but incoming messages can make progress; the lock is held."""
        if self._tasks.queues or self._left_alone:
            return False
        for box in self._boxes.values():  # noqa: SIM110 - a generator costs more than all of it
            if box.matcher.queue:
                return False
        return True

    @property
    def urgency(self) -> int:
        """How urgently native MPI has to be polled for pending operations."""
        for box in tuple(self._boxes.values()):
            if box.matcher.queue:
                return POLLED
        return max(self._tasks.urgency, most_urgent(tuple(self._left_alone)))

    def attend(self) -> None:
        """Make progress meanwhile with what was begun, which may need native MPI."""
        if self._progress_thread is not None:
            self._progress_thread.attend()

    def waiting_for(self) -> list[str]:
        """Describe what the threads of this process wait for that sleep in `wait` now."""
        return self.waits.describe()

    def watch(self, indexes: Iterable[int]) -> None:
        """Learn soon if one of these processes is gone."""
        with self.lock:
            for index in set(indexes):
                if self.connections is not None:
                    self.connections.watch(index)

    # --------------------------------------------------------------- callbacks of connections

    def arrived(self, incoming: Incoming) -> None:
        """Match a message of another cluster, or keep it."""
        context, inner, rank, tag = HEAD.unpack(incoming.head)
        if tag == INVITED and self.newcomers is not None:
            incoming.take()
            self.newcomers.invited(bytes(incoming.payload or b""))
            return
        box = self._boxes.get((context, inner)) or self._past.get(context)
        box = box or self._box(context, inner)
        box.arrive(rank, tag, incoming)
        owner = incoming.owner
        if owner is not None and owner.comes_from is not None:
            self._landing.add(owner)

    def completed(self, incoming: Incoming) -> None:
        """Record that a message is complete."""
        if incoming.owner is not None:
            self._landing.discard(incoming.owner)
            incoming.owner.landed()

    def lost(self, peer: int, why: Exception) -> None:
        """Fail the operations that cannot complete any more."""
        self.losses.add(peer, why)
        self._tell_recoveries(peer)
        for landing in [one for one in self._landing if one.comes_from == peer]:
            self._landing.discard(landing)
            landing.finish(self.losses.of(peer))
        if self.connections is None:
            return  # the program has ended here, and others may have ended before it
        for box in tuple(self._boxes.values()):
            for asked in box.matcher.pending():
                self._fail_if_hopeless(asked.owner)

    def _tell_recoveries(self, peer: int) -> None:
        """Tell communicators of a loss before any call fails: it may have to end the run."""
        if self.connections is None:
            return
        for box in (*self._boxes.values(), *self._past.values()):
            if isinstance(box, CollectiveBox) and box.recovery is not None:
                box.recovery.lost(peer)

    def intercepted(self) -> list[str]:
        """Return the messages of this process that interceptors hold back or have dropped."""
        return [] if self.connections is None else self.connections.intercepted()

    def interceptors_of(self, peer: int) -> list[str]:
        """Describe the interceptors between this process and another, and their effects.

        Each is one phrase, for explanations of why a message does not arrive.
        """
        connections = self.connections
        return [] if connections is None else connections.interceptors_of(peer)

    def names_of_gone(self) -> list[str]:
        """Return the identifiers of the lost ranks, such as `0:1:3`."""
        return [self.process_of(peer) for peer in tuple(self.losses.gone)]

    def hopeless(self, senders: Sequence[int], *, near: bool) -> Exception | None:
        """Return why none of these can send any more; `near`: others of the cluster may."""
        return self.losses.among(senders, near=near)

    # ------------------------------------------------------------------------------ its parts

    def _box(self, context: bytes, inner: bool) -> Mailbox:
        box = self._boxes.get((context, inner))
        if box is None:
            kind = CollectiveBox if inner else Mailbox
            box = self._boxes[context, inner] = kind(self.name_of)
        return box

    def _send_far(
        self, m: CommunicatorMembers, to: int, head: bytes, pieces: Sequence[Any], sync: bool
    ) -> Operation:
        index = m.peers[to]
        views = [one if isinstance(one, memoryview) else memoryview(one) for one in pieces]
        with self.lock:
            if self.connections is None:
                raise self.losses.problem(index, RuntimeError(_SHUT))
            outgoing = self.connections.send(index, head, views, sync=sync)
            self._tell_waiting()
            if outgoing.done and outgoing.error is None:
                return Finished(MPI.ANY_SOURCE)
            sent = self._far_send(outgoing, to, index, m.recovery)
            sent.test()
            return sent

    def _far_send(
        self, outgoing: Outgoing, to: int, index: int, recovery: Recovery | None = None
    ) -> FarSend:
        return FarSend(
            outgoing,
            index,
            lambda: f"a send to {member_in_words(to, self.name_of(index))}",
            self.losses.problem,
            recovery,
        )

    def wake(self) -> None:
        """Make waits check again: something other than a message has changed; the lock is held."""
        self._tell_waiting()

    def _tell_waiting(self) -> None:
        """Wake other threads whose operations this one may have completed."""
        if self.waits.going_on > self.waits.driving and self.connections is not None:
            self.connections.wake()

    def _fail_if_hopeless(self, receive: Receive) -> None:
        """Fail a receive that no message can match any more."""
        if self.losses.gone and receive.asked.far and receive.comes_from is None:
            senders = receive.awaited()
            error = self.losses.among(senders, near=receive.asked.near)
            if error is not None and receive.forget():
                instead = receive.box.instead_of(receive.asked.pattern)
                if instead and isinstance(error, ProcessGone):
                    error.cause = f"{error.cause}\n{instead}"
                are_left = any(one not in self.losses.gone for one in senders)
                receive.may_go_on = are_left and self.decisions is None
                receive.finish(error)
