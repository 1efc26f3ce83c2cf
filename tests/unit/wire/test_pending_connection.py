"""What is said first on a connection is said in one piece, or not at all."""

from __future__ import annotations

import socket

import pytest

from runtime.wire.pending_connection import write_head


def test_a_head_of_which_the_system_takes_a_part_only_fails() -> None:
    here, there = socket.socketpair()
    with here, there:
        here.setblocking(False)
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        with pytest.raises(ConnectionError, match=r"the system has taken \d+ of the first"):
            write_head(here, bytes(1 << 20))


def test_a_head_comes_as_it_is() -> None:
    here, there = socket.socketpair()
    with here, there:
        write_head(here, b"a head of a frame")
        assert there.recv(100) == b"a head of a frame"
