"""What is in progress in this process, and its progress: the engine without its calls.

One driver serves all communicators and all threads of a process. What it has to drive comes from
four places: connections to other clusters, the mailboxes of communicators, where native MPI and
other clusters may both have the message of a receive, collectives in progress, and requests that
the program has freed. `move` gives each of them one step. It never blocks, and whoever calls it
holds the lock.

Three kinds of threads call it. A thread that waits for something does so in `Waits`: one of
those that wait drives for all, the others sleep until it wakes them. A thread that tests a request
takes one step in `ask`. While the program computes and nobody waits, the progress thread drives. So
no operation may rely on a certain thread, and everything that a callback of the wire does
(`arrived`, `completed`, `lost`) has to be brief, since it happens with the lock held.

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
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from runtime.mpi.errors import ProcessGone
from runtime.mpi.progress.collective_mailbox import CollectiveBox
from runtime.mpi.progress.losses import Losses
from runtime.mpi.progress.mailboxes import (
    CONTEXT_BYTES,
    HEAD,
    INVITED,
    SERVED,
    Mailbox,
    Receive,
)
from runtime.mpi.progress.operations import (
    IDLE,
    POLLED,
    FarSend,
    Operation,
    Task,
    most_urgent,
)
from runtime.mpi.progress.polling import poll_native
from runtime.mpi.progress.tasks import Tasks
from runtime.topology import member_in_words

if TYPE_CHECKING:
    from runtime.mpi.progress.losses import LossHandler
    from runtime.mpi.progress.ranks import CommunicatorRanks
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.ports import PortDesk
    from runtime.services import SendRequest, ServicePort
    from runtime.wire import Incoming, Outgoing
    from runtime.wire.peer_connections import PeerConnections


class Driver:
    """What is in progress. Its lock protects it and its connections; methods take it themselves.

    In a grid of one cluster it has no connections.
    """

    def __init__(
        self,
        me: int,
        first: int,
        last: int,
        name_of: Callable[[int], str] = "process {}".format,
        process_of: Callable[[int], str] = str,
    ) -> None:
        """Drive process `me`; `first` to before `last` are in its cluster.

        `name_of` says who a process is, for messages: `rank 5 (south/cedar 3) on node7`, and
        `process_of` for programs: `0:1:3`.
        """
        self.me, self.first, self.last, self.name_of = me, first, last, name_of
        self.process_of = process_of
        self.is_alone = last - first == 1
        """Whether there is no other process in this cluster."""
        self.lock = threading.RLock()
        self.connections: PeerConnections | ReplicatedConnections | None = None
        self.losses = Losses(name_of, process_of)
        self.has_replicas = False
        """Whether this rank has several replicas."""
        self.invited: Callable[[int, bytes], None] | None = None
        """Accepts invitations of replacements of lost processes, where losses are survived."""
        self.port: ServicePort | None = None
        """Where others ask for services of this process; see `services`."""
        self._desk: PortDesk | None = None
        self.waits_begun = 0
        """How many waits there were that did not end at once."""
        # one removal, which nothing can interrupt, for each of them
        self.waiting: dict[object, None] = {}
        """The waits that go on now."""
        self.driving = 0
        """How many of them drive: none or one."""
        self._boxes: dict[tuple[bytes, bool], Mailbox] = {}
        self._past: dict[bytes, CollectiveBox] = {}
        self._tasks = Tasks()
        self._left_alone: list[Operation] = []
        self._landing: set[Receive] = set()

    def is_near(self, index: int) -> bool:
        """Return whether a process is in this cluster."""
        return self.first <= index < self.last

    def box(self, context: bytes, inner: bool) -> Mailbox:
        """Return a mailbox of a communicator: of its collectives or of programs.

        Others may have made the communicator already, and send. The lock is held.
        """
        box = self._boxes.get((context, inner))
        if box is None:
            kind = CollectiveBox if inner else Mailbox
            box = self._boxes[context, inner] = kind(self.name_of)
        return box

    def post(self, receive: Receive) -> None:
        """Post a receive; the lock is held."""
        receive.post()
        if receive.comes_from is not None:
            self._landing.add(receive)
        if not receive.done:
            self.fail_if_hopeless(receive)

    def send_recovery(self, context: bytes, index: int, tag: int, data: bytes) -> None:
        """Send a process a notice about losses, without waiting. The lock is held."""
        if self.connections is not None:
            head = HEAD.pack(context, True, self.me, tag)
            outgoing = self.connections.send(index, head, (memoryview(data),))
            if not outgoing.done:
                self.leave_alone(self.far_send(outgoing, index, index))
            self.wake()

    def shut(self, m: CommunicatorRanks) -> None:
        """End pending operations of a communicator that is closed to calls; the lock is held."""
        m.near = {}  # no call may bypass the engine into native MPI any more
        parts: list[CommunicatorRanks] = (
            [m] if m.collecting is None else [m, m.collecting.everybody]
        )
        for part in parts:
            part.recovery.closing = m.recovery.closing
            for box in (self.box(part.context, False), self.box(part.context, True)):
                for asked in list(box.matcher.pending()):
                    receive: Receive = asked.owner
                    if receive.forget():
                        receive.finish(m.recovery.error)
        self.wake()

    def listen(self) -> None:
        """Take note of what members say of collectives, also where no call waits for that.

        Whoever waits in one may ask those that have left it, or are in another one. The lock is
        held.
        """
        for box in tuple(self._boxes.values()):
            if isinstance(box, CollectiveBox) and box.has_news and box.listen is not None:
                box.listen()

    def collectives(self) -> list[Task]:
        """Return the collectives in progress, one of each communicator."""
        return self._tasks.first()

    def leave_alone(self, operation: Operation) -> None:
        """Keep a freed request and its memory until it is done."""
        with self.lock:
            if not operation.done:
                self._left_alone.append(operation)

    def wake(self) -> None:
        """Wake other threads whose waits may have ended; the lock is held."""
        if len(self.waiting) > self.driving and self.connections is not None:
            self.connections.wake()

    def poll(self) -> bool:
        """Make progress without blocking; return whether there was any."""
        with self.lock:
            moved = self.move()
            if moved:
                self.wake()
            return moved

    def ask(self) -> None:
        """Make progress for a program that tests whether something is done, perhaps repeatedly.

        Others of its cluster rely on native MPI making progress then, whatever is tested.
        """
        with self.lock:
            if not self.poll() and not self.is_alone and self.urgency == IDLE:
                poll_native()

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

    def watch(self, indexes: Iterable[int]) -> None:
        """Learn soon if one of these processes is gone."""
        with self.lock:
            for index in set(indexes):
                if self.connections is not None:
                    self.connections.watch(index)

    # --------------------------------------------------------------- callbacks of connections

    def arrived(self, incoming: Incoming) -> None:
        """Match a message of another cluster, or keep it."""
        if len(incoming.head) > HEAD.size:
            self._serve(incoming)
            return
        context, inner, rank, tag = HEAD.unpack(incoming.head)
        if tag == INVITED and self.invited is not None:
            incoming.take()
            self.invited(rank, bytes(incoming.payload or b""))
            return
        box = self._boxes.get((context, inner)) or self._past.get(context)
        box = box or self.box(context, inner)
        box.arrive(rank, tag, incoming)
        owner = incoming.owner
        if owner is not None and owner.comes_from is not None:
            self._landing.add(owner)

    def _serve(self, incoming: Incoming) -> None:
        """Hand a request to the service that it is for."""
        head = incoming.head
        self.services().arrived(head[:CONTEXT_BYTES], head[HEAD.size :], incoming)

    # --------------------------------------------------------------- services

    def services(self) -> ServicePort:
        """Return where others ask for services of this process, such as its windows.

        The lock is held.
        """
        if self.port is None:
            from runtime.ports import DESK_KEY
            from runtime.services import ServicePort

            self.port = ServicePort(self.request)
            self.port.open(DESK_KEY, self.desk)
        return self.port

    @property
    def desk(self) -> PortDesk:
        """The ports of this process."""
        if self._desk is None:
            from runtime.ports import PortDesk

            self._desk = PortDesk(self.me)
        return self._desk

    def request(self, key: bytes, send: SendRequest) -> None:
        """Send a request to a service of any process. The lock is held.

        Nobody waits for it to go: a lost receiver needs nothing.
        """
        if send.to == self.me:
            from runtime.services import BodyHere

            here = BodyHere(send.to, b"".join(send.body))
            self.services().arrived(key, send.header, here)
        elif self.connections is not None and send.to not in self.losses.gone:
            head = HEAD.pack(key, True, self.me, SERVED)
            self.connections.send(send.to, head + send.header, send.body)

    def completed(self, incoming: Incoming) -> None:
        """Record that a message is complete."""
        if incoming.owner is not None:
            self._landing.discard(incoming.owner)
            incoming.owner.landed()

    def lost(self, peer: int, why: Exception) -> None:
        """Fail the operations that cannot complete any more."""
        self.losses.add(peer, why)
        self._notify_of_loss(peer)
        for landing in [one for one in self._landing if one.comes_from == peer]:
            self._landing.discard(landing)
            landing.finish(self.losses.of(peer))
        if self.connections is None:
            return  # the program has ended here, and others may have ended before it
        if self.port is not None:
            self.port.lost(peer)
        for box in tuple(self._boxes.values()):
            for asked in box.matcher.pending():
                self.fail_if_hopeless(asked.owner)

    def _notify_of_loss(self, peer: int) -> None:
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
        """Return the identifiers, such as `0:1:3`, of the lost ranks that were not survived."""
        gone, survived = tuple(self.losses.gone), self.losses.survived
        return [self.process_of(peer) for peer in gone if peer not in survived]

    def far_send(
        self, outgoing: Outgoing, to: int, index: int, recovery: LossHandler | None = None
    ) -> FarSend:
        """Return the operation of a message to rank `to` of a communicator, process `index`."""
        return FarSend(
            outgoing,
            index,
            lambda: f"a send to {member_in_words(to, self.name_of(index))}",
            self.losses.problem,
            recovery,
        )

    def fail_if_hopeless(self, receive: Receive) -> None:
        """Fail a receive that no message can match any more."""
        if self.losses.gone and receive.asked.far and receive.comes_from is None:
            senders = receive.awaited()
            error = self.losses.among(senders, near=receive.asked.near)
            if error is not None and receive.forget():
                instead = receive.box.instead_of(receive.asked.pattern)
                if instead and isinstance(error, ProcessGone):
                    error.cause = f"{error.cause}\n{instead}"
                are_left = any(one not in self.losses.gone for one in senders)
                receive.may_go_on = are_left and not self.has_replicas
                receive.finish(error)
