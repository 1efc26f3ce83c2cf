"""When bytes arrive over the line between emulated sites."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.forwarding.distance import DistantListeners, WanLine
from runtime.topology import Wan


@pytest.mark.parametrize(
    ("wan", "sent", "arrivals"),
    [
        (Wan(0.01), [(0.0, 10**9)], [0.01]),
        (Wan(0.01, 1e6), [(0.0, 10_000), (0.0, 10_000)], [0.02, 0.03]),
        (Wan(0.0, 1e6), [(0.0, 10_000), (5.0, 10_000)], [0.01, 5.01]),
        (Wan(0.5, 1e3), [(0.0, 1_000), (0.5, 1_000)], [1.5, 2.5]),
    ],
    ids=["any-rate", "one-behind-the-other", "an-idle-line", "while-the-line-is-busy"],
)
def test_bytes_travel_one_behind_the_other_and_arrive_after_the_delay(
    wan: Wan, sent: list[tuple[float, int]], arrivals: list[float]
) -> None:
    line = WanLine(wan)
    assert [line.arrival(*one) for one in sent] == pytest.approx(arrivals)


def test_a_line_holds_what_is_under_way_on_it_and_at_least_a_mebibyte() -> None:
    assert WanLine(Wan(0.1, 1e9)).holds == 2 * 10**8
    assert WanLine(Wan(0.1)).holds == 1 << 20


def test_last_words_arrive_although_nobody_takes_what_was_sent_to_their_sender(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "rank0")
    listeners = DistantListeners(Wan(0.05))
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            host, _, port = listeners.before(path).partition(":")
            with socket.create_connection((host, int(port)), timeout=20) as outer:
                inner, _ = listener.accept()
                with inner:
                    inner.sendall(b"last words")
                outer.sendall(b"a request that comes too late")
                assert b"".join(iter(lambda: outer.recv(100), b"")) == b"last words"
    finally:
        listeners.close()


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let no more files be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    least = os.dup(0)
    os.close(least)
    resource.setrlimit(resource.RLIMIT_NOFILE, (least, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_lines_go_on_at_once_while_no_more_files_can_be_open(tmp_path: Path) -> None:
    path = str(tmp_path / "rank0")
    listeners = DistantListeners(Wan(0.0))
    try:
        with socket.socket(socket.AF_UNIX) as listener, socket.socket() as late:
            listener.bind(path)
            listener.listen()
            host, _, port = listeners.before(path).partition(":")
            with socket.create_connection((host, int(port)), timeout=20) as outer:
                inner, _ = listener.accept()
                with inner:
                    with no_more_files():
                        late.connect((host, int(port)))
                        began = time.monotonic()
                        for _ in range(40):
                            outer.sendall(b"ping")
                            assert inner.recv(10) == b"ping"
                        assert time.monotonic() - began < 1.0
                    listener.settimeout(20)
                    inner_of_late, _ = listener.accept()
                    inner_of_late.close()
    finally:
        listeners.close()


def test_a_line_to_a_rank_that_has_gone_is_refused(tmp_path: Path) -> None:
    """As its host would: whoever is taken in, and dropped, would try for ever."""
    listeners = DistantListeners(Wan(0.0))
    try:
        host, _, port = listeners.before(str(tmp_path / "gone")).partition(":")
        with socket.create_connection((host, int(port)), timeout=20) as dropped:
            assert not dropped.recv(1)
        with pytest.raises(ConnectionRefusedError), socket.create_connection((host, int(port))):
            pass
    finally:
        listeners.close()
