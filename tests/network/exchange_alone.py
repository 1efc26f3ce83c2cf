"""One of two ranks that send much and little to each other and tell how that goes.

It is told all as JSON in its argument, and tells `["word", value]` on lines of its own: `ready`
when it listens, whereupon it waits for a word to go, `begun` when the first bytes have come,
`broad` when there are several connections, `interrupted` when there is none, `resumed` when there
is one again, and at last `ended` with what is right, or `lost` with the reason.

Where it `wants` several connections it says so at the beginning, as a rank does that has measured
that they help: on a busy machine rates vary too much for that.
"""

from __future__ import annotations

import json
import random
import socket
import sys
from pathlib import Path
from typing import Any

from runtime.transport.credentials import Credentials
from runtime.wire import Incoming, PeerConnections
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.stream.frames import WIDEN

PORT = 5800
SMALL = 200


class Ear:
    """Matches what comes at once."""

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.complete: dict[bytes, Incoming] = {}
        self.why: Exception | None = None

    def arrived(self, incoming: Incoming) -> None:
        self.heads.append(incoming.head)
        incoming.give(memoryview(bytearray(incoming.size)))
        if incoming.done:
            self.completed(incoming)

    def completed(self, incoming: Incoming) -> None:
        self.complete[incoming.head] = incoming

    def lost(self, peer: int, why: Exception) -> None:
        assert peer >= 0
        self.why = why


def tell(word: str, value: Any = None) -> None:
    print(json.dumps([word, value]), flush=True)


def payloads(index: int, size: int) -> dict[bytes, bytes]:
    dice = random.Random(index)
    small = {b"%d" % number: dice.randbytes(number) for number in range(SMALL)}
    return {b"large": dice.randbytes(size), **small}


def connections_of(told: dict[str, Any], ear: Ear) -> PeerConnections:
    me, addresses = told["index"], told["addresses"]
    directory = RankDirectory(
        tuple(
            Party(f"{n}:0:0", f"c{n}", f"c{n}", (f"{a}:{PORT}",)) for n, a in enumerate(addresses)
        )
    )
    credentials = Credentials(
        b"a secret of a test",
        directory.party(me).name,
        Path(told["certificate"]).read_bytes(),
    )
    return PeerConnections(
        me,
        directory,
        ear,
        DirectConnector(me, directory, credentials),
        listeners=[socket.create_server((addresses[me], PORT))],
        credentials=credentials,
        silence=told["silence"],
        resume_timeout=told["patience"],
    )


def main() -> None:
    told = json.loads(sys.argv[1])
    ear = Ear()
    other = 1 - told["index"]
    mine, theirs = payloads(told["index"], told["size"]), payloads(other, told["size"])
    connections = connections_of(told, ear)
    tell("ready")
    sys.stdin.readline()
    sent = [connections.send(other, head, [memoryview(data)]) for head, data in mine.items()]
    has_begun = was_broad = False
    was_connected = True  # on a busy machine it may be interrupted before the first bytes are seen

    def is_over() -> bool:
        return len(ear.complete) == len(theirs) and all(one.done for one in sent)

    while ear.why is None and not is_over():
        connections.ready(None)
        connections.progress()
        if ear.heads and not has_begun:
            has_begun = True
            if told["wants"]:
                peer = connections._peers[other]
                peer.sender.put_frame(WIDEN, 0, told["wants"])
                peer.kick()
            tell("begun")
        if has_begun and bool(connections.connected()) is not was_connected:
            was_connected = not was_connected
            tell("resumed" if was_connected else "interrupted")
        if connections.lanes and not was_broad:
            was_broad = True
            tell("broad")
    if not is_over():  # else the other one has left because all is done
        tell("lost", str(ear.why))
        return
    right = ear.heads == list(theirs) and all(
        bytes(ear.complete[head].payload or b"") == data for head, data in theirs.items()
    )
    resumptions = connections.traffic()[other].resumptions
    connections.close(30)
    tell("ended", [right, resumptions])


main()
