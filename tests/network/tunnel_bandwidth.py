"""What a tunnel between two isolated sites carries, beside a plain ssh tunnel. Needs root and sshd.

    python -m tests.network.tunnel_bandwidth --turns 3 --delay 2

The plain one is `ssh -R` at one site and `ssh -L` at the other, over the same launcher's host: one
connection, through which bytes are sent as they are. Both in turns, with `--delay` milliseconds
from the host to each site, one way.
"""

from __future__ import annotations

import argparse
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.grid import Line, missing
from runtime.testing.sshd import Sshd
from tests.network.isolated_sites import LAUNCHER, SITES, IsolatedSites

MEBIBYTES = 64
BETWEEN_RANKS = f"""\
import time
from mpi4py import MPI

world = MPI.COMM_WORLD
data, other = bytearray({MEBIBYTES} << 20), 1 - world.rank
world.sendrecv(0, other, source=other)
began = time.perf_counter()
if world.rank:
    world.Recv(data, other)
    world.send(0, other)
else:
    world.Send(data, other)
    world.recv(source=other)
    print("rate", len(data) / (time.perf_counter() - began) / 1e6)
    trips = []
for _ in range(100):
    began = time.perf_counter()
    if world.rank:
        world.recv(source=other)
        world.send(0, other)
    else:
        world.send(0, other)
        world.recv(source=other)
        trips.append(time.perf_counter() - began)
if not world.rank:
    print("trip", 1e3 * sorted(trips)[50], flush=True)
"""
PLAIN = f"""\
import socket, sys, time

size, port = {MEBIBYTES} << 20, int(sys.argv[2])
def take(source, size):
    while size:
        size -= len(source.recv(min(size, 1 << 18))) or sys.exit(1)
if sys.argv[1] == "listen":
    with socket.create_server(("127.0.0.1", port)) as listener:
        print("listening", flush=True)
        there, _ = listener.accept()
    take(there, size)
    there.sendall(b"x")
    for _ in range(100):
        take(there, 1)
        there.sendall(b"x")
    there.recv(1)
else:
    there = socket.create_connection(("127.0.0.1", port))
    there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    began = time.perf_counter()
    there.sendall(bytes(size))
    take(there, 1)
    print("rate", size / (time.perf_counter() - began) / 1e6)
    trips = []
    for _ in range(100):
        began = time.perf_counter()
        there.sendall(b"x")
        take(there, 1)
        trips.append(time.perf_counter() - began)
    print("trip", 1e3 * sorted(trips)[50], flush=True)
"""
PORT = 7900


def ours(sites: IsolatedSites) -> str:
    """Return what two ranks print that measure."""
    code, output, errors = sites.run("--quiet", str(sites.descriptor(BETWEEN_RANKS, 1)), timeout=99)
    assert code == 0, errors
    return output


def plain(sites: IsolatedSites) -> str:
    """Return what two processes print that measure, joined by two plain ssh tunnels."""
    one, two = SITES
    with (
        forwarding(sites, two, "-L", f"{PORT}:127.0.0.1:{PORT}"),
        forwarding(sites, one, "-R", f"{PORT}:127.0.0.1:{PORT}"),
    ):
        words = [sys.executable, "-c", PLAIN]
        listening = sites.grid.popen(two, [*words, "listen", str(PORT)], stdout=subprocess.PIPE)
        assert listening.stdout is not None
        listening.stdout.readline()
        done = sites.grid.run(one, [*words, "dial", str(PORT)], timeout=99)
        listening.stdout.close()
        listening.wait(20)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def forwarding(sites: IsolatedSites, site: str, *words: str) -> Iterator[None]:
    """Let ssh forward a port from the launcher's host to a site, or back."""
    server: Sshd = sites.servers[site]
    process = sites.grid.popen(
        LAUNCHER,
        [
            "ssh", "-F", "none", "-o", "ExitOnForwardFailure=yes", "-i", f"{server.folder}/key",
            "-o", f"UserKnownHostsFile={server.folder}/known", "-p", str(server.port), *words,
            server.address, "echo is forwarded; cat",
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "is forwarded\n"
        yield
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def main() -> None:
    """Measure in turns and print medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--delay", type=float, default=2.0, help="milliseconds to each site")
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(lacking)
    found: dict[str, list[tuple[float, float]]] = {"plain ssh tunnel": [], "between ranks": []}
    line = Line(delay=options.delay / 1e3, rate=1e9)
    with tempfile.TemporaryDirectory() as folder, IsolatedSites.started(Path(folder), line) as made:
        for _ in range(options.turns):
            for name, measure in (("plain ssh tunnel", plain), ("between ranks", ours)):
                figures = dict(re.findall(r"^(rate|trip) (\S+)$", measure(made), re.MULTILINE))
                found[name].append((float(figures["rate"]), float(figures["trip"])))
    for name, rows in found.items():
        rates, trips = zip(*rows, strict=True)
        print(
            f"{name:20} {statistics.median(rates):7.1f} MB/s"
            f" {statistics.median(trips):7.2f} ms there and back   {socket.gethostname()}"
        )


if __name__ == "__main__":
    main()
