"""Interceptors in the ports by which ranks exchange messages; loaded only where some are named.

The port to a peer is composed once, before the first message of the pair. Without interceptors
messages go straight to the connections. Both ends compose it from the same list; sent messages pass
it in the order as written, received ones in the opposite order.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from runtime.machine.composition import Composition, CompositionError, Named
from runtime.machine.interceptors import DROP, PAYLOADS, MessageEnvelope
from runtime.mpi.progress.mailboxes import HEAD
from runtime.rank_name import RankName
from runtime.topology import NO_NAMES, RankNames
from runtime.wire import SENT, Incoming, MessageSink, Outgoing
from runtime.wire.peer_connections import PeerConnections

COPIED = 2048
"""Held messages of up to this size are copied, so that their senders can continue."""


class InterceptorInPort:
    """One interceptor in one port, and what it has done to messages."""

    def __init__(self, named: Named, interceptor: Any) -> None:
        self.named, self.interceptor = named, interceptor
        self.changes = interceptor.looks_at == PAYLOADS
        self.sending: Any = getattr(interceptor, "sending", None)
        self.received: Any = getattr(interceptor, "received", None)
        self.dropped = self.held = 0

    def describe(self) -> str:
        """Describe the interceptor, and what it holds back now or has dropped."""
        done = [f"holds {_messages(self.held)}"] if self.held else []
        done += [f"has dropped {_messages(self.dropped)}"] if self.dropped else []
        return f"{self.named} {' and '.join(done)}" if done else str(self.named)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


class Held:
    """A message that is sent later."""

    def __init__(
        self,
        due: float,
        head: bytes,
        payload: Sequence[memoryview],
        sync: bool,
        links: list[InterceptorInPort],
    ) -> None:
        self.due, self.head, self.payload, self.sync, self.links = due, head, payload, sync, links
        self.outgoing = SENT
        if not sync and sum(map(len, payload)) <= COPIED:
            self.payload = [memoryview(b"".join(payload))]
        else:
            self.outgoing = Outgoing()


class Port:
    """The interceptors between this rank and one peer, and the messages that wait there."""

    def __init__(
        self, links: list[InterceptorInPort], me: str, peer: str, forward: Callable[..., Outgoing]
    ) -> None:
        self.links = links
        self.back = links[::-1]
        self.me, self.peer = me, peer
        self.held: deque[Held] = deque()
        self.link = links[0]
        """The interceptor being called, for errors."""
        self.fail: Callable[[Exception], None] = _fail_nobody
        """The last interceptor called when a payload cannot be restored."""
        self._forward = forward
        changing = [link for link in links if link.changes]
        self.changing_back = changing[::-1]
        self.sizes = struct.Struct(f"<{len(changing)}q")
        """The end of a head: the payload's size before each interceptor that changes it."""

    def send(
        self, head: bytes, payload: Sequence[memoryview], sync: bool, now: Callable[[], float]
    ) -> Outgoing:
        """Send a message, or hold it, or drop it; raises what interceptors raise.

        Notices about losses and mismatched calls are no messages of the program and bypass
        interceptors; otherwise calls that should fail would never end.
        """
        _, inner, _, tag = HEAD.unpack_from(head)
        if tag < 0:
            return self._forward(head, payload, sync)
        envelope = MessageEnvelope(self.me, self.peer, sum(map(len, payload)), tag, inner)
        sizes, delay, holding = [], 0.0, []
        for link in self.links:
            self.link = link
            if link.changes:
                sizes.append(envelope.size)
                changed = link.sending(envelope, memoryview(b"".join(payload)))
                payload = [memoryview(changed).cast("B")]
                envelope.size = len(payload[0])
            elif link.sending is not None:
                answer = link.sending(envelope)
                if answer is DROP:
                    link.dropped += 1
                    return Outgoing() if sync else SENT
                if answer:
                    delay += answer
                    holding.append(link)
        if sizes:
            head += self.sizes.pack(*sizes)
        if not delay and not self.held:
            return self._forward(head, payload, sync)
        due = max(now() + delay, self.held[-1].due if self.held else 0.0)
        held = Held(due, head, payload, sync, holding)
        self.held.append(held)
        for link in holding:
            link.held += 1
        return held.outgoing

    def release(self, now: float) -> list[tuple[Outgoing, Outgoing]]:
        """Send what is due; return what was sent, with what its sender holds if it waits."""
        followed = []
        while self.held and self.held[0].due <= now:
            held = self.held.popleft()
            for link in held.links:
                link.held -= 1
            sent = self._forward(held.head, held.payload, held.sync)
            if held.outgoing is not SENT:
                followed.append((sent, held.outgoing))
        return followed

    def arrived(self, incoming: Incoming) -> Incoming:
        """Return a message as the receiver gets it; raises what interceptors raise."""
        own, head = self.sizes.size, incoming.head
        _, inner, _, tag = HEAD.unpack_from(head)
        if tag < 0:
            return incoming
        sizes: list[int] = []
        if own:
            sizes, head = list(self.sizes.unpack_from(head, len(head) - own)), head[:-own]
        envelope = MessageEnvelope(self.peer, self.me, incoming.size, tag, inner)
        left = sizes[:] if own else sizes
        for link in self.back:
            self.link = link
            if link.changes:
                envelope.size = left.pop()
            elif link.received is not None:
                link.received(envelope)
        return Restored(incoming, head, sizes, self, envelope) if own else incoming

    def restored(self, envelope: MessageEnvelope, payload: Any, sizes: Sequence[int]) -> bytearray:
        """Return the original payload of a received one; raises what interceptors raise."""
        for link, size in zip(self.changing_back, reversed(sizes), strict=True):
            self.link = link
            payload = link.received(envelope, memoryview(payload))
            if len(payload) != size:
                raise ValueError(f"{len(payload)} bytes come back of {size} that were sent")
        return payload if isinstance(payload, bytearray) else bytearray(payload)


