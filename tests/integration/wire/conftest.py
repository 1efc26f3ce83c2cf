"""Ranks in processes of their own, each with its connections, on this machine."""

from __future__ import annotations

import datetime
import multiprocessing as mp
import os
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.wire import Incoming, Outgoing, PeerConnections
from runtime.wire.dialling.connecting import DirectConnector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.line import SILENCE_TIMEOUT

RESET = struct.pack("ii", 1, 0)
BOTH, DIALLER, LISTENER = "both", "dialler", "listener"
SECRET = b"a secret of a test of the wire"
PATIENCE = 20.0
PROOF_TIMEOUT = 0.2
NOW = datetime.datetime.now(datetime.UTC)
AUTHORITY = CertificateAuthority.create("a test", NOW)


class Ear:
    """A receiver that gives each message a buffer at once, or keeps it if it is told to."""

    def __init__(self) -> None:
        self.keeps = False
        self.kept: list[Incoming] = []
        self.heads: list[tuple[int, bytes]] = []
        self.complete: list[Incoming] = []
        self.gone: dict[int, Exception] = {}

    def arrived(self, incoming: Incoming) -> None:
        self.heads.append((incoming.source, incoming.head))
        if self.keeps:
            self.kept.append(incoming)
            return
        incoming.give(memoryview(bytearray(incoming.size)))
        if incoming.done:
            self.complete.append(incoming)

    def completed(self, incoming: Incoming) -> None:
        self.complete.append(incoming)

    def lost(self, peer: int, why: Exception) -> None:
        assert peer not in self.gone
        self.gone[peer] = why


class Rank:
    """One rank of a test."""

    def __init__(self, index: int, folder: str, kind: str, count: int, silence: float) -> None:
        self.index = index
        self.ear = Ear()
        self._folder = folder
        directory = RankDirectory(tuple(party(number, folder, kind) for number in range(count)))
        credentials = Credentials(
            SECRET,
            directory.party(index).name,
            AUTHORITY.member(f"ranks 0:{index}", NOW) if kind == "tls" else b"",
            trusts_loopback=False,
        )
        listeners = [int(os.environ[f"WIRE_LISTENER_{number}"]) for number in range(count)]
        listener = socket.socket(fileno=listeners.pop(index))
        for other in listeners:
            os.close(other)
        self.connections = PeerConnections(
            index,
            directory,
            self.ear,
            DirectConnector(index, directory, credentials, proof_timeout=PROOF_TIMEOUT),
            listeners=[listener],
            credentials=credentials,
            silence=silence,
        )

    def until(self, condition: Callable[[], Any], patience: float = PATIENCE) -> None:
        """Go on until something is true."""
        deadline = self.connections.now() + patience
        while not condition():
            left = deadline - self.connections.now()
            assert left > 0, f"rank {self.index} waited in vain; it got {self.ear.heads[-5:]}"
            self.connections.ready(left)
            self.connections.progress()

    def send(self, to: int, head: bytes, *parts: Any, sync: bool = False) -> Outgoing:
        return self.connections.send(to, head, [memoryview(one) for one in parts], sync=sync)

    def receive(self, head: bytes, source: int | None = None) -> bytes:
        """Wait for a message with that head."""
        found: list[Incoming] = []

        def has_come() -> bool:
            found[:] = [
                one
                for one in self.ear.complete
                if one.head == head and source in (None, one.source)
            ]
            return bool(found)

        self.until(has_come)
        self.ear.complete.remove(found[0])
        assert found[0].payload is not None
        return bytes(found[0].payload)


def party(index: int, folder: str, kind: str) -> Party:
    port = os.environ.get(f"WIRE_PORT_{index}", "")
    addresses = [f"unix:{folder}/{index}"] if kind == "unix" else [f"127.0.0.1:{port}"]
    return Party(f"0:{index}:0", "here", "machine", tuple(addresses))


def _run(
    program: Callable[[Rank], Any], index: int, told: tuple[str, str, int, float], say: Any
) -> None:
    rank = Rank(index, *told)
    try:
        say.send((True, program(rank)))
    except BaseException as error:
        say.send((False, repr(error)))
        raise
    finally:
        rank.connections.close(1.0)


