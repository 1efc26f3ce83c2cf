"""One contract of channels over every stream: memory, Unix, TCP, TLS, pipes, a process."""

from __future__ import annotations

import datetime
import os
import socket
import threading
from collections.abc import Callable
from functools import cache

import pytest

from runtime.testing.stream_contract import StreamContract
from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.transport.encryption import is_set_up, secured
from runtime.transport.queued import MemoryStream, ProcessStream
from runtime.transport.streams import ByteStream, PipeStream, SocketStream

LONG = 10.0


def memory() -> tuple[ByteStream, ByteStream]:
    return MemoryStream.pair()


def unix() -> tuple[ByteStream, ByteStream]:
    left, right = socket.socketpair()
    return SocketStream(left), SocketStream(right)


def connected() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        left = socket.create_connection(listener.getsockname())
        right, _ = listener.accept()
    return left, right


def tcp() -> tuple[ByteStream, ByteStream]:
    left, right = connected()
    return SocketStream(left), SocketStream(right)


@cache
def certificate() -> bytes:
    now = datetime.datetime.now(datetime.UTC)
    return CertificateAuthority.create("a test", now).member("it", now)


def tls() -> tuple[ByteStream, ByteStream]:
    known = Credentials(b"a secret of a test", "it", certificate(), trusts_loopback=False)
    left, right = connected()
    for end in (left, right):
        end.setblocking(False)
    ends = secured(left, known, dialled=True), secured(right, known, dialled=False)
    while not (is_set_up(ends[0]) & is_set_up(ends[1])):
        pass
    return SocketStream(ends[0]), SocketStream(ends[1])


def pipes() -> tuple[ByteStream, ByteStream]:
    left_reads, right_writes = os.pipe()
    right_reads, left_writes = os.pipe()
    return PipeStream(left_reads, left_writes), PipeStream(right_reads, right_writes)


class OtherEnd:
    """What a launcher's process is to a stream; the process is this one, at the end of a pipe."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def write(self, data: bytes, timeout: float | None = None) -> None:
        assert timeout is None
        while data:
            data = data[os.write(self.descriptor, data) :]

    def close_input(self) -> None:
        os.close(self.descriptor)


def process() -> tuple[ByteStream, ByteStream]:
    left = ProcessStream()
    right_reads, left_writes = os.pipe()
    left_reads, right_writes = os.pipe()
    left.connect(OtherEnd(left_writes), "the other end")

    def listen() -> None:
        while data := os.read(left_reads, 65536):
            left.received(data)
        left.finished()
        os.close(left_reads)

    threading.Thread(target=listen, name="the launcher").start()
    return left, PipeStream(right_reads, right_writes)


class TestChannels(StreamContract):
    @pytest.fixture(
        params=[memory, unix, tcp, tls, pipes, process], ids=lambda kind: str(kind.__name__)
    )
    def streams(self, request: pytest.FixtureRequest) -> tuple[ByteStream, ByteStream]:
        make: Callable[[], tuple[ByteStream, ByteStream]] = request.param
        return make()
