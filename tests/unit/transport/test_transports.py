"""Transports that a user names: what is authenticated and encrypted over them, who adds them."""

from __future__ import annotations

import datetime
import errno
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.membership.bind_address import open_listeners, use_transports
from runtime.transport import transports
from runtime.transport.certificate import CertificateAuthority
from runtime.transport.credentials import Credentials
from runtime.transport.encryption import encrypts
from runtime.transport.errors import AuthenticationFailed, TransportError, Unreachable
from runtime.transport.lean import dial
from runtime.transport.listening import Listener
from runtime.transport.reactor import Reactor

MODULE = """
import socket

class Abstract:
    is_on_host = True

    def listen(self, where):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("\\0" + where)
        listener.listen()
        return listener, where

    def connecting(self, address):
        if address == "nowhere":
            raise LookupError(address)
        return socket.socket(socket.AF_UNIX), "\\0" + address

class Half:
    is_on_host = True

    def listen(self, where):
        pass

class Bytes(Abstract):
    def listen(self, where):
        listener, where = super().listen(where)
        return listener, where.encode()

class Mute(Abstract):
    def connecting(self, address):
        raise ConnectionRefusedError(address)

class Broken(Abstract):
    def __init__(self):
        raise RuntimeError("no licence")
"""
AUTHORITY = CertificateAuthority.create("a test", datetime.datetime.now(datetime.UTC))
NAME = "own_sockets.Abstract"


def member(name: str, secret: bytes = b"s" * 32, *, certified: bool = False) -> Credentials:
    now = datetime.datetime.now(datetime.UTC)
    shown = AUTHORITY.member(name, now, datetime.timedelta(days=1)) if certified else b""
    return Credentials(secret, name, shown)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "own_sockets.py").write_text(MODULE, "utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(transports, "_TABLE", dict(transports._TABLE))
    yield tmp_path
    sys.modules.pop("own_sockets", None)


@pytest.mark.parametrize("certified", [False, True])
def test_a_transport_of_the_user_is_encrypted_wherever_a_run_has_certificates(
    folder: Path, certified: bool
) -> None:
    use_transports([NAME], str(folder))
    came: list[Any] = []
    with Reactor("test") as reactor:

        def admitted(connected: socket.socket, peer: str, _: bytes) -> None:
            came.append((encrypts(connected), peer))
            connected.sendall(b"!")
            connected.close()

        house = member("house", certified=certified)
        listener = Listener(reactor, f"{NAME}:{folder}/door", house, admitted)
        assert listener.address == f"{NAME}:{folder}/door"
        with pytest.raises(AuthenticationFailed):
            dial(listener.address, member("guest", b"x" * 32, certified=certified))
        guest = member("guest", certified=certified)
        connected, peer, received = dial(listener.address, guest, peer="house")
        assert received or connected.recv(1) == b"!"
        connected.close()
        assert (encrypts(connected), peer) == (certified, "house")
        listener.close()
    assert came == [(certified, "guest")]


def test_ranks_listen_in_the_order_of_the_descriptor(folder: Path) -> None:
    named = [NAME, "own_sockets.Mute", "127.0.0.1:0", "unix"]
    use_transports(named, str(folder))
    listeners, (_, addresses) = open_listeners(str(folder), "rank0", named)
    for listener in listeners:
        listener.close()
    assert [one.partition(":")[0] for one in addresses] == [
        NAME,
        "own_sockets.Mute",
        "127.0.0.1",
        "unix",
    ]
    assert transports.of_use(addresses, is_near=False) == ()


def test_where_a_rank_does_not_listen_is_told_with_the_reason(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    use_transports(["own_sockets.Bytes"], str(folder))
    assert open_listeners(str(folder), "rank0", ["own_sockets.Bytes"]) == ([], ("", ()))
    assert "rank0 does not listen over own_sockets.Bytes: " in caplog.text
    assert "the transport 'own_sockets.Bytes' gave b'/" in caplog.text


def test_an_address_of_a_peer_makes_nothing_be_imported(folder: Path) -> None:
    sys.path.append(str(folder))
    with pytest.raises(Unreachable, match="this is not an address"):
        transports.socket_for(f"{NAME}:{folder}/door")
    assert "own_sockets" not in sys.modules


@pytest.mark.parametrize("name", ["unix", "ssh", "passed"])
def test_a_host_may_have_the_name_of_a_transport(name: str) -> None:
    addresses = [f"{name}:/4711", f"{name}:4711", f"{name}:4711/token/rank0"]
    assert transports.of_use(addresses, is_near=False) == tuple(addresses[1:])
    with pytest.raises(Unreachable, match="this is not an address"):
        transports.socket_for(f"{name}:door")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("own_sockets.Half", "a transport has a method 'connecting'"),
        ("own_sockets.Broken", "RuntimeError: no licence"),
        ("own_sockets.Abstrac", "did you mean 'Abstract'"),
        ("no_such_sockets.A", "there is no module 'no_such_sockets'"),
    ],
)
def test_a_class_that_is_of_no_use_is_named(folder: Path, name: str, why: str) -> None:
    with pytest.raises(TransportError, match=why) as caught:
        use_transports([name], str(folder))
    assert f"'{name}'" in caught.value.what
    assert caught.value.place == str(folder)


def test_a_protocol_that_lacks_options_of_tcp_is_tuned_as_far_as_it_can_be() -> None:
    try:
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_MPTCP)
    except OSError as error:
        pytest.skip(f"this system has no MPTCP: {error}")
    with made:
        transports.tune(made, 8.0)
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_what_a_class_raises_becomes_an_error_that_names_it(folder: Path) -> None:
    use_transports([NAME], str(folder))
    with pytest.raises(Unreachable, match=f"'{NAME}' raised LookupError: nowhere"):
        transports.socket_for(f"{NAME}:nowhere")


def test_who_finds_a_full_listener_on_this_host_waits_for_room(folder: Path) -> None:
    address = f"unix:{folder}/full"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address.removeprefix("unix:"))
        listener.listen(0)
        waiting = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for one in waiting:
            one.setblocking(False)
        assert [one.connect_ex(listener.getsockname()) for one in waiting] == [0, errno.EAGAIN]
        came: list[socket.socket] = []
        room = threading.Timer(0.1, lambda: came.append(listener.accept()[0]))
        room.start()
        with pytest.raises(AuthenticationFailed, match="timed out"):  # nobody proves anything here
            dial(address, member("0:0:1"), timeout=0.5)
        room.join()
        for one in (*waiting, *came):
            one.close()
