"""Who connects without the secret: sent away in bounded time, and nothing of it is interpreted."""

from __future__ import annotations

import _socket
import contextlib
import os
import pickle
import queue
import socket
import stat
import struct
import threading
import time
from pathlib import Path

import pytest
from Pyro5.client import Proxy
from Pyro5.errors import CommunicationError

from gcm.invocation import Invocation
from runtime.transport.admission import MOST_STRANGERS
from runtime.transport.channel import Channel
from runtime.transport.credentials import (
    NONCE,
    NUMBER_OF_MEMBER,
    PROOF_OF_MEMBER,
    Credentials,
    Dialler,
)
from runtime.transport.errors import AuthenticationFailed, ChannelClosed, Unreachable
from runtime.transport.frames import HEAD, MARK
from runtime.transport.lean import LeanChannel, dial
from runtime.transport.listening import Listener
from runtime.transport.messages import CALL, NOTE, Target
from runtime.transport.messages import RESULT as RESULT_FRAME
from runtime.transport.pyro_messages import (
    CONNECT,
    CONNECTED,
    INVOKE,
    MARSHAL,
    RESULT,
    MessageReader,
    PyroMessage,
)
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream
from runtime.transport.transports import socket_for

SECRET = os.urandom(32)
LONG = 10.0
NUMBER = PyroMessage(CONNECT, b"{}", {NUMBER_OF_MEMBER: os.urandom(NONCE)}).joined()
"""What a member says first; anybody can."""


class House:
    """A listener that lets those in who prove themselves, and answers their calls with None."""

    def __init__(
        self,
        reactor: Reactor,
        address: str,
        patience: float = LONG,
        most: int = MOST_STRANGERS,
    ) -> None:
        self.reactor = reactor
        self.guests: queue.Queue[Channel] = queue.Queue()
        self.calls: list[str] = []
        self.listener = Listener(
            reactor,
            address,
            Credentials(SECRET, "house"),
            self._admit,
            patience=patience,
            most=most,
        )

    def _admit(self, came: socket.socket, peer: str, received: bytes) -> None:
        guest = Channel(
            self.reactor,
            SocketStream(came),
            peer,
            lambda request: self.calls.append(str(request)),
            most_bytes=10_000,
        )
        self.guests.put(guest.open(received))

    def connect(self) -> socket.socket:
        host, _, port = self.listener.address.rpartition(":")
        return socket.create_connection((host, int(port)), LONG)


@pytest.fixture
def house(reactor: Reactor) -> House:
    return House(reactor, "127.0.0.1:0")


def rest_of(connected: _socket.socket) -> bytes:
    received = b""
    try:
        while data := connected.recv(4096):
            received += data
    except ConnectionResetError:
        pass
    return received


def proofs_in(received: bytes) -> list[object]:
    """Return the proofs of a listener, which only a member may get to see."""
    reader = MessageReader(10_000)
    found: list[object] = []
    reader.feed(received)
    while message := reader.take():
        found += [data for name, data in message.annotations.items() if name == PROOF_OF_MEMBER]
    assert reader.rest == b""
    return found


class Trap:
    """Leaves a mark when it is unpickled."""

    sprung = False

    def __reduce__(self) -> tuple[object, ...]:
        return _spring, ()


def _spring() -> None:
    Trap.sprung = True


