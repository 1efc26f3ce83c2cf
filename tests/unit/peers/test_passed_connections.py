"""Connections at the port of a daemon that are for processes which it has started."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.membership.bind_address import open_listeners
from runtime.peers.connections.passing import OpenPassage, PassedConnections
from runtime.transport.passage import Passage, accepted, announcement
from runtime.transport.transports import announce


@pytest.fixture
def port() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        made.settimeout(10)
        yield made


def dialled(port: socket.socket, begin: bytes) -> tuple[socket.socket, socket.socket]:
    """Return both ends of a connection that begins so; the end that dials first."""
    near = socket.create_connection(port.getsockname(), 10)
    near.sendall(begin)
    return near, port.accept()[0]


@pytest.mark.parametrize("folder", ["doors", "d" * 90])
def test_a_rank_gets_the_connections_for_it_however_many_wait(
    tmp_path: Path, port: socket.socket, folder: str
) -> None:
    passed = PassedConnections(tmp_path / folder)
    opened = passed.open()
    way = f"127.0.0.1:{port.getsockname()[1]}/{opened.token}"
    listeners, (_, addresses) = open_listeners(
        str(tmp_path), "rank3", ["unix", str(Passage(opened.folder, way))]
    )
    assert addresses[-1] == f"{way}/rank3"
    listener = socket.socket(fileno=listeners.pop().detach())
    listeners.pop().close()
    dialling = []
    for number in range(20):
        near = socket.create_connection(port.getsockname(), 10)
        announce(near, addresses[-1])
        near.sendall(b"%d" % number)
        with port.accept()[0] as far:
            assert passed.takes(far)
        dialling.append(near)
    with listener:
        for number, near in enumerate(dialling):
            taken, where = accepted(listener)
            with taken, near:
                assert where == near.getsockname()
                assert taken.recv(10) == b"%d" % number
                assert not os.get_inheritable(taken.fileno())
                near.settimeout(10)
                taken.sendall(b"answer")
                assert near.recv(10) == b"answer"
    passed.close(opened)
    assert not Path(opened.folder).exists()


def others(opened: OpenPassage) -> list[bytes]:
    return [
        b"\x16\x03\x01",  # how TLS begins
        b"GET / HTTP/1.1\r\n\r\n",
        announcement("0" * 32, "rank3"),
        announcement(opened.token, "../rank3"),
        announcement(opened.token, "Rank 3"),
        b"",
    ]


@pytest.mark.parametrize("number", range(6))
def test_what_is_for_nobody_here_is_left_as_it_came(
    tmp_path: Path, port: socket.socket, number: int
) -> None:
    passed = PassedConnections(tmp_path / "doors")
    opened = passed.open()
    begin = others(opened)[number]
    near, far = dialled(port, begin)
    with near, far:
        near.shutdown(socket.SHUT_WR)
        assert not passed.takes(far)
        assert far.recv(100) == begin
    passed.close(opened)


def test_nothing_is_handed_over_that_comes_from_a_denied_address(
    tmp_path: Path, port: socket.socket
) -> None:
    denied = {"127.0.0.1"}
    passed = PassedConnections(tmp_path / "doors", denied.__contains__)
    opened = passed.open()
    begin = announcement(opened.token, "rank0")
    for is_denied in (True, False):
        near, far = dialled(port, begin)
        with near, far:
            assert passed.takes(far) is not is_denied
            if is_denied:
                assert far.recv(100) == begin
        denied.clear()
    passed.close(opened)


def test_a_token_may_come_in_pieces_and_counts_as_long_as_its_launch(
    tmp_path: Path, port: socket.socket
) -> None:
    passed = PassedConnections(tmp_path / "doors")
    opened = passed.open()
    begin = announcement(opened.token, "rank0")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"{opened.folder}/rank0")
        listener.listen(5)
        near, far = dialled(port, begin[:20])
        later = threading.Timer(0.05, near.sendall, [begin[20:]])
        later.start()
        with near, far:
            assert passed.takes(far)
        later.join()
        taken, _ = accepted(listener)
        taken.close()
        passed.close(opened)
        near, far = dialled(port, begin)
        with near, far:
            assert not passed.takes(far)


def test_a_process_that_has_gone_costs_the_connection_alone(
    tmp_path: Path, port: socket.socket
) -> None:
    passed = PassedConnections(tmp_path / "doors")
    opened = passed.open()
    near, far = dialled(port, announcement(opened.token, "rank0"))
    with near:
        with far:
            assert passed.takes(far)
        near.settimeout(10)
        assert near.recv(1) == b""
    passed.close(opened)


@pytest.mark.parametrize("folder", ["doors", "d" * 90])
def test_what_a_killed_daemon_left_is_removed_by_the_next_one(tmp_path: Path, folder: str) -> None:
    left = PassedConnections(tmp_path / folder).open()
    again = PassedConnections(tmp_path / folder)
    assert not Path(left.folder).exists()
    again.close(again.open())
    assert list((tmp_path / folder).iterdir()) == []
