"""A process of its own with one entrance to a run, for strangers to try; tests start it.

It reads what it is to be as one line of JSON, writes its address, and serves until its standard
input ends. Then it tells how much processor time that took. Its log goes to standard error.
"""

from __future__ import annotations

import json
import logging
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from gcm.interfaces.future import Future
from runtime.forwarding.forwarder import Forwarder
from runtime.transport.channel import Channel
from runtime.transport.credentials import Credentials
from runtime.transport.listening import Listener
from runtime.transport.pyro import ExposedObject, PyroServer
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream
from runtime.wire import Incoming, PeerConnections
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory

Close = Callable[[], None]


def channel(reactor: Reactor, known: Credentials, patience: float) -> tuple[str, Close]:
    def admit(came: socket.socket, peer: str, received: bytes) -> None:
        Channel(reactor, SocketStream(came), peer, lambda _: None).open(received)

    listener = Listener(reactor, "127.0.0.1:0", known, admit, patience=patience)
    return listener.address, listener.close


def forwarder(reactor: Reactor, known: Credentials, patience: float) -> tuple[str, Close]:
    made = Forwarder(reactor, ["127.0.0.1:0"], known, lambda _: (), timeout=patience)
    return made.addresses[0], made.close


def pyro(reactor: Reactor, known: Credentials, patience: float) -> tuple[str, Close]:
    def serve(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future(method)
        future.set_result([method, *args])
        return future

    def refuse(came: socket.socket, peer: str, received: bytes) -> None:
        came.close()

    server = PyroServer(reactor, patience=patience)
    server.objects.expose("book", ExposedObject(["add"], serve))
    listener = Listener(
        reactor, "127.0.0.1:0", known, refuse, patience=patience, untrusted=server.receive
    )

    def close() -> None:
        listener.close()
        server.close()

    return listener.address, close


class Ear:
    """Hears what comes to a rank."""

    def arrived(self, incoming: Incoming) -> None:
        incoming.take()

    def completed(self, incoming: Incoming) -> None:
        """Nothing is made of it."""

    def lost(self, peer: int, why: Exception) -> None:
        """It only looked in."""


def rank(reactor: Reactor, known: Credentials, patience: float) -> tuple[str, Close]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    parties = (
        Party("0:0:0", "here", "machine", (address,)),
        Party("0:1:0", "here", "machine", ()),
    )
    directory = RankDirectory(parties)
    ended = threading.Event()

    def work() -> None:
        made = PeerConnections(
            0,
            directory,
            Ear(),
            DirectConnector(0, directory, known),
            listeners=[listener],
            credentials=known,
            patience=patience,
        )
        while not ended.is_set():
            made.ready(0.1)
            made.progress()
        made.close(0.1)

    thread = threading.Thread(target=work)
    thread.start()

    def close() -> None:
        ended.set()
        thread.join()

    return address, close


KINDS = {one.__name__: one for one in (channel, forwarder, pyro, rank)}


def main() -> None:
    """Serve."""
    logging.basicConfig(
        level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s"
    )
    told = json.loads(sys.stdin.readline())
    resource.setrlimit(resource.RLIMIT_NOFILE, (told["descriptors"],) * 2)
    known = Credentials(
        bytes.fromhex(told["secret"]),
        "0:0:0",
        told["certificate"].encode(),
        trusts_loopback=False,
    )
    with Reactor() as reactor:
        address, close = KINDS[told["kind"]](reactor, known, told["patience"])
        print(address, flush=True)
        before = time.process_time()
        select.select([sys.stdin], [], [])
        close()
    print(time.process_time() - before, flush=True)


if __name__ == "__main__":
    main()
