"""Messages between ranks that have several replicas; loaded only in such a run.

The engine sees ranks, the connections below see processes. This layer sends each message to all
replicas of its receiver, or keeps it, as the core of the replication decides, and delivers a
message that comes from any replica of a sender once.
"""

from __future__ import annotations

import marshal
import struct
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from runtime.mpi.errors import NotJoined
from runtime.mpi.progress.mailboxes import HEAD
from runtime.mpi.progress.replicated_messages import (
    CopyMemory,
    ReplicatedInbox,
    ReplicatedIncoming,
    ReplicatedSending,
)
from runtime.replicas.core import Replication
from runtime.replicas.effects import Drop, Keep, Tell, Transmit
from runtime.wire import SENT, Incoming, Outgoing, PeerLeft

if TYPE_CHECKING:
    from runtime.replicas.effects import Effect
    from runtime.replicas.table import ReplicaTable
    from runtime.wire import MessageSink
    from runtime.wire.peer_connections import PeerConnections

TAIL = struct.Struct("<i?q")
"""What follows the head of a message.

How often others had joined when the program sent it, whether it has a number in its stream, and
which.
"""

_WHOLE = struct.Struct(HEAD.format + TAIL.format[1:])

ACKNOWLEDGE_TIMEOUT = 50e-3
"""Seconds for which acknowledgements are delayed while there are few of them."""

_FOR_CORE = HEAD.pack(bytes(8), True, 0, 0)
"""How notices from core to core begin; no communicator has this context."""

_FOR_NEWCOMER = HEAD.pack(bytes(8), True, 0, 1)
"""How what a replica begins that is given to one that joins it."""


