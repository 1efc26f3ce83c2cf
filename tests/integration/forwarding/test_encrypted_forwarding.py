"""A way over two forwarders whose connections are all encrypted."""

from __future__ import annotations

import datetime
import hashlib
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.forwarding.forwarder import Forwarder
from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.transport.encryption import is_set_up, secured
from runtime.transport.keys import audience_of
from runtime.transport.lean import dial
from runtime.transport.reactor import Reactor
from runtime.transport.tls import TlsSocket
from runtime.wire.dialling.forward_requests import AnswerReader, ForwardRequest

SECRET = os.urandom(32)
LONG = 20.0


class Way:
    """Two forwarders, and what stands at the end of the way over both."""

    def __init__(self, reactor: Reactor) -> None:
        self._now = datetime.datetime.now(datetime.UTC)
        self._authority = CertificateAuthority.create("a test", self._now)
        self.end = socket.create_server(("127.0.0.1", 0))
        self.end.settimeout(LONG)
        self.forwarders = [
            Forwarder(reactor, ["127.0.0.1:0"], self.member(name), self.find)
            for name in ("0:0", "1:0")
        ]

    def member(self, name: str) -> Credentials:
        certificate = self._authority.member(audience_of(name), self._now)
        return Credentials(SECRET, name, certificate, trusts_loopback=False)

    def find(self, stop: str) -> tuple[str, ...]:
        if stop == "1:0:0":
            return (f"127.0.0.1:{self.end.getsockname()[1]}",)
        return self.forwarders[1].addresses

    def take(self) -> socket.socket:
        came, _ = self.end.accept()
        came.settimeout(LONG)
        came = secured(came, self.member("1:0:0"), dialled=False)
        assert is_set_up(came)
        return came

    def ask(self) -> socket.socket:
        made, _, received = dial(self.forwarders[0].addresses[0], self.member("0:0:0"))
        assert isinstance(made, TlsSocket)
        made.settimeout(LONG)
        made.sendall(ForwardRequest(("1:0", "1:0:0")).written())
        reader = AnswerReader()
        answer = reader.feed(received)
        while answer is None:
            answer = reader.feed(made.recv(4096))
        assert answer.why == ""
        return made

    def close(self) -> None:
        for forwarder in self.forwarders:
            forwarder.close()
        self.end.close()


@pytest.fixture
def way() -> Iterator[Way]:
    with Reactor() as reactor:
        made = Way(reactor)
        yield made
        made.close()


def test_bytes_travel_both_ways_and_each_direction_ends_by_itself(way: Way) -> None:
    sent, back = os.urandom(5 << 20), os.urandom((3 << 20) + 1)
    came: list[bytes] = []

    def stand_at_the_end() -> None:
        with way.take() as there:
            came.append(all_of(there))
            there.sendall(back)

    end = threading.Thread(target=stand_at_the_end)
    end.start()
    with way.ask() as here:
        here.sendall(sent)
        here.shutdown(socket.SHUT_WR)
        assert hashlib.sha256(all_of(here)).digest() == hashlib.sha256(back).digest()
    end.join(LONG)
    assert hashlib.sha256(came[0]).digest() == hashlib.sha256(sent).digest()
    assert [one.moved for one in way.forwarders] == [(8 << 20) + 1] * 2


def all_of(connection: socket.socket) -> bytes:
    whole = bytearray()
    while data := connection.recv(1 << 16):
        whole += data
    return bytes(whole)
