"""A hub with two ends on this machine, as processes: what they carry, refuse and survive."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from runtime.launchers.wire import frame
from runtime.tunnels import end, hub
from runtime.tunnels.frames import DATA, OPEN, PIECE, PING, WINDOW, number_of
from tools.on_grids import ROOT

PATIENCE = 20.0
EVIL = (
    "import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1])); sys.stdout.flush(); input()"
)


def end_in(folder: Path, me: int) -> dict[str, Any]:
    """Return how the hub starts one of two ends."""
    sockets = {1 - me: str(folder / f"to{me}")}
    told = end.TunnelEndSettings(me, ("gcm-", f"end{me}"), sockets, str(folder / f"in{me}"))
    argv = [sys.executable, "-m", end.MODULE, told.text]
    return {"argv": argv, "environment": {}, "marker": told.marker}


class Tunnel:
    """A hub, its ends, and sockets as front-ends have them."""

    def __init__(self, folder: Path, ends: list[dict[str, Any]] | None = None) -> None:
        self.folder = folder
        self.targets = []
        for number in range(2):
            target = socket.socket(socket.AF_UNIX)
            target.bind(str(folder / f"in{number}"))
            target.listen()
            target.settimeout(PATIENCE)
            self.targets.append(target)
        told = ends or [end_in(folder, 0), end_in(folder, 1)]
        self.hub = subprocess.Popen(
            [sys.executable, "-m", hub.MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        assert self.hub.stdin is not None
        self.hub.stdin.write(json.dumps(told) + "\n")
        self.hub.stdin.flush()

    def told(self) -> dict[str, Any]:
        """Return the next line of the hub."""
        assert self.hub.stdout is not None
        assert select.select([self.hub.stdout], [], [], PATIENCE)[0], "the hub says nothing"
        found: dict[str, Any] = json.loads(self.hub.stdout.readline())
        return found

    def connect(self, me: int) -> tuple[socket.socket, socket.socket]:
        """Return a connection from the front-end of one end, and where it comes out."""
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(PATIENCE)
        made.connect(str(self.folder / f"to{me}"))
        return made, self.accept(1 - me)

    def accept(self, me: int) -> socket.socket:
        came, _ = self.targets[me].accept()
        came.settimeout(PATIENCE)
        return came

    def close(self) -> None:
        assert self.hub.stdin is not None
        assert self.hub.stdout is not None
        self.hub.stdin.close()
        self.hub.wait(PATIENCE)
        self.hub.stdout.close()
        for target in self.targets:
            target.close()


@pytest.fixture
def tunnel(tmp_path: Path) -> Iterator[Tunnel]:
    made = Tunnel(tmp_path)
    try:
        assert made.told() == {"ready": True}
        yield made
    finally:
        made.close()


def send_all(target: socket.socket, data: bytes) -> None:
    target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def receive(source: socket.socket) -> bytes:
    found = b""
    while data := source.recv(PIECE):
        found += data
    return found


def test_bytes_go_both_ways_and_each_direction_ends_by_itself(tunnel: Tunnel) -> None:
    here, there = tunnel.connect(0)
    much = hashlib.shake_128(b"seed").digest(3 * WINDOW)
    with here, there:
        sending = threading.Thread(target=send_all, args=(here, much))
        sending.start()
        assert receive(there) == much
        sending.join()
        there.sendall(b"an answer behind the end of the question")
        there.close()
        assert receive(here) == b"an answer behind the end of the question"


def test_a_reader_that_stops_delays_no_other_connection(tunnel: Tunnel) -> None:
    slow, unread = tunnel.connect(0)
    quick, there = tunnel.connect(1)
    with slow, unread, quick, there:
        slow.setblocking(False)
        sent = 0
        while select.select([], [slow], [], 0.5)[1]:
            sent += slow.send(bytes(PIECE))
        assert WINDOW <= sent < 3 * WINDOW
        for source, target in ((quick, there), (there, quick)):
            source.sendall(b"at once")
            assert target.recv(PIECE) == b"at once"


def test_where_nobody_listens_the_connection_is_closed(tunnel: Tunnel) -> None:
    tunnel.targets[1].close()
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(PATIENCE)
        made.connect(str(tunnel.folder / "to0"))
        assert made.recv(1) == b""


def test_only_the_user_can_connect_to_an_end(tunnel: Tunnel) -> None:
    assert (tunnel.folder / "to0").stat().st_mode & 0o777 == 0o600


def test_figures_are_told_at_the_end_and_all_processes_go(tunnel: Tunnel) -> None:
    here, there = tunnel.connect(0)
    with here, there:
        here.sendall(b"hello")
        assert there.recv(PIECE) == b"hello"
    assert tunnel.hub.stdin is not None
    tunnel.hub.stdin.close()
    (row,) = tunnel.told()["carried"]
    assert row[:5] == [0, 1, 1, 5, 0]
    tunnel.hub.wait(PATIENCE)
    with socket.socket(socket.AF_UNIX) as made, pytest.raises(ConnectionRefusedError):
        made.connect(str(tunnel.folder / "to0"))


def test_connections_end_with_the_end_that_is_killed_and_the_launcher_hears_it(
    tunnel: Tunnel,
) -> None:
    here, there = tunnel.connect(0)
    found = subprocess.run(
        ["pgrep", "-P", str(tunnel.hub.pid)], capture_output=True, text=True, check=True
    )
    with here, there:
        os.kill(int(found.stdout.split()[1]), signal.SIGKILL)
        assert tunnel.told() == {"gone": 1, "code": -signal.SIGKILL}
        assert here.recv(1) == b""


@pytest.mark.parametrize(
    "said",
    [
        frame(DATA, number_of(7, 0), b"for nobody"),
        frame(OPEN, number_of(0, 0)),
        frame(DATA, number_of(1, 0), bytes(PIECE + 1))[:64],
    ],
    ids=["no such end", "itself", "too long"],
)
def test_an_end_that_says_what_none_does_is_let_go(tmp_path: Path, said: bytes) -> None:
    words = (b"\ngcm-evil\n" + said).hex()
    evil = [sys.executable, "-c", EVIL, words]
    told = {"argv": evil, "environment": {}, "marker": ["gcm-", "evil"]}
    tunnel = Tunnel(tmp_path, [told, end_in(tmp_path, 1)])
    try:
        found = tunnel.told()
        if "ready" in found:  # the other end was quicker
            found = tunnel.told()
        assert found["gone"] == 0
    finally:
        tunnel.close()


FLOOD = """
import sys
from runtime.launchers.wire import frame
from runtime.tunnels.frames import DATA, OPEN, PIECE, number_of
sys.stdout.buffer.write(b"\\ngcm-end0\\n")
for _ in range(1000):  # 64 MB to an end that does not read, between words to another one
    sys.stdout.buffer.write(frame(DATA, number_of(1, 0), bytes(PIECE)))
    sys.stdout.buffer.write(frame(OPEN, number_of(2, 0)))
