"""Clients of an exposed object, whom nobody knows: what they can take of its process is bounded."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

from Pyro5.errors import CommunicationError

from runtime.transport.pyro_messages import BATCH, CONNECT, INVOKE, JSON, SERPENT, PyroMessage
from tests.security.test_doors_under_attack import LONG, PATIENCE, Entrance, rest_of

MIB = 1 << 20
HELLO = PyroMessage(CONNECT, b'{"handshake": "hello", "object": "book"}').joined()


@contextlib.contextmanager
def connected(entrance: Entrance, count: int) -> Iterator[list[socket.socket]]:
    """Connect clients that have said to which object."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            client = stack.enter_context(entrance.connect())
            client.settimeout(LONG)
            client.sendall(HELLO)
            assert client.recv(4096)
            made.append(client)
        yield made


def test_unfinished_messages_of_forty_clients_take_bounded_memory() -> None:
    unfinished = PyroMessage(INVOKE, bytes(7 * MIB), serializer=JSON).joined()[:-1]
    with Entrance("pyro") as entrance:
        before = entrance.resident
        with connected(entrance, 40) as clients:
            for client in clients:
                client.sendall(unfinished)
            entrance.enter()
            assert entrance.resident - before < 120 * MIB
        entrance.close()
        assert "unfinished while those of all took" in entrance.log


def test_a_message_larger_than_its_serializer_may_send_is_refused_at_its_head() -> None:
    for hello, size in ((b"", 20_000), (HELLO, 9 * MIB)):
        said = hello + PyroMessage(INVOKE if hello else CONNECT, bytes(size)).joined()[:-1]
        with Entrance("pyro") as entrance, entrance.connect() as stranger:
            with contextlib.suppress(OSError):  # it hangs up in the middle
                stranger.sendall(said)
            rest_of(stranger)
            entrance.enter()
            entrance.close()
            assert "bytes; at most" in entrance.log


def test_a_small_message_that_becomes_large_when_it_is_read_is_refused() -> None:
    values = PyroMessage(INVOKE, b"(" + b"1," * 500_000 + b")", serializer=SERPENT).joined()
    with Entrance("pyro") as entrance:
        before = entrance.resident
        with connected(entrance, 1) as (stranger,):
            stranger.sendall(values)
            rest_of(stranger)
            assert entrance.resident - before < 30 * MIB
        entrance.enter()
        entrance.close()
        assert "bytes of values beside its texts" in entrance.log


def test_a_client_that_does_not_say_to_which_object_is_sent_away() -> None:
    with Entrance("pyro", patience=PATIENCE) as entrance, entrance.connect() as stranger:
        stranger.sendall(HELLO.replace(b"book", b"tree"))
        assert b"unknown object" in rest_of(stranger)
        entrance.enter()
        entrance.close()
        assert "did not say in time to which object" in entrance.log


def test_idle_clients_keep_nobody_out() -> None:
    with Entrance("pyro") as entrance, connected(entrance, entrance.limit // 4) as idle:
        until = time.monotonic() + LONG
        while True:
            try:
                entrance.enter()
                break
            except CommunicationError:
                assert time.monotonic() < until
        assert rest_of(idle[0]) == b""  # the one that was idle for longest
        entrance.close()
        assert "idle while others were waiting for a place" in entrance.log


def test_a_batch_of_many_calls_is_answered_and_the_client_is_idle_again() -> None:
    calls = json.dumps([["ping", [], {}]] * 5000)
    batch = f'{{"object":"Pyro.Daemon","method":"<batch>","params":{calls},"kwargs":{{}}}}'
    with Entrance("pyro") as entrance, connected(entrance, 1) as (client,):
        client.sendall(PyroMessage(INVOKE, batch.encode(), flags=BATCH).joined())
        assert client.recv(4096)
        entrance.enter()
