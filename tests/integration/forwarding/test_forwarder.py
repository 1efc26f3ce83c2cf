"""Forwarders between real sockets: ways over one, two and three, what breaks, and strangers."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from runtime.forwarding.forwarder import REQUEST_TIMEOUT, Forwarder
from runtime.transport.credentials import Credentials
from runtime.transport.errors import AuthenticationFailed
from runtime.transport.lean import dial
from runtime.transport.reactor import Reactor
from runtime.wire.dialling.forward_requests import AnswerReader, ForwardRequest, meeting

SECRET = os.urandom(32)
LONG = 20.0
MUCH = 256 << 20


class Machine:
    """Forwarders by name, and one listening end."""

    def __init__(self, stack: ExitStack) -> None:
        self.reactor = stack.enter_context(Reactor())
        self._stack = stack
        self.addresses: dict[str, tuple[str, ...]] = {}
        self.forwarders: dict[str, Forwarder] = {}
        self.end = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.end.settimeout(LONG)
        self.addresses["1:0:0"] = (f"127.0.0.1:{self.end.getsockname()[1]}",)

    def forwarder(self, name: str, timeout: float = REQUEST_TIMEOUT) -> Forwarder:
        credentials = Credentials(SECRET, name)
        made = Forwarder(self.reactor, ["127.0.0.1:0"], credentials, self.find, timeout=timeout)
        self._stack.callback(made.close)
        self.addresses[name] = made.addresses
        self.forwarders[name] = made
        return made

    def find(self, stop: str) -> tuple[str, ...]:
        return self.addresses.get(stop, ())

    def ask(self, first: str, *stops: str) -> tuple[socket.socket, str]:
        """Ask a forwarder for a way; return the connection and why it is of no use."""
        bare, peer, received = dial(self.addresses[first][0], Credentials(SECRET, "0:0:0"))
        assert peer == first
        made = self._stack.enter_context(socket.socket(fileno=bare.detach()))
        made.settimeout(LONG)
        made.sendall(ForwardRequest(stops).written())
        reader = AnswerReader()
        answer = reader.feed(received)
        while answer is None:
            answer = reader.feed(made.recv(4096))
        assert reader.rest == b""
        return made, answer.why

    def open(self, first: str, *stops: str) -> tuple[socket.socket, socket.socket]:
        """Return both ends of a way."""
        made, why = self.ask(first, *stops)
        assert why == ""
        came, _ = self.end.accept()
        self._stack.callback(came.close)
        came.settimeout(LONG)
        return made, came


@pytest.fixture
def machine() -> Iterator[Machine]:
    with ExitStack() as stack:
        yield Machine(stack)


def received(connection: socket.socket) -> bytes:
    whole = bytearray()
    while data := connection.recv(1 << 20):
        whole += data
    return bytes(whole)


@pytest.mark.parametrize("names", [["0:0"], ["0:0", "1:0"], ["0:0", "2:0", "1:0"]])
def test_bytes_travel_both_ways_over_any_number_of_forwarders(
    machine: Machine, names: list[str]
) -> None:
    for name in names:
        machine.forwarder(name)
    here, there = machine.open(*names, "1:0:0")
    sent = os.urandom(5 << 20)
    back = os.urandom(3 << 20)

    def answer() -> None:
        there.sendall(back)
        there.shutdown(socket.SHUT_WR)

    def send() -> None:
        here.sendall(sent)
        here.shutdown(socket.SHUT_WR)

    threads = [threading.Thread(target=send), threading.Thread(target=answer)]
    for thread in threads:
        thread.start()
    came: list[bytes] = []
    reader = threading.Thread(target=lambda: came.append(received(there)))
    reader.start()
    assert hashlib.sha256(received(here)).digest() == hashlib.sha256(back).digest()
    for thread in [*threads, reader]:
        thread.join(LONG)
    assert hashlib.sha256(came[0]).digest() == hashlib.sha256(sent).digest()
    for one in machine.forwarders.values():
        assert (one.opened, one.moved) == (1, 8 << 20)


def test_one_end_may_stop_sending_and_still_receive(machine: Machine) -> None:
    machine.forwarder("0:0")
    here, there = machine.open("0:0", "1:0:0")
    here.sendall(b"question")
    here.shutdown(socket.SHUT_WR)
    assert received(there) == b"question"
    there.sendall(b"answer")
    there.close()
    assert received(here) == b"answer"


def test_a_connection_that_breaks_ends_at_the_other_end_too(machine: Machine) -> None:
    machine.forwarder("0:0")
    machine.forwarder("1:0")
    here, there = machine.open("0:0", "1:0", "1:0:0")
    there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    there.close()
    with suppress(ConnectionResetError):
        assert here.recv(10) == b""


def test_the_last_words_of_who_hangs_up_arrive_although_it_takes_no_more(machine: Machine) -> None:
    machine.forwarder("0:0")
    for _ in range(20):
        here, there = machine.open("0:0", "1:0:0")
        there.sendall(b"question")
        here.sendall(b"goodbye")
        here.close()  # with something unread, so that what comes later cannot be written to it
        with suppress(OSError):
            for _ in range(20):
                there.sendall(b"more")
        with suppress(ConnectionResetError):
            assert received(there) == b"goodbye"


def test_a_reader_that_stops_bounds_what_is_held(machine: Machine) -> None:
    at = machine.forwarder("0:0")
    here, there = machine.open("0:0", "1:0:0")
    here.setblocking(False)
    sent = 0
    data = bytes(1 << 20)
    waiting = threading.Event()
    while True:  # as long as anything is taken within a moment
        try:
            sent += here.send(data)
        except BlockingIOError:
            before = sent
            waiting.wait(0.2)
            try:
                sent += here.send(data)
            except BlockingIOError:
                if sent == before:
                    break
    assert at.moved <= sent < 64 << 20
    here.setblocking(True)
    here.shutdown(socket.SHUT_WR)
    assert len(received(there)) == sent


def test_a_stop_that_nobody_knows_is_named(machine: Machine) -> None:
    machine.forwarder("0:0")
    _, why = machine.ask("0:0", "7:7:7")
    assert why == "0:0: 7:7:7: its address is not known here"


def test_an_end_that_does_not_listen_is_told_through_all_forwarders(machine: Machine) -> None:
    machine.forwarder("0:0")
    machine.forwarder("1:0")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        machine.addresses["1:0:9"] = (f"127.0.0.1:{unused.getsockname()[1]}",)
        _, why = machine.ask("0:0", "1:0", "1:0:9")
    assert why.startswith("0:0: 1:0: 127.0.0.1:")
    assert ": 1:0: 1:0:9: 127.0.0.1:" in why
    assert "nobody answers: [Errno 111] Connection refused" in why


def test_another_address_is_tried_where_one_does_not_answer(machine: Machine) -> None:
    machine.forwarder("0:0")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
        machine.addresses["1:0:0"] = (dead, *machine.addresses["1:0:0"])
        here, there = machine.open("0:0", "1:0:0")
    here.sendall(b"x")
    assert there.recv(1) == b"x"


def test_two_that_cannot_be_reached_meet_at_a_third(machine: Machine) -> None:
    machine.forwarder("2:0")
    place = meeting(os.urandom(8).hex())
    came: list[socket.socket] = []

    def come(first: str, *more: str) -> None:
        made, why = machine.ask(first, *more, place)
        assert why == ""
        came.append(made)

    machine.forwarder("0:0")
    threads = [threading.Thread(target=come, args=way) for way in (("0:0", "2:0"), ("2:0",))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    one, other = came
    one.sendall(b"there")
    other.sendall(b"back")
    assert (other.recv(10), one.recv(10)) == (b"there", b"back")


def test_who_waits_in_vain_is_told(machine: Machine) -> None:
    machine.forwarder("2:0", timeout=0.05)
    _, why = machine.ask("2:0", meeting("alone"))
    assert why == "2:0: nobody came to meet 0:0:0 in 0.05 s"


def test_closing_sends_away_who_waits(machine: Machine) -> None:
    at = machine.forwarder("2:0")
    bare, _, _ = dial(at.addresses[0], Credentials(SECRET, "0:0:0"))
    with socket.socket(fileno=bare.detach()) as made:
        made.settimeout(LONG)
        made.sendall(ForwardRequest((meeting("late"),)).written())
        made.settimeout(0.05)
        with pytest.raises(TimeoutError):
            made.recv(1)
        made.settimeout(LONG)
        at.close()
        assert made.recv(100) == b""


def test_a_stranger_gets_no_way(machine: Machine) -> None:
    at = machine.forwarder("0:0")
    with pytest.raises(AuthenticationFailed):
        dial(at.addresses[0], Credentials(os.urandom(32), "0:0:0"))
    host, _, port = at.addresses[0].rpartition(":")
    with socket.create_connection((host, int(port)), LONG) as stranger:
        stranger.sendall(ForwardRequest(("1:0:0",)).written())
        assert stranger.recv(100) == b""


def test_a_member_that_asks_for_nonsense_is_sent_away(machine: Machine) -> None:
    at = machine.forwarder("0:0")
    bare, _, _ = dial(at.addresses[0], Credentials(SECRET, "0:0:0"))
    with socket.socket(fileno=bare.detach()) as made:
        made.settimeout(LONG)
        made.sendall(b"nonsense")
        assert made.recv(100) == b""


def test_closing_ends_all_ways(machine: Machine) -> None:
    at = machine.forwarder("0:0")
    here, there = machine.open("0:0", "1:0:0")
    at.close()
    assert (here.recv(1), there.recv(1)) == (b"", b"")


def test_sixteen_pairs_share_a_forwarder_fairly(machine: Machine) -> None:
    machine.forwarder("0:0")
    pairs = [machine.open("0:0", "1:0:0") for _ in range(16)]
    data = bytes(1 << 16)
    stop = threading.Event()
    counts = [0] * len(pairs)

    def send(here: socket.socket) -> None:
        try:
            while not stop.is_set():
                here.sendall(data)
        except OSError:
            return

    def read(number: int, there: socket.socket) -> None:
        while came := there.recv(1 << 18):
            if not stop.is_set():
                counts[number] += len(came)

    threads = [threading.Thread(target=send, args=(here,)) for here, _ in pairs]
    threads += [threading.Thread(target=read, args=(n, pair[1])) for n, pair in enumerate(pairs)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + LONG
    while sum(counts) < MUCH and time.monotonic() < deadline:
        stop.wait(0.01)
    stop.set()
    for here, _ in pairs:
        here.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join(LONG)
    assert min(counts) > 0
