"""The engine of the grid's messages: starts operations and waits for them.

It is the `Driver` of a process with the calls of communicators. A communicator knows its engine;
the engine knows of a communicator who its members are, and where their messages wait.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.matching import Pattern
from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress.collective_mailbox import CollectiveBox
from runtime.mpi.progress.driver import Driver
from runtime.mpi.progress.landings import Fresh, InMemory
from runtime.mpi.progress.mailboxes import HEAD, Receive, pattern_of
from runtime.mpi.progress.operations import Failed, Finished, NativeOperation, Operation, Task
from runtime.mpi.progress.polling import usual_poll
from runtime.mpi.progress.progress_thread import ProgressThread
from runtime.mpi.progress.waiting import Waits

if TYPE_CHECKING:
    from runtime.machine.composition import Composition
    from runtime.matching import Envelope
    from runtime.mpi.progress.component_calls import ComponentCalls
    from runtime.mpi.progress.decision_points import DecisionPoints
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.newcomers import Newcomers
    from runtime.mpi.progress.operations import Steps
    from runtime.mpi.progress.ranks import CommunicatorRanks
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.mpi.values.specs import Data
    from runtime.wire import Incoming
    from runtime.wire.peer_connections import PeerConnections
    from runtime.wire.wake_ups import WakeUps

_SHUT = "the connections of this process are closed"

_MOST_PAST = 64
"""For how many freed communicators the results of agreements are kept."""


class Engine(Driver):
    """Carries all communication between this process and others; one per process.

    engine = Engine(me=3, first=2, last=4, name_of=...)
    engine.attach(open_connections(link, engine))
    """

    wake_ups: WakeUps | None = None
    """Wakes members of this cluster for which native MPI has something."""
    composition: Composition | None = None
    """The controllers and interceptors that the descriptor names for this rank, if any."""
    components: ComponentCalls | None = None
    """Collectives that the components of the machine carry out, where plans may say so."""
    newcomers: Newcomers | None = None
    """Replacements of lost processes, where losses are survived."""
    decisions: DecisionPoints | None = None
    """What the replicas of this rank agree on, where it has several."""
    unsent: Mapping[int, Sequence[tuple[bytes, int]]] = MappingProxyType({})
    """Heads and sizes of messages that nobody has got when the connections were closed."""
    _progress_thread: ProgressThread | None = None

    @cached_property
    def waits(self) -> Waits:
        """How threads wait."""
        return Waits(self)

    def attach(
        self, connections: PeerConnections | ReplicatedConnections, wake_ups: WakeUps | None = None
    ) -> None:
        """Use connections whose sink is this engine; a thread drives them from now on."""
        self.connections, self.wake_ups = connections, wake_ups
        usual_poll()  # nothing moves yet
        self._progress_thread = ProgressThread(self, connections)
        self._progress_thread.start()

    def close(self) -> None:
        """Flush messages and close connections, waiting for nobody. MPI must not be finalised."""
        if self.decisions is not None:
            self.decisions.finish()
        if self._progress_thread is not None:
            self._progress_thread.end()
            self._progress_thread = None
        with self.lock:
            connections, self.connections = self.connections, None
            if connections is not None:
                for box in self._boxes.values():
                    if isinstance(box, CollectiveBox):
                        box.shut()
                connections.close()
                self.unsent = connections.unsent()

    def attend(self) -> None:
        """Make progress meanwhile with what was begun, which may need native MPI."""
        if self._progress_thread is not None:
            self._progress_thread.attend()

    # ------------------------------------------------------------------------- communicators

    def join(self, m: CommunicatorRanks) -> None:
        """Register a new communicator; see `membership.join`."""
        with self.lock:
            self.box(m.context, False).open(m, m.native)
            self.box(m.context, True).open(m, m.inner)

    def leave(self, m: CommunicatorRanks) -> None:
        """Forget a communicator that is freed, and its unreceived messages."""
        with self.lock:
            if m.recovery.has_agreed:
                self._past[m.context] = self.collective_box(m)
                if len(self._past) > _MOST_PAST:
                    del self._past[next(iter(self._past))]
            for inner in (False, True):
                self._close_box(m.context, inner)

    def close_box(self, context: bytes) -> None:
        """Forget the messages of the runtime with a context of their own."""
        with self.lock:
            self._close_box(context, True)

    def _close_box(self, context: bytes, inner: bool) -> None:
        box = self._boxes.pop((context, inner), None)
        for incoming in box.drain() if box is not None else ():
            incoming.take()

    def communicators(self) -> list[CommunicatorRanks]:
        """Return the registered communicators; the lock is held."""
        known = [box for (_, inner), box in self._boxes.items() if not inner]
        return [box.members for box in known if box.is_open]

    def collective_box(self, m: CommunicatorRanks) -> CollectiveBox:
        """Return the mailbox of the collectives of a communicator."""
        with self.lock:
            box = self.box(m.context, True)
        assert isinstance(box, CollectiveBox)
        return box

    # ---------------------------------------------------------------------------- operations

    def send(
        self,
        m: CommunicatorRanks,
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
        m: CommunicatorRanks,
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
            box = self.box(m.context, inner)
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

    def receive_again(self, m: CommunicatorRanks, failed: Receive) -> Operation:
        """Post a receive again that a loss had ended, because others may still send."""
        with self.lock:
            if m.recovery.is_closed:
                return Failed(m.recovery.error)
            receive = failed.again()
            self.post(receive)
            return receive

    def receive_found(
        self, m: CommunicatorRanks, envelope: Envelope, incoming: Incoming, landing: Landing
    ) -> Operation:
        """Receive a message of another cluster that a matched probe has found."""
        with self.lock:
            receive = Receive(
                self.box(m.context, False), Pattern(*envelope), landing, near=False, far=True
            )
            receive.begin_far(envelope, incoming)
            if receive.comes_from is not None:
                problem = self.losses.of(incoming.source)
                if problem is None:
                    self._landing.add(receive)
                else:
                    receive.finish(problem)
            return receive

    def send_notice(self, m: CommunicatorRanks, to: int, tag: int, words: bytes) -> None:
        """Send a member a notice about collectives, in this cluster too, without waiting."""
        with self.lock, suppress(ProcessGone):  # a lost member needs no notice
            self.leave_alone(self._send_far(m, to, self.head_of(m, tag), [words], False))

    def head_of(self, m: CommunicatorRanks, tag: int) -> bytes:
        """Return the beginning of the head of this process's collective messages with a tag."""
        return HEAD.pack(m.context, True, m.rank, tag)

    def send_brief(
        self, m: CommunicatorRanks, to: int, head: bytes, data: Data
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
        return self.far_send(outgoing, to, index, m.recovery)

    def round_trip(self, m: CommunicatorRanks, to: int) -> float:
        """Return the shortest round trip to a member in seconds; 0 if unknown."""
        with self.lock:
            return 0.0 if self.connections is None else self.connections.round_trip(m.peers[to])

    def start(
        self,
        m: CommunicatorRanks,
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
            self.wake()
        return task

    def _send_far(
        self, m: CommunicatorRanks, to: int, head: bytes, pieces: Sequence[Any], sync: bool
    ) -> Operation:
        index = m.peers[to]
        views = [one if isinstance(one, memoryview) else memoryview(one) for one in pieces]
        with self.lock:
            if self.connections is None:
                raise self.losses.problem(index, RuntimeError(_SHUT))
            outgoing = self.connections.send(index, head, views, sync=sync)
            self.wake()
            if outgoing.done and outgoing.error is None:
                return Finished(MPI.ANY_SOURCE)
            sent = self.far_send(outgoing, to, index, m.recovery)
            sent.test()
            return sent
