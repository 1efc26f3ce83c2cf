"""`python -m benchmarks.peers.icmp`: round trips that a peer measures, beside those of ICMP.

Real daemons run in network name spaces between which packets are as late as between the sites of
Grid'5000; the peer at Nancy measures the others with empty messages over TLS. Needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.grid.emulated import EmulatedGrid
from benchmarks.grid.layout import Layout
from benchmarks.grid.lines import Line
from benchmarks.grid.networks import ROOT, missing

SITES = (
    ("Nancy", 0.0),
    ("Nancy", 0.0),
    ("Lyon", 10.5),
    ("Rennes", 11.6),
    ("Bordeaux", 12.6),
    ("Grenoble", 13.2),
    ("Sophia", 17.1),
)
"""Where each peer is, and its round trip from Nancy in milliseconds. The first one measures."""

SETTINGS = 'ports = "7700"\nping_every = 1\nalive_every = 2\nrefresh_every = 2\n'
GCM_PEER = "import sys; from runtime.cli import peer_main; sys.exit(peer_main())"
ECHOES = """
import os, select, socket, struct, sys, time
def sum16(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF
for address in sys.argv[2:]:
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
        for number in range(int(sys.argv[1])):
            head = struct.pack("!BBHHH", 8, 0, 0, os.getpid() & 0xFFFF, number)
            packet = struct.pack("!BBHHH", 8, 0, sum16(head), os.getpid() & 0xFFFF, number)
            began = time.monotonic()
            raw.sendto(packet, (address, 0))
            while select.select([raw], [], [], 1.0)[0]:
                answer = raw.recv(1024)[20:]
                if answer[0] == 0 and answer[4:8] == packet[4:8]:
                    found.append(time.monotonic() - began)
                    break
    print(min(found) * 1000 if found else "nan")
"""


def main() -> None:
    """Start a lab, let it measure, and print what it found beside ICMP."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.icmp", description=__doc__)
    parser.add_argument(
        "--echoes", type=int, default=20, help="ICMP echoes of which the least counts"
    )
    options = parser.parse_args()
    if fault := missing():
        sys.exit(fault)
    found = round_trips(options.echoes)
    print(f"| peer at | lines | ICMP, least of {options.echoes} | peer |\n|---|---|---|---|")
    for site, lines, echo, peer in found:
        print(f"| {site} | {lines:.2f} ms | {echo:.2f} ms | {peer:.2f} ms |")
    print(f"\nthe same order: {inversions(found) == 0}")


RoundTrip = tuple[str, float, float, float]
"""Where a peer is, and its milliseconds by the lines, by ICMP and by the peer at Nancy."""


def round_trips(echoes: int, periods: int = 15) -> list[RoundTrip]:
    """Start a lab on an emulated grid; return what a peer measures after so many periods."""
    names = list(dict.fromkeys(site for site, _ in SITES))
    counts = tuple(sum(site == name for site, _ in SITES) for name in names)
    far = dict(SITES)
    between = {
        (0, number): Line(delay=far[name] / 2000, rate=1e9)
        for number, name in enumerate(names)
        if number
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        EmulatedGrid(Layout(counts, between=between)) as grid,
    ):
        addresses = [one.address for one in grid.clusters.values()]
        daemons = _start(grid, Path(folder), addresses)
        try:
            measured = _measured(grid, Path(folder), len(SITES) - 1, periods)
        finally:
            for one in daemons:
                one.terminate()
            for one in daemons:
                one.wait()
        by_echo = subprocess.run(
            grid.inside("c0", [sys.executable, "-c", ECHOES, str(echoes), *addresses[1:]]),
            capture_output=True, text=True, check=True,
        ).stdout.split()  # fmt: skip
    return [
        (site, rtt or 0.34, float(echo), measured[f"h{number}"])
        for number, ((site, rtt), echo) in enumerate(zip(SITES[1:], by_echo, strict=True), 1)
    ]


def inversions(found: list[RoundTrip]) -> int:
    """Return how many pairs of peers have another order than by ICMP.

    >>> inversions([("a", 1.0, 1.0, 1.1), ("b", 2.0, 2.0, 1.0)])
    1
    """
    return sum(
        (one[2] - other[2]) * (one[3] - other[3]) < 0
        for number, one in enumerate(found)
        for other in found[:number]
    )


def _environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "GCM_FOLDER": str(folder / "gcm"), "PYTHONPATH": str(ROOT)}


def _gcm_peer(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", GCM_PEER, *words],
        env=_environment(folder), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


def _start(grid: EmulatedGrid, folder: Path, addresses: list[str]) -> list[subprocess.Popen[str]]:
    _gcm_peer(folder, "lab", "create", "grid5000", "--supernode", f"{addresses[0]}:7711")
    started = []
    members = [
        ("sup", "c0", "--supernode"),
        *((f"h{n}", f"c{n}", "--peer") for n in range(len(addresses))),
    ]
    for name, cluster, role in members:
        credential = folder / f"{name}.credential"
        _gcm_peer(folder, "lab", "invite", name, role, "-o", str(credential))
        home = folder / name
        home.mkdir()
        is_supernode = role == "--supernode"
        (home / "peer.toml").write_text('ports = "7711"\n' if is_supernode else SETTINGS)
        verb = "supernode" if is_supernode else "boot"
        words = [verb, "--foreground", "--folder", str(home), "--credential", str(credential)]
        with (folder / f"{name}.log").open("w") as log:
            started.append(
                subprocess.Popen(
                    grid.inside(cluster, [sys.executable, "-c", GCM_PEER, *words]),
                    env=_environment(folder),
                    stdout=log,
                    stderr=log,
                    text=True,
                )
            )
    return started


def _measured(grid: EmulatedGrid, folder: Path, peers: int, periods: int) -> dict[str, float]:
    """Return the milliseconds to each peer, some time after all are known."""
    command = [sys.executable, "-c", GCM_PEER, "hosts", "--json", "--folder", str(folder / "h0")]
    found: dict[str, float] = {}
    complete = 0
    for _ in range(60 + periods):
        done = subprocess.run(
            grid.inside("c0", command),
            env=_environment(folder),
            capture_output=True,
            text=True,
            check=False,
        )
        hosts = json.loads(done.stdout) if done.returncode == 0 else []
        found = {
            one["name"].removeprefix("peer:"): one["milliseconds"]
            for one in hosts
            if one.get("milliseconds") is not None
        }
        complete += len(found) == peers
        if complete > periods:
            return found
        time.sleep(2)
    logs = "\n".join(one.read_text()[-500:] for one in folder.glob("*.log"))
    sys.exit(f"only {sorted(found)} were measured\n{logs}")


if __name__ == "__main__":
    main()