@pytest.mark.parametrize(
    "data",
    [
        os.urandom(500),
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        HEAD.pack(MARK, CALL, 2, 1) + pickle.dumps(Trap()),
        pickle.dumps(Trap()),
        NUMBER + PyroMessage(INVOKE, b"", {PROOF_OF_MEMBER: os.urandom(40)}).joined(),
        PyroMessage(INVOKE, pickle.dumps(Trap()), serializer=MARSHAL).joined(),
        PyroMessage(CONNECT, pickle.dumps(Trap())).joined(),
    ],
    ids=["random", "http", "a frame", "a pickle", "a wrong proof", "a call", "a guest"],
)
def test_whoever_says_something_else_is_sent_away(
    house: House, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with house.connect() as stranger:
        stranger.sendall(data)
        assert proofs_in(rest_of(stranger)) == []
    assert house.guests.empty()
    assert not Trap.sprung
    assert "was refused" in caplog.text


def test_who_says_nothing_is_sent_away_when_patience_is_over(reactor: Reactor) -> None:
    house = House(reactor, "127.0.0.1:0", patience=0.05)
    with house.connect() as silent, house.connect() as half:
        half.sendall(NUMBER)
        assert rest_of(silent) == b""
        assert proofs_in(rest_of(half)) == []


def test_a_recorded_handshake_does_not_open_the_door_again(house: House) -> None:
    greeting = Dialler(Credentials(SECRET, "guest"), os.urandom(NONCE))
    with house.connect() as first:
        first.sendall(greeting.begin())
        recorded = greeting.feed(first.recv(4096))
        first.sendall(recorded)
        assert greeting.feed(first.recv(4096)) == b""
        assert house.guests.get(timeout=LONG).peer == "guest"
    with house.connect() as second:
        second.sendall(NUMBER)
        assert second.recv(4096)
        second.sendall(recorded)
        assert rest_of(second) == b""
    assert house.guests.empty()


def test_a_wrong_secret_is_told_to_the_dialler(house: House) -> None:
    with pytest.raises(AuthenticationFailed, match="refused the proof") as caught:
        dial(house.listener.address, Credentials(b"wrong" * 5, "guest"))
    assert caught.value.place == house.listener.address


def test_a_listener_that_knows_nothing_gets_no_call() -> None:
    with socket.create_server(("127.0.0.1", 0)) as impostor:
        address = f"127.0.0.1:{impostor.getsockname()[1]}"

        def pretend() -> None:
            came, _ = impostor.accept()
            with came:
                came.recv(4096)
                came.sendall(PyroMessage(CONNECTED, b"", {NUMBER_OF_MEMBER: bytes(NONCE)}).joined())
                came.recv(4096)
                came.sendall(
                    PyroMessage(RESULT, b"", {PROOF_OF_MEMBER: bytes(32) + b"house"}).joined()
                )

        thread = threading.Thread(target=pretend)
        thread.start()
        with pytest.raises(AuthenticationFailed, match="does not know the secret"):
            dial(address, Credentials(SECRET, "guest"))
        thread.join()


def test_a_listener_that_says_nothing_does_not_hold_the_dialler() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(AuthenticationFailed, match="did not finish the handshake"):
            dial(address, Credentials(SECRET, "guest"), timeout=0.05)


def test_a_listener_that_drips_does_not_hold_the_dialler() -> None:
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            came, _ = listener.accept()
            with came, contextlib.suppress(OSError):
                said = PyroMessage(
                    CONNECTED, bytes(5000), {NUMBER_OF_MEMBER: bytes(NONCE)}
                ).joined()
                for byte in said:
                    came.sendall(bytes([byte]))
                    if ended.wait(0.01):
                        break

        thread = threading.Thread(target=drip)
        thread.start()
        began = time.monotonic()
        with pytest.raises(AuthenticationFailed, match="did not finish the handshake: timed out"):
            dial(
                f"127.0.0.1:{listener.getsockname()[1]}", Credentials(SECRET, "guest"), timeout=0.3
            )
        assert time.monotonic() - began < LONG / 2
        ended.set()
        thread.join()


def test_only_the_user_can_connect_to_a_unix_listener(reactor: Reactor, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        House(reactor, f"unix:{tmp_path}/listener")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "listener").stat().st_mode) == 0o600


def test_an_oversized_frame_ends_the_connection_before_it_is_read(house: House) -> None:
    guest = LeanChannel.dial(house.listener.address, Credentials(SECRET, "guest"))
    assert guest.call(Target("/a", "i", "small"), bytes(5000)) is None
    with pytest.raises(ChannelClosed):
        guest.call(Target("/a", "i", "large"), bytes(200_000))
    guest.close()
    assert house.calls == ["/a.i.small"]


@pytest.mark.parametrize("kind", [CALL, NOTE, RESULT_FRAME, 99])
def test_frames_that_make_no_sense_end_the_connection_or_mean_nothing(
    house: House, kind: int
) -> None:
    connected, _, _ = dial(house.listener.address, Credentials(SECRET, "guest"))
    with contextlib.closing(connected):
        connected.sendall(HEAD.pack(MARK, kind, 1, 1) + (3).to_bytes(8, "big") + b"odd")
        connected.shutdown(socket.SHUT_WR)
        assert rest_of(connected) == b""
    assert house.calls == []


def test_many_guests_can_be_in_the_handshake_at_one_time(house: House) -> None:
    strangers = [house.connect() for _ in range(20)]
    guest = LeanChannel.dial(house.listener.address, Credentials(SECRET, "guest"))
    assert guest.call(Target("/a", "i", "hello")) is None
    guest.close()
    for stranger in strangers:
        stranger.close()


