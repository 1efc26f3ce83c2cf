"""The loop of a rank's connections: who sleeps there, and what wakes them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from runtime.transport.decrypted import DECRYPTED
from runtime.wire.dialling.line import READ
from runtime.wire.rank_loop import RankLoop


class Loop(RankLoop):
    def tick(self, now: float, late: float) -> float | None:
        return None


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made._close_loop()


def test_what_a_thread_leaves_decrypted_wakes_the_one_that_sleeps(loop: Loop) -> None:
    left, right = socket.socketpair()
    found: list[bool] = []
    with left, right:
        loop.watch_descriptor(left.fileno(), READ, lambda _: True)  # and leaves what is there
        sleeper = threading.Thread(target=lambda: found.append(loop.ready(None)), daemon=True)
        sleeper.start()
        while not loop._sleepers:
            pass
        try:
            DECRYPTED.add(left.fileno())
            assert loop.progress()
            sleeper.join(5)
        finally:
            DECRYPTED.discard(left.fileno())
        assert found == [True]