class Restored(Incoming):
    """A message whose payload is restored once it is complete."""

    __slots__ = ("_buffer", "_envelope", "_port", "_sizes", "_travelled")

    def __init__(
        self,
        travelled: Incoming,
        head: bytes,
        sizes: Sequence[int],
        port: Port,
        envelope: MessageEnvelope,
    ) -> None:
        super().__init__(
            travelled.source, head, sizes[0], travelled.number, self, asks=travelled.asks
        )
        self._travelled, self._sizes, self._port, self._envelope = travelled, sizes, port, envelope
        self._buffer: memoryview | None = None
        travelled.owner = self

    def matched(self, incoming: Incoming) -> None:
        """Let the message as sent over the wire land."""
        self.done = False  # nor is an empty one done before the transmitted payload has arrived
        self._buffer = incoming.payload
        self._travelled.take()
        if self._travelled.done:
            self.restore()

    def restore(self) -> None:
        """Restore the payload; it stays incomplete where that fails."""
        travelled = self._travelled
        travelled.owner = None
        travelling, travelled.payload = travelled.payload or b"", None
        try:
            data = memoryview(self._port.restored(self._envelope, travelling, self._sizes))
        except Exception as error:
            self._port.fail(error)
            return
        if self._buffer is None:
            self.payload = data
        else:
            self._buffer[:] = data
            self.payload = self._buffer
        self.done = True


def _fail_nobody(error: Exception) -> None:
    raise error


class Ports:
    """The interceptors of all ports; they are made at once, so that errors show early.

    `places` maps peers to ranks of the machine, `names` names these in messages.

    Raises:
        CompositionError: a class cannot be found, does not fulfil its contract, or raises.
    """

    def __init__(
        self,
        composition: Composition,
        places: Sequence[RankName],
        me: int,
        names: RankNames = NO_NAMES,
    ) -> None:
        self._composition, self._places = composition, places
        self.names = names
        self._here = self._cluster_of(me)
        others = {self._cluster_of(index) for index in range(len(places))}
        wanted = [named for one in others for named in composition.interceptors(self._here, one)]
        self._made = {named: composition.make(named) for named in dict.fromkeys(wanted)}

    def _cluster_of(self, peer: int) -> tuple[int, int]:
        place = self._places[peer]
        return place.site, place.number

    def links(self, peer: int) -> list[InterceptorInPort]:
        """Return the interceptors in the port to a peer."""
        found = self._composition.interceptors(self._here, self._cluster_of(peer))
        return [InterceptorInPort(named, self._made[named]) for named in found]

    def name_of(self, peer: int) -> str:
        """Return the name of a rank in envelopes."""
        return str(self._places[peer])

    def raised(self, error: Exception, port: Port) -> CompositionError:
        """Return the error to raise for an error of an interceptor in a port."""
        return self._composition.raised([port.link.named], error)