class Ranks:
    """Runs one program per rank at the same time."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._folder = str(folder)
        self.kind = kind
        self.silence = SILENCE_TIMEOUT
        self.public: Callable[[int], int] = lambda port: port
        """Returns the port at which others find a rank that listens at a port."""
        self._mp = mp.get_context("fork")

    def listen(self, count: int) -> list[socket.socket]:
        listeners = []
        for index in range(count):
            if self.kind == "unix":
                listener = socket.socket(socket.AF_UNIX)
                Path(self._folder, str(index)).unlink(missing_ok=True)
                listener.bind(f"{self._folder}/{index}")
            else:
                listener = socket.socket()
                listener.bind(("127.0.0.1", 0))
                os.environ[f"WIRE_PORT_{index}"] = str(self.public(listener.getsockname()[1]))
            listener.listen(64)
            os.environ[f"WIRE_LISTENER_{index}"] = str(listener.fileno())
            listeners.append(listener)
        return listeners

    def run(self, *programs: Callable[[Rank], Any]) -> list[Any]:
        """Return what each program returned; a program that ends its process returns None."""
        listeners = self.listen(len(programs))
        told = (self._folder, self.kind, len(programs), self.silence)
        started = []
        for index, program in enumerate(programs):
            hear, say = self._mp.Pipe(duplex=False)
            process = self._mp.Process(target=_run, args=(program, index, told, say))
            process.start()
            say.close()
            started.append((process, hear))
        for listener in listeners:
            listener.close()
        results = []
        for process, hear in started:
            try:
                good, value = hear.recv()
            except EOFError:
                good, value = True, None
            hear.close()
            process.join(PATIENCE)
            process.close()
            results.append((good, value))
        assert all(good for good, _ in results), results
        return [value for _, value in results]


@pytest.fixture(params=["unix", "tcp", "tls"])
def ranks(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ranks]:
    yield Ranks(tmp_path, request.param)
    for name in [name for name in os.environ if name.startswith("WIRE_")]:
        del os.environ[name]


class Relay:
    """Stands before a listener, and resets connections after so many bytes: one number for each.

    `whose` ends of a connection hear of that; the others stay open and hear nothing any more.
    """

    def __init__(self, port: int, plan: deque[int], whose: str) -> None:
        self._target = port
        self._plan = plan
        self._whose = whose
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._stop, self._stopped = socket.socketpair()
        self._silent: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self.port = int(self._listener.getsockname()[1])
        self._start(self._accept)

    def _start(self, what: Any, *arguments: Any) -> None:
        thread = threading.Thread(target=what, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while self._stopped not in select.select([self._listener, self._stopped], [], [])[0]:
            came, _ = self._listener.accept()
            try:
                made = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # its rank has ended
                came.close()
                continue
            self._start(self._join, came, made)

    def _join(self, came: socket.socket, made: socket.socket) -> None:
        left = self._plan.popleft() if self._plan else 1 << 60
        other = {came: made, made: came}
        with suppress(OSError):
            while left > 0:
                readable = select.select([came, made, self._stopped], [], [])[0]
                if self._stopped in readable:
                    break
                for one in readable:
                    data = one.recv(min(left, 65536))
                    if not data:
                        left = 0
                        break
                    other[one].sendall(data)
                    left -= len(data)
        for one, name in ((came, DIALLER), (made, LISTENER)):
            if self._whose in (BOTH, name):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                one.close()
            else:
                self._silent.append(one)

    def close(self) -> None:
        self._stop.close()
        self._threads[0].join()
        for thread in self._threads:
            thread.join()
        for one in (self._listener, self._stopped, *self._silent):
            one.close()


class Relays:
    """One before each listener; all of them share the plan."""

    def __init__(self, ranks: Ranks) -> None:
        self.plan: deque[int] = deque()
        self.whose = BOTH
        self._made: list[Relay] = []
        ranks.public = self._public

    def _public(self, port: int) -> int:
        self._made.append(Relay(port, self.plan, self.whose))
        return self._made[-1].port

    def close(self) -> None:
        for one in self._made:
            one.close()


@pytest.fixture
def relays(ranks: Ranks) -> Iterator[Relays]:
    made = Relays(ranks)
    yield made
    made.close()