class ReplicatedConnections:
    """Connections between ranks, over those of processes; the lock of the engine protects both.

    `heard` is called with each effect of the core on decisions.

        connections = ReplicatedConnections(process, table, engine)
        connections.stand_on(open_connections(link, connections))
        engine.attach(connections)
    """

    below: PeerConnections
    is_joining = False
    """Whether this process was started again, and has not joined the others yet."""
    take: Callable[[bytes], None] | None = None
    """Takes what another replica of this rank gives to one that joins."""

    def __init__(
        self,
        process: int,
        ranks: Sequence[int],
        table: ReplicaTable,
        sink: MessageSink,
        *,
        restarts: bool = False,
    ) -> None:
        """Be a process of a rank; `ranks` are those of all processes that are known.

        The ones of the table are replicas from the beginning. `sink` is told what concerns ranks.
        With `restarts` others take the places of lost ones, of which this process may be one.
        """
        self.process, self.table = process, table
        self._ranks = list(ranks)
        self.rank = ranks[process]
        everybody = [table.processes_of(rank) for rank in range(table.ranks)]
        is_late = process >= table.size
        if is_late:
            everybody[self.rank] += (process,)  # until it has joined
        self.core = Replication(process, everybody, restarts=restarts)
        self._first_epoch = 0
        self.heard: Callable[[Effect], None] = lambda _: None
        self._sink = sink
        self._inbox = ReplicatedInbox(sink.arrived, sink.completed, self._is_here)
        self._open: list[ReplicatedSending] = []
        self._memory = CopyMemory()
        self.gone: dict[int, Exception] = {}
        """The processes that are lost, and why."""
        self._is_redundant = False
        """Whether another replica of this rank has ended: everything it had to send is sent."""
        self._is_busy = is_late
        self._later: deque[Callable[[], None]] = deque()
        self._unsaid_since: float | None = None

    def stand_on(self, below: PeerConnections) -> None:
        """Use the connections of this process, whose sink this is."""
        self.below = below

    # --- what the engine calls --------------------------------------------------------------------

    def send(
        self, to: int, head: bytes, payload: Sequence[memoryview] = (), *, sync: bool = False
    ) -> Outgoing:
        """Start to send a message to a rank; see `PeerConnections.send`."""
        context, inner, _, tag = HEAD.unpack(head)
        if tag < 0:  # a notice about calls: its time and number differ from replica to replica
            return self._remark(to, head, payload)
        self.check_has_joined()
        core = self.core
        sending = ReplicatedSending(to, head, core.epoch, payload, sync)
        if not (core.processes_of(to) or self._lives(to)):
            self._fail(sending)
            return sending
        stream = (context, inner, core.epoch), self.rank, to, -1 if inner else tag
        _, effects = core.send(stream, sending, sending.size)
        if effects:
            self.carry_out(effects)
        if not (sending.done or sending.look()):
            self._open.append(sending)
        return sending

    def _remark(self, to: int, head: bytes, payload: Sequence[memoryview]) -> Outgoing:
        if self.core.leads:
            head += TAIL.pack(0, False, 0)
            copy = [memoryview(b"".join(payload))]
            for process in self.core.processes_of(to):
                self.below.send(process, head, copy)
        return SENT

    def progress(self) -> bool:
        """Read and write without blocking; return whether anything happened."""
        happened = self.below.progress()
        if self._open:
            self._open = [one for one in self._open if not one.look()]
        if answer := self.core.answer():
            self.carry_out(answer)
        if self.core.has_to_acknowledge:
            self._acknowledge_in_time()
        return happened

    def _acknowledge_in_time(self) -> None:
        """Acknowledge what arrived a while ago: each acknowledgement wakes another process up."""
        now = time.monotonic()
        if self._unsaid_since is None:
            self._unsaid_since = now
        elif now - self._unsaid_since >= ACKNOWLEDGE_TIMEOUT:
            self._unsaid_since = None
            self.carry_out(self.core.acknowledge())

    def ready(self, timeout: float | None) -> bool:
        """Sleep until `progress` has something to do or `wake` is called; False after `timeout`."""
        if self.core.has_to_acknowledge:
            timeout = ACKNOWLEDGE_TIMEOUT if timeout is None else min(timeout, ACKNOWLEDGE_TIMEOUT)
        return self.below.ready(timeout)

    def wake(self) -> None:
        """Make all threads that sleep in `ready` return, or the next one; thread-safe."""
        self.below.wake()

    def watch(self, rank: int) -> None:
        """Ensure that the loss of a rank is noticed."""
        for process in self.core.processes_of(rank):
            self.below.watch(process)

    def is_near(self, rank: int) -> bool:
        """Return whether a rank is on this machine, in a way that is the same at all replicas."""
        return rank == self.rank

    def share_a_machine(self, ranks: Sequence[int]) -> bool:
        """Return whether some ranks are on one machine, as all their replicas would say."""
        return len(set(ranks)) <= 1

    def round_trip(self, rank: int) -> float:  # noqa: ARG002 - others know it
        """Return 0: what depends on it would differ from replica to replica."""
        return 0.0

    def intercepted(self) -> list[str]:
        """Return the messages that interceptors hold back or have dropped."""
        return self.below.intercepted()

    def interceptors_of(self, rank: int) -> list[str]:
        """Return the interceptors in the ports to the replicas of a rank."""
        found = (self.below.interceptors_of(one) for one in self.core.processes_of(rank))
        return [word for words in found for word in words]

    def unsent(self) -> Mapping[int, Sequence[tuple[bytes, int]]]:
        """Return nothing: a message to a rank may have gone to another of its processes."""
        return {}

    def close(self, timeout: float | None = None) -> None:
        """Flush messages, say goodbye, and close."""
        self.carry_out([*self.core.answer(), *self.core.acknowledge()])
        self.below.close(timeout)

    # --- callbacks of the connections below -------------------------------------------------------

    def arrived(self, incoming: Incoming) -> None:
        """Handle a message from a process."""
        if incoming.head == _FOR_NEWCOMER:
            incoming.take()
            if self.rank_of(incoming.source) != self.rank:
                return  # only another replica of this rank can know its state
            incoming.owner = self._take_what_is_given
            if incoming.done:
                self._take_what_is_given(incoming)
            return
        if self._is_busy:
            if incoming.is_lent:
                incoming.keep()
            self._later.append(partial(self._arrived, incoming))
            return
        self._arrived(incoming)
        if self._later:
            self._catch_up()

    def completed(self, incoming: Incoming) -> None:
        """Record that a message of a process is complete."""
        if incoming.owner == self._take_what_is_given:
            self._take_what_is_given(incoming)
            return
        self.when_idle(partial(self._completed, incoming))

    def lost(self, process: int, why: Exception) -> None:
        """Continue without a process."""
        self.gone[process] = why
        self.when_idle(partial(self._lost, process, why))

    def _arrived(self, incoming: Incoming) -> None:
        process, head = incoming.source, incoming.head
        incoming.source = source = self._ranks[process]
        if head == _FOR_CORE:
            if incoming.came == incoming.size:
                word = marshal.loads(incoming.payload or b"")
                incoming.take()
                self.carry_out(self.core.hear(process, word))
            else:
                incoming.owner = partial(self._hear, process)
                incoming.take()
            return
        context, inner, _, tag, epoch, has_number, number = _WHOLE.unpack(head)
        incoming.head = head[: HEAD.size]
        if not has_number:
            self._sink.arrived(incoming)
            return
        if epoch < self._first_epoch:
            incoming.take()
            self.carry_out(self.core.arrived(process, incoming.size))
            return
        stream = (context, inner, epoch), source, self.rank, -1 if inner else tag
        is_new = self.core.is_new(process, stream, number)
        self._inbox.arrived(process, stream, number, incoming, is_new)

    def _completed(self, incoming: Incoming) -> None:
        owner = incoming.owner
        if isinstance(owner, partial):
            owner(marshal.loads(incoming.payload or b""))
        elif isinstance(owner, ReplicatedIncoming):
            if owner.land():
                self._sink.completed(owner)
        else:
            self._sink.completed(incoming)

    def _take_what_is_given(self, incoming: Incoming) -> None:
        if self.take is not None:
            self.take(bytes(incoming.payload or b""))

    def _hear(self, process: int, word: tuple[Any, ...]) -> None:
        self.carry_out(self.core.hear(process, word))

    def _is_here(self, process: int, size: int, is_awaited: bool) -> None:
        """Tell the core that a message is here for good; a replica may wait for that."""
        effects = self.core.arrived(process, size)
        if is_awaited:
            effects += self.core.acknowledge()
        if effects:
            self.carry_out(effects)

    def _lost(self, process: int, why: Exception) -> None:
        rank = self._ranks[process]
        self._is_redundant |= rank == self.rank and isinstance(why, PeerLeft)
        self._inbox.lost(process)
        self.carry_out(self.core.lost(process))
        if not self._lives(rank):
            for sending in self._open:
                if sending.to == rank:
                    self._fail(sending)
            self._sink.lost(rank, self._why(rank))

    def _fail(self, sending: ReplicatedSending) -> None:
        """Fail messages without a receiver, an error only of the replica that would transmit.

        A replica that is behind may still send what its master had sent before the receiver ended.
        """
        sending.done = True
        why = self._why(sending.to)
        is_behind = any(self._ranks[one] == self.rank for one in self.gone)
        was_received = is_behind and isinstance(why, PeerLeft)
        if self.core.leads and not (self._is_redundant or was_received):
            sending.error = why

    def _why(self, rank: int) -> Exception:
        """Return how a rank has ended: well if one of its replicas has."""
        whys = [why for one, why in self.gone.items() if self._ranks[one] == rank]
        return next((one for one in whys if isinstance(one, PeerLeft)), whys[-1])

    def _lives(self, rank: int) -> bool:
        """Return whether a process of a rank is left; what it was given may be on its way."""
        if self.core.processes_of(rank):
            return True
        late = range(self.table.size, len(self._ranks))
        return any(self._ranks[one] == rank and one not in self.gone for one in late)

    # --- processes that join ----------------------------------------------------------------------

    def rank_of(self, process: int) -> int:
        """Return which rank a process has, or is to have."""
        return self._ranks[process]

    def know(self, rank: int) -> None:
        """Know one more process, which has been started for a rank."""
        self._ranks.append(rank)

    def give(self, process: int, *given: bytes) -> None:
        """Give something to a process that joins the replicas of this rank."""
        self.below.send(process, _FOR_NEWCOMER, [memoryview(one) for one in given])

    def take_over(self, handed: tuple[Any, ...]) -> None:
        """Go on where another replica of this rank is, with all that has come meanwhile."""
        self.core = Replication.take_over(self.process, handed)
        self._first_epoch = self.core.epoch
        self._is_busy = False
        self._catch_up()

    def check_has_joined(self) -> None:
        """Refuse what a process wants that was started again and has not joined yet.

        Raises:
            NotJoined: it is one.
        """
        if self.is_joining:
            raise NotJoined

    # --- the core ---------------------------------------------------------------------------------

    def carry_out(self, effects: Iterable[Effect]) -> None:
        """Carry out effects; those caused meanwhile follow afterwards."""
        was_busy, self._is_busy = self._is_busy, True
        try:
            for effect in effects:
                self._carry_out_one(effect)
        finally:
            self._is_busy = was_busy
        self._catch_up()

    def _carry_out_one(self, effect: Effect) -> None:
        if isinstance(effect, Transmit):
            sending = effect.message
            head = sending.head + TAIL.pack(sending.epoch, True, effect.number)
            for process in effect.to:
                part = self.below.send(process, head, sending.payload, sync=sending.sync)
                if not part.done:
                    sending.await_part(part)
            sending.is_transmitted = True
        elif isinstance(effect, Keep):
            effect.message.keep(self._memory)
        elif isinstance(effect, Drop):
            effect.message.drop(self._memory)
        elif isinstance(effect, Tell):
            self.below.send(effect.to, _FOR_CORE, (memoryview(marshal.dumps(effect.word)),))
        else:
            self.heard(effect)

    def when_idle(self, call: Callable[[], None]) -> None:
        """Call something now, or after the effects that are being carried out."""
        if self._is_busy:
            self._later.append(call)
        else:
            call()
            self._catch_up()

    def _catch_up(self) -> None:
        while self._later and not self._is_busy:
            self._later.popleft()()
