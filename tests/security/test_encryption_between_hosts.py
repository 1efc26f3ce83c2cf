"""What goes from one host to another is encrypted unless somebody says otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.grid import EmulatedGrid
from tests.security.conftest import MARKER, running, two_hosts

pytestmark = [pytest.mark.needs_root, pytest.mark.mpi]

# Looks at every packet of a host, and tells how many bytes of another one's came, and what is said.
ONLOOKER = f"""
import json, select, socket, sys
onlooker = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
onlooker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
other = socket.inet_aton(sys.argv[1])
print("looks", flush=True)
seen = marked = 0
ends = False
while True:
    ends = ends or bool(select.select([sys.stdin], [], [], 0)[0])
    if not select.select([onlooker], [], [], 0 if ends else 0.1)[0]:
        if ends:  # and all that has come before has been read
            break
        continue
    packet = onlooker.recv(70000)
    if packet[9:10] == b"\\6" and other in (packet[12:16], packet[16:20]):
        seen += len(packet)
        marked += packet.count({MARKER.encode()!r})
print(json.dumps([seen, marked]), flush=True)
"""


def overheard(grid: EmulatedGrid, folder: Path, encryption: str) -> tuple[int, int, str]:
    """Return what an onlooker at the first host sees of a run, and the run's certificate."""
    second = grid.clusters["c1"].address
    onlooker = grid.popen(
        "c0",
        [sys.executable, "-c", ONLOOKER, second],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with onlooker:
        assert onlooker.stdout is not None
        assert onlooker.stdout.readline() == "looks\n"
        with running(folder, two_hosts(grid, encryption), 4, grid) as run:
            _, certificate = run.secrets()
            run.end()
        said, _ = onlooker.communicate("enough\n", timeout=60)
    seen, marked = json.loads(said)
    return seen, marked, certificate


def test_an_onlooker_reads_nothing_of_what_ranks_tell_each_other(
    emulated: EmulatedGrid, tmp_path: Path
) -> None:
    seen, marked, certificate = overheard(emulated, tmp_path, "")
    assert seen > 500_000
    assert marked == 0
    assert "BEGIN CERTIFICATE" in certificate


def test_an_onlooker_reads_everything_where_somebody_turned_encryption_off(
    emulated: EmulatedGrid, tmp_path: Path
) -> None:
    seen, marked, certificate = overheard(emulated, tmp_path, "none")
    assert seen > 500_000
    assert marked > 20
    assert certificate == ""