def test_visitors_that_hang_up_at_once_do_not_use_up_the_room(
    reactor: Reactor,
) -> None:
    house = House(reactor, "127.0.0.1:0", most=5)
    for _ in range(20):
        stranger = house.connect()
        # Closing with unread data waiting for no time at all resets the connection.
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stranger.close()
    guest = LeanChannel.dial(house.listener.address, Credentials(SECRET, "guest"))
    assert guest.call(Target("/a", "i", "hello")) is None
    guest.close()


def test_when_the_room_is_full_others_wait_until_somebody_leaves(
    reactor: Reactor,
) -> None:
    house = House(reactor, "127.0.0.1:0", most=2)
    first, second = house.connect(), house.connect()
    for stranger in (first, second):
        stranger.sendall(NUMBER)
        assert stranger.recv(4096)
    with house.connect() as third:
        third.sendall(NUMBER)
        third.settimeout(0.05)
        with pytest.raises(TimeoutError):
            third.recv(4096)
        first.close()
        third.settimeout(LONG)
        assert third.recv(4096)
    second.close()


def test_a_guest_that_cannot_be_received_is_sent_away(
    reactor: Reactor, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(came: socket.socket, peer: str, received: bytes) -> None:
        raise LookupError(f"no room for {peer}")

    listener = Listener(reactor, "127.0.0.1:0", Credentials(SECRET, "house"), refuse)
    connected, _, _ = dial(listener.address, Credentials(SECRET, "guest"))
    with contextlib.closing(connected):
        assert rest_of(connected) == b""
    logged = threading.Event()  # the reactor hangs up first and logs then, before its next callback
    reactor.soon(logged.set)
    assert logged.wait(LONG)
    assert "LookupError: no room for guest" in caplog.text


@pytest.mark.parametrize("own", [False, True], ids=["network", "own socket"])
def test_who_hangs_up_is_told_of_where_strangers_come(
    reactor: Reactor, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, own: bool
) -> None:
    house = House(reactor, f"unix:{tmp_path}/listener" if own else "127.0.0.1:0")
    for said in (b"", NUMBER):
        made, where = socket_for(house.listener.address)
        with contextlib.closing(made):
            made.connect(where)
            made.sendall(said)
    with contextlib.closing(LeanChannel.dial(house.listener.address, Credentials(SECRET, "guest"))):
        house.guests.get(timeout=LONG).close()  # so who came before has been seen to
    warned = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(warned) == (not own), warned


def test_a_unix_door_removes_its_file(reactor: Reactor, tmp_path: Path) -> None:
    house = House(reactor, f"unix:{tmp_path}/listener")
    guest = LeanChannel.dial(house.listener.address, Credentials(SECRET, "guest"))
    assert guest.peer == "house"
    guest.close()
    house.listener.close()
    closed = threading.Event()
    reactor.soon(closed.set)
    assert closed.wait(LONG)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(Unreachable, match="nobody answers"):
        dial(house.listener.address, Credentials(SECRET, "guest"))


def test_a_port_in_use_is_an_error_with_a_cure(house: House, reactor: Reactor) -> None:
    with pytest.raises(Unreachable, match="cannot listen there: .*Choose another port"):
        House(reactor, house.listener.address)


@pytest.mark.parametrize("address", ["nonsense", "host:", "host:port", ""])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(Unreachable, match="this is not an address"):
        dial(address, Credentials(SECRET, "guest"))


def test_a_channel_made_of_a_dialled_socket_works_both_ways(house: House) -> None:
    connected, peer, received = dial(house.listener.address, Credentials(SECRET, "guest"))
    channel = Channel(house.reactor, SocketStream(connected), peer).open(received)
    assert channel.call(Invocation("/a", "i", "hello")).result(LONG) is None
    channel.close()


@pytest.mark.parametrize("serializer", ["serpent", "json", "msgpack"])
def test_an_ordinary_client_of_pyro5_is_told_that_nothing_is_exposed(
    house: House, serializer: str
) -> None:
    with Proxy(f"PYRO:anything@{house.listener.address}") as proxy:
        proxy._pyroSerializer = serializer
        with pytest.raises(CommunicationError, match="only members of the run may connect here"):
            proxy._pyroBind()
    assert house.guests.empty()