"""
SILENT = "import sys, time; print(sys.argv[1], flush=True); time.sleep(60)"


def test_an_end_that_floods_others_in_turn_fills_no_memory_of_the_hub(tmp_path: Path) -> None:
    words = [["-c", FLOOD], *(["-c", SILENT, f"\ngcm-end{number}"] for number in (1, 2))]
    told = [
        {"argv": [sys.executable, *one], "environment": {}, "marker": ["gcm-", f"end{number}"]}
        for number, one in enumerate(words)
    ]
    tunnel = Tunnel(tmp_path, told)
    try:
        assert tunnel.told() == {"ready": True}
        status, peaks = Path(f"/proc/{tunnel.hub.pid}/status"), [0, 1]
        while len(peaks) < 5 or peaks[-2] < peaks[-1] < 48 << 10:
            time.sleep(1)  # what comes in a second is far more than what may be held
            peaks.append(int(status.read_text().partition("VmHWM:")[2].split()[0]))
        assert peaks[-1] < 48 << 10, f"{peaks[-1]:,} KiB"
    finally:
        tunnel.close()


def test_an_end_that_takes_nothing_is_let_go_and_no_other_waits_for_it() -> None:
    told: queue.Queue[Mapping[str, Any]] = queue.Queue()
    orders, no_more = os.pipe()
    words = [["-c", FLOOD], *(["-c", SILENT, f"\ngcm-end{number}"] for number in (1, 2))]
    ends = [
        hub.start_end(number, {"argv": [sys.executable, *one], "environment": {},
                               "marker": ["gcm-", f"end{number}"]})
        for number, one in enumerate(words)
    ]  # fmt: skip
    made = hub.TunnelHub(ends, orders, told.put, lease=0.5)
    serves = threading.Thread(target=made.run)
    serves.start()
    try:
        assert told.get(timeout=PATIENCE) == {"ready": True}
        gone = [told.get(timeout=PATIENCE) for _ in range(2)]
        # the first one ends by itself, once it could say all that it has to say
        assert gone == [{"gone": 1, "code": -signal.SIGKILL}, {"gone": 0, "code": 0}]
    finally:
        os.close(no_more)
        serves.join(PATIENCE)
        made.close()
        os.close(orders)


def test_who_asks_and_reads_no_answer_fills_no_memory_of_another_end(tmp_path: Path) -> None:
    told = end_in(tmp_path, 1)
    target = socket.socket(socket.AF_UNIX)
    target.bind(str(tmp_path / "in1"))
    target.listen()
    pipe = subprocess.PIPE
    with target, subprocess.Popen(told["argv"], cwd=ROOT, stdin=pipe, stdout=pipe) as asked:
        assert asked.stdin is not None
        assert asked.stdout is not None
        marker = f"\n{''.join(told['marker'])}\n".encode()
        assert asked.stdout.read(len(marker)) == marker
        status = Path(f"/proc/{asked.pid}/status")
        peaks = []
        for _ in range(60):  # 600,000 questions
            asked.stdin.write(frame(OPEN, number_of(0, 7)) * 10_000)
            peaks.append(int(status.read_text().partition("VmRSS:")[2].split()[0]))
        asked.kill()
    assert peaks[-1] - peaks[0] < 4 << 10, f"{peaks[-1]:,} KiB"


def test_a_round_trip_is_measured_with_the_clock_of_the_hub(tmp_path: Path) -> None:
    lies = ("inf", "1e308", "nan", "-1", "words")
    words = (b"\ngcm-end0\n" + b"".join(frame(PING, 0, one.encode()) for one in lies)).hex()
    evil = [sys.executable, "-c", EVIL, words]
    told = {"argv": evil, "environment": {}, "marker": ["gcm-", "end0"]}
    tunnel = Tunnel(tmp_path, [told, end_in(tmp_path, 1)])
    try:
        assert tunnel.told() == {"ready": True}
        made = socket.socket(socket.AF_UNIX)
        with made:
            made.connect(str(tmp_path / "to1"))
            time.sleep(0.5)
            assert tunnel.hub.stdin is not None
            tunnel.hub.stdin.close()
            (row,) = tunnel.told()["carried"]
        assert row == [0, 1, 1, 0, 0, None]
    finally:
        tunnel.close()