class InterceptedConnections(PeerConnections):
    """Connections with interceptors in the ports to peers.

    Once one has raised for a received message, nothing is received any more, and each `progress`
    raises its error.
    """

    def __init__(
        self, me: int, directory: Any, sink: MessageSink, *args: Any, ports: Ports, **kwargs: Any
    ) -> None:
        self._ports = ports
        self._of: dict[int, Port | None] = {}
        self._receiver = sink
        self._failure: Exception | None = None
        self._is_ending = False
        self._followed: list[tuple[Outgoing, Outgoing]] = []
        super().__init__(me, directory, self, *args, **kwargs)

    def port(self, peer: int) -> Port | None:
        """Return the port to a peer, None if it has no interceptors."""
        try:
            return self._of[peer]
        except KeyError:
            links = self._ports.links(peer)
            made = None
            if links:
                names = self._ports.name_of(self.me), self._ports.name_of(peer)
                made = Port(links, *names, self._forward_to(peer))
                made.fail = partial(self._fail, made)
            self._of[peer] = made
            return made

    def _forward_to(self, peer: int) -> Callable[..., Outgoing]:
        send = super().send
        return lambda head, payload, sync: send(peer, head, payload, sync=sync)

    def interceptors_of(self, peer: int) -> list[str]:
        """Return the interceptors in the port to a peer, and what they have done to messages."""
        port = self.port(peer)
        return [] if port is None else [link.describe() for link in port.links]

    def intercepted(self) -> list[str]:
        """Return the messages that interceptors hold back or have dropped."""
        return [
            f"{link.describe()} for {self._ports.names.rank(port.peer)}"
            for port in self._of.values()
            if port is not None
            for link in port.links
            if link.held or link.dropped
        ]

    # --- sending ----------------------------------------------------------------------------------

    def send(
        self, to: int, head: bytes, payload: Sequence[memoryview] = (), *, sync: bool = False
    ) -> Outgoing:
        """Send a message through the interceptors of the port.

        Raises:
            CompositionError: an interceptor raises.
        """
        port = self._of[to] if to in self._of else self.port(to)
        if port is None:
            return super().send(to, head, payload, sync=sync)
        try:
            sent = port.send(head, payload, sync, self.now)
        except Exception as error:
            raise self._ports.raised(error, port) from error
        if port.held:
            self.tick_soon()
        return sent

    def _run_due(self) -> None:
        super()._run_due()
        now = self.now()
        ports = [port for port in self._of.values() if port is not None and port.held]
        for port in ports:
            self._followed += port.release(now)
        times = [port.held[0].due for port in ports if port.held]
        if times:
            due = min(times)
            self._deadline = due if self._deadline is None else min(due, self._deadline)

    def progress(self) -> bool:
        """Read and write without blocking; return whether anything happened.

        Raises:
            CompositionError: an interceptor has raised for a received message.
        """
        happened = super().progress()
        if self._failure is not None and not self._is_ending:
            raise self._failure
        if self._followed:
            for sent, held in self._followed:
                held.done, held.error = sent.done, sent.error
            self._followed = [one for one in self._followed if not one[0].done]
        return happened

    def ready(self, timeout: float | None) -> bool:
        """Sleep until `progress` has something to do, or to raise."""
        if self._failure is not None and not self._is_ending:
            return True
        return super().ready(timeout)

    def close(self, timeout: float | None = None) -> None:
        """Flush messages, including held ones, say goodbye, and close."""
        ports = [port for port in self._of.values() if port is not None]
        if self._failure is None:
            self._go_on_until(lambda: not any(port.held for port in ports), timeout)
        self._is_ending = True
        super().close(timeout)

    # --- receiving: the sink of the connections ---------------------------------------------------

    def arrived(self, incoming: Incoming) -> None:
        """Pass on the beginning of a message."""
        if self._failure is not None:
            incoming.take()
            return
        source = incoming.source
        port = self._of[source] if source in self._of else self.port(source)
        if port is None:
            self._receiver.arrived(incoming)
            return
        try:
            found = port.arrived(incoming)
        except Exception as error:
            incoming.take()  # so that it holds up no later message
            port.fail(error)
            return
        self._receiver.arrived(found)

    def completed(self, incoming: Incoming) -> None:
        """Pass on the completion of a message."""
        if self._failure is not None:
            return
        owner = incoming.owner
        if isinstance(owner, Restored):
            owner.restore()
            if not owner.done:
                return
            incoming = owner
        self._receiver.completed(incoming)

    def _fail(self, port: Port, error: Exception) -> None:
        if self._failure is None:
            self._failure = self._ports.raised(error, port)
            self._failure.__cause__ = error

    def lost(self, peer: int, why: Exception) -> None:
        """Pass on the loss of a peer, unless an interceptor failed: waits end with that error."""
        if self._failure is None:
            self._receiver.lost(peer, why)
