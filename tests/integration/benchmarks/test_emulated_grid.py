"""The emulated grid with real sockets: its delays and rates, cuts, firewalls, and its end."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.grid import SSH, EmulatedGrid, EmulationError, Layout, Line, attach
from benchmarks.grid.networks import ROOT

pytestmark = [pytest.mark.needs_root, pytest.mark.usefixtures("emulation")]

DELAY = 0.020
RATE = 50e6
BLOCKED = 0.5

SERVER = """
import socket, sys
listener = socket.create_server(("", 7000))
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    with connection:
        while data := connection.recv(1 << 20):
            if len(data) == 1:
                connection.sendall(data)
            elif data.endswith(b"!"):
                connection.sendall(b"!")
"""

CLIENT = """
import socket, sys, time
connection = socket.create_connection((sys.argv[1], 7000), timeout=10)
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for _ in range(7):
    begun = time.monotonic()
    connection.sendall(b"x")
    connection.recv(1)
    print(time.monotonic() - begun)
size = int(sys.argv[2])
begun = time.monotonic()
if size:
    connection.sendall(bytes(size) + b"!")
    connection.recv(1)
    print(time.monotonic() - begun)
"""

CONNECT = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 7000), timeout=float(sys.argv[2])).close()
    print("reached")
except OSError as error:
    print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def grid(emulation: None) -> Iterator[EmulatedGrid]:
    layout = Layout((2, 1), wan=Line(DELAY, RATE))
    with EmulatedGrid(layout) as grid, contextlib.ExitStack() as stack:
        for name in grid.clusters:
            command = [sys.executable, "-c", SERVER]
            server = stack.enter_context(grid.popen(name, command, stdout=subprocess.PIPE))
            assert server.stdout is not None
            assert server.stdout.readline() == "listening\n"
            stack.callback(server.terminate)
        yield grid


def client(grid: EmulatedGrid, source: str, target: str, size: int = 0) -> list[float]:
    address = grid.clusters[target].address
    done = grid.run(source, [sys.executable, "-c", CLIENT, address, str(size)], timeout=60)
    assert done.returncode == 0, done.stderr
    return [float(line) for line in done.stdout.split()]


def connecting(grid: EmulatedGrid, source: str, target: str, seconds: float = 10.0) -> str:
    """Return what comes of it; who expects that nothing comes through waits for less long."""
    words = [sys.executable, "-c", CONNECT, grid.clusters[target].address, str(seconds)]
    return grid.run(source, words, timeout=60).stdout.strip()


def test_the_way_to_another_site_takes_twice_the_delay_and_back(grid: EmulatedGrid) -> None:
    # how late packets are depends on the machine; that none is early does not
    assert min(client(grid, "c0", "c2")) >= 2 * DELAY


def test_a_site_is_nearer_than_another_one(grid: EmulatedGrid) -> None:
    assert statistics.median(client(grid, "c0", "c1")) < 2 * DELAY


def test_no_more_gets_through_than_the_rate_allows_and_all_of_it_arrives(
    grid: EmulatedGrid,
) -> None:
    megabyte = 1_000_000
    before = {one.line: one.bytes for one in grid.statistics().lines}
    taken = client(grid, "c0", "c2", megabyte)[-1]
    after = {one.line: one.bytes for one in grid.statistics().lines}
    assert taken >= 2 * DELAY + megabyte * 8 / RATE
    carried = {name: after[name] - before[name] for name in after}
    assert carried["site 0 to site 1"] > megabyte
    assert carried["c0 to its site"] < 1000  # the system may ask for its neighbours


def test_a_cluster_has_its_own_name_and_knows_the_others(grid: EmulatedGrid) -> None:
    assert grid.run("c1", ["hostname"], timeout=10).stdout == "c1\n"
    assert "10.77.1.1 c2\n" in grid.run("c0", ["cat", "/etc/hosts"], timeout=10).stdout
    with pytest.raises(ValueError, match="no cluster 'c7'; there are c0, c1, c2"):
        grid.run("c7", ["true"], timeout=10)


def test_programs_run_in_the_folder_they_are_told(grid: EmulatedGrid, tmp_path: Path) -> None:
    assert grid.run("c1", ["pwd"], timeout=10).stdout == f"{os.getcwd()}\n"
    assert grid.run("c1", ["pwd"], timeout=10, cwd=str(tmp_path)).stdout == f"{tmp_path}\n"


def test_the_stand_in_for_ssh_runs_commands_in_other_clusters(grid: EmulatedGrid) -> None:
    command = [SSH, "-o", "BatchMode=yes", "-p22", "me@10.77.1.1", "--", "hostname; echo $SECRET"]
    done = grid.run("c0", command, timeout=10, env={**os.environ, "SECRET": "told"})
    assert (done.stdout, done.returncode) == ("c2\n\n", 0)
    assert grid.run("c0", [SSH, "c1", "exit 7"], timeout=10).returncode == 7
    unknown = grid.run("c0", [SSH, "elsewhere", "true"], timeout=10)
    assert unknown.returncode == 255
    assert "no host elsewhere" in unknown.stderr


def test_what_goes_through_ssh_between_sites_is_as_late_as_on_the_line(
    grid: EmulatedGrid,
) -> None:
    with grid.popen(
        "c0", [SSH, "c2", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as passed:
        assert passed.stdin is not None
        assert passed.stdout is not None
        begun = time.monotonic()
        passed.stdin.write("there and back\n")
        passed.stdin.flush()
        assert passed.stdout.readline() == "there and back\n"
        assert time.monotonic() - begun >= 2 * DELAY
        passed.stdin.close()
        assert passed.wait(timeout=10) == 0


def test_nothing_passes_a_cut_until_it_heals(grid: EmulatedGrid) -> None:
    grid.cut("c0", "c2")
    assert connecting(grid, "c0", "c2", BLOCKED) == "TimeoutError"
    assert connecting(grid, "c1", "c2") == "reached"
    grid.heal("c0", "c2")
    assert connecting(grid, "c0", "c2") == "reached"


def test_behind_a_firewall_one_reaches_others_but_is_not_reached(grid: EmulatedGrid) -> None:
    grid.firewall("c2")
    assert connecting(grid, "c0", "c2", BLOCKED) == "TimeoutError"
    assert connecting(grid, "c2", "c0") == "reached"
    grid.firewall("c2", [7000])
    assert connecting(grid, "c0", "c2") == "reached"
    grid.open("c2")


def test_what_the_forwarder_cannot_do_is_said_and_changes_nothing(grid: EmulatedGrid) -> None:
    with pytest.raises(EmulationError, match="no cluster 'c9'"):
        grid.cut("c0", "c9")
    assert connecting(grid, "c0", "c2") == "reached"


def test_private_addresses_are_the_same_in_every_cluster() -> None:
    with EmulatedGrid(Layout((1, 1)), private=["192.168.7.1/24"]) as grid:
        for cluster in grid.clusters:
            shown = grid.run(cluster, ["ip", "-4", "addr"], timeout=10).stdout
            assert "192.168.7.1" in shown


def is_alive(process: int) -> bool:
    return os.path.exists(f"/proc/{process}/cmdline") and bool(
        Path(f"/proc/{process}/cmdline").read_bytes()
    )


def await_end(process: int) -> None:
    deadline = time.monotonic() + 20
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(process)


def test_a_closed_grid_ends_what_still_runs_in_it() -> None:
    with EmulatedGrid(Layout((1,))) as grid:
        program = "trap '' TERM; echo; sleep 1000 & wait"
        process = grid.popen("c0", ["sh", "-c", program], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL


OWNER = """
import subprocess, sys, time
from benchmarks.grid import EmulatedGrid, Layout
grid = EmulatedGrid(Layout((1,)))
process = grid.popen("c0", ["sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
process.stdout.readline()  # now it is in the cluster
print(process.pid, grid.forwarder, flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("victim", ["owner", "forwarder"])
def test_nothing_is_left_when_somebody_is_killed(victim: str) -> None:
    command = [sys.executable, "-c", OWNER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout is not None
        inside, forwarder = map(int, owner.stdout.readline().split())
        os.kill(owner.pid if victim == "owner" else forwarder, signal.SIGKILL)
        try:
            if victim == "owner":
                await_end(forwarder)
            await_end(inside)
        finally:
            owner.kill()


PUBLISHER = """
import sys
from benchmarks.grid import EmulatedGrid, Layout
with EmulatedGrid(Layout((1,))) as grid:
    grid.publish(sys.argv[1])
print("published")
"""


def test_a_named_grid_outlives_who_made_it_until_it_is_told_to_end() -> None:
    name = f"test-{os.getpid()}"
    made = [sys.executable, "-c", PUBLISHER, name]
    assert subprocess.check_output(made, cwd=ROOT, timeout=60) == b"published\n"
    with attach(name) as grid:
        assert grid.run("c0", ["hostname"], timeout=10).stdout == "c0\n"
        with EmulatedGrid(Layout((1,))) as other, pytest.raises(EmulationError, match="already is"):
            other.publish(name)
        grid.end()
    with pytest.raises(EmulationError, match=f"no grid named '{name}'"):
        attach(name)


def test_the_command_line_makes_enters_and_ends_a_grid() -> None:
    command = [sys.executable, "-m", "benchmarks.grid", "--name", f"cli-{os.getpid()}"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, cwd=ROOT, check=False, timeout=60
        )

    assert run("up", "--sites", "1,1", "--wan", "1,100").stdout.splitlines() == [
        "c0  10.77.0.1  site 0",
        "c1  10.77.1.1  site 1",
    ]
    try:
        assert run("in", "c1", "hostname").stdout == "c1\n"
        assert "no cluster 'x'" in run("cut", "c0", "x").stderr
        for words in (["cut", "c0", "c1"], ["heal", "c0", "c1"], ["wan", "2,50"], ["lan", "1,1"]):
            assert run(*words).returncode == 0
        assert "site 0 to site 1" in run("stat").stdout
    finally:
        run("down")
    assert "there is no grid named" in run("stat").stderr
