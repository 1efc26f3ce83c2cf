"""Emulated sites at a distance: `--emulate 2x2x1 --wan 40ms,400mbit`, without root."""

from __future__ import annotations

from pathlib import Path

from tests.commands import gcm_deploy

PROGRAM = """
import hashlib
import time
from mpi4py import MPI

comm = MPI.COMM_WORLD
data = hashlib.shake_128(b"over the line").digest(4 << 20)

def there_and_back(value, other):
    comm.Barrier()
    began = time.perf_counter()
    if comm.rank == 0:
        comm.send(value, other)
        assert comm.recv(source=other) == value
    elif comm.rank == other:
        comm.send(comm.recv(source=0), 0)
    return time.perf_counter() - began

for other in (1, 2):
    there_and_back(b"connects", other)
    times = [min(there_and_back(value, other) for _ in range(2)) for value in (b"x", data)]
    if comm.rank == 0:
        print(other, *times)
"""


def test_messages_between_sites_take_the_time_of_the_line_and_others_do_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    options = ["--quiet", "--emulate", "2x2x1", "--wan", "40ms,400mbit"]
    done = gcm_deploy(*options, tmp_path / "program.py")
    assert done.returncode == 0, done.stderr
    near, far = ([float(word) for word in line.split()[1:]] for line in done.stdout.splitlines())
    # there and back; upper limits would only measure how busy this machine is
    assert far[0] >= 0.08
    assert far[1] >= 0.08 + 2 * (4 << 20) * 8 / 400e6
    assert near[0] < far[0]


def test_a_line_needs_sites_to_lie_between(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("")
    done = gcm_deploy("--emulate", "2x2", "--wan", "5ms", tmp_path / "program.py")
    assert done.returncode == 202
    assert "--wan is the line between sites of --emulate, of which there are two or more" in (
        done.stderr
    )
