"""Messages between ranks of different clusters: any number of peers, one connection to each.

A peer is named by its index, its rank in the whole grid. A message is a head, opaque bytes, and a
payload of any size. Heads arrive in the order in which they were sent, per pair of sender and
receiver. Payloads that are large travel in segments, so that a small message never waits behind
them, and land in the buffer that the receiver gives, if it gives one in time, without being copied.

**Sending.** `connections.send(to, head, payload)` starts at once and returns an `Outgoing`. Once it
is `done` the memory of the payload may be used again, or there is an `error`. Up to 8 MiB per pair
may be on their way without being asked for; what is beyond waits at the sender until the receiver
has matched it, while heads go on. With `sync` a message is done only once it has been matched.

**Receiving.** `connections.progress()` calls `sink.arrived(incoming)` as soon as a head is here, in
order. The sink *matches* it, then or whenever it is ready to, with `incoming.give(buffer)` or
`incoming.take()`. Neither of them calls back: if `incoming.done` is true then, the payload is all
there, otherwise `sink.completed(incoming)` will be called by a later `progress()`. A payload
of up to 8 KiB is always there when its head is, so it is done as soon as it is matched.

**Waiting.** Nothing here waits but `connections.ready(timeout)`, which sleeps until `progress()`
has something to do, and `connections.close()`.

**Peers that are gone.** `sink.lost(peer, why)` is called once for each; all `Outgoing` to it
have their error then. `connections.why_lost(peer)` tells later. A peer that closed its connections
in order is lost too, once all that it sent has been delivered; `why` is a `PeerLeft` then. The loss
of a peer to which there is no connection goes unnoticed: a rank that waits for one for long says
`connections.watch(peer)`.

**Broken connections.** One between hosts that breaks is resumed, by whatever route; where none is
found within 20 seconds the error names the link. A peer that is stopped is waited for. Messages
that were on their way arrive, once and in order, and nobody is told. `connections.rest(peer)`
closes one that nobody uses, in agreement with the peer; who sends next opens another one.

**Lanes.** Where one connection to a peer that is far away cannot fill the line, up to seven more
are opened that carry parts of large payloads, as long as each step makes it faster. They are closed
when little is sent. What a broken one has not delivered goes again over the others.

**Threads.** Only `ready` and `wake` may be called without the lock of the owner. Callbacks are made
by `progress`, `send`, `watch` and `close`; from them `send`, `give` and `take` may be called.

    connections = open_connections(link, sink)    # of a rank; imports sockets only now
    outgoing = connections.send(7, b"head", [memoryview(array).cast("B")])
    while not outgoing.done:
        connections.ready(None)
        connections.progress()
    connections.close()
"""

from runtime.wire.dialling.references import Traffic
from runtime.wire.errors import BadFrame, LinkLost, PeerAbsent, PeerLeft, PeerLost, WireError
from runtime.wire.opening import directory_of, open_connections
from runtime.wire.peer_connections import PeerConnections
from runtime.wire.stream.messages import SENT, Incoming, MessageSink, Outgoing

__all__ = [
    "SENT",
    "BadFrame",
    "Incoming",
    "LinkLost",
    "MessageSink",
    "Outgoing",
    "PeerAbsent",
    "PeerConnections",
    "PeerLeft",
    "PeerLost",
    "Traffic",
    "WireError",
    "directory_of",
    "open_connections",
]
