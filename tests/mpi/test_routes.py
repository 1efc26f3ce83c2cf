"""Ranks reach each other whatever their clusters let in: directly, called back, or forwarded."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.commands import gcm_deploy

PROGRAM = """
import hashlib
from runtime import MPI

comm = MPI.COMM_WORLD
expected = int(comm.neighborhood(0, 1)) if comm.rank == 0 else 0
others = [rank for rank in range(comm.size) if rank != comm.rank]
for rank in others:
    comm.send((comm.rank, rank), rank, tag=7)
assert [comm.recv(source=rank, tag=7) for rank in others] == [(rank, comm.rank) for rank in others]

sent = hashlib.shake_128(bytes([comm.rank])).digest(3 << 20)
received = bytearray(3 << 20)
left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
comm.Sendrecv(sent, right, recvbuf=received, source=left)
assert received == hashlib.shake_128(bytes([left])).digest(3 << 20)
print(comm.allreduce(comm.rank))
if comm.rank == 0:
    print("hops", expected, int(comm.neighborhood(1, 0)), int(comm.neighborhood(1, 2)))
"""


def deploy(
    folder: Path, reachabilities: list[str], program: str = PROGRAM
) -> subprocess.CompletedProcess[str]:
    """Run the program on one site for each cluster; the second cluster has two ranks."""
    (folder / "program.py").write_text(program)
    sites = "".join(
        f'<site><cluster reachability="{one}"><mpi ranks="{2 if n == 1 else 1}"/></cluster></site>'
        for n, one in enumerate(reachabilities)
    )
    (folder / "grid.xml").write_text(
        '<deployment name="routes"><application script="program.py" comm-world="grid"/>'
        f"<grid>{sites}</grid></deployment>"
    )
    return run(folder, "--quiet")


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return gcm_deploy(*options, folder / "grid.xml")


@pytest.mark.parametrize(
    ("reachabilities", "hops"),
    [
        (["direct", "direct"], 1),
        (["front-end", "front-end"], 3),
        (["direct", "outwards"], 1),
        (["direct", "front-end"], 2),
        (["outwards", "front-end"], 2),
        (["outwards", "outwards"], 3),
        (["outwards", "outwards", "direct"], 2),
        (["front-end", "outwards", "direct", "outwards"], 2),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, list) else str(one),
)
def test_all_ranks_exchange_messages_by_as_many_hops_as_are_foretold(
    tmp_path: Path, reachabilities: list[str], hops: int
) -> None:
    done = deploy(tmp_path, reachabilities)
    ranks = len(reachabilities) + 1
    assert done.returncode == 0, done.stderr
    said = [str(sum(range(ranks)))] * ranks
    assert sorted(done.stdout.splitlines()) == [*said, f"hops {hops} {hops} 1"]
    assert "lost" not in done.stderr


REFUSED = """
from mpi4py import MPI

world = MPI.COMM_WORLD
comm = world.Dup()
try:
    comm.bcast(None, 99) if comm.rank == 2 else comm.Barrier()
except MPI.OutOfStep:
    print("told")
except MPI.Exception:
    print("refused")
world.Barrier()  # nobody has ended before all were told
"""


def test_a_refused_call_is_told_inside_a_cluster_too(tmp_path: Path) -> None:
    done = deploy(tmp_path, ["front-end", "front-end"], REFUSED)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["refused", "told", "told"]


ROUNDS = """
from mpi4py import MPI

comm = MPI.COMM_WORLD
for step in range(10):
    sent = [(step, comm.rank, rank) for rank in range(comm.size)]
    assert comm.alltoall(sent) == [(step, rank, comm.rank) for rank in range(comm.size)]
    for rank in range(comm.size):
        if rank == comm.rank:
            for other in range(comm.size):
                if other != rank:
                    assert comm.sendrecv(step, other, source=other) == step
        else:
            assert comm.sendrecv(step, rank, source=rank) == step
print(comm.rank)
"""


def test_few_connections_are_enough_for_many_peers(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(ROUNDS)
    clusters = '<cluster><mpi ranks="1"/></cluster>' * 4
    (tmp_path / "grid.xml").write_text(
        '<deployment name="few"><application script="program.py" comm-world="grid">'
        '<environment name="GCM_MOST_CONNECTIONS" value="1"/></application>'
        f"<grid><site>{clusters}</site></grid></deployment>"
    )
    done = run(tmp_path, "--format", "json")
    assert done.returncode == 0, done.stderr
    *lines, summary = done.stdout.splitlines()
    assert sorted(lines) == ["0", "1", "2", "3"]
    found = json.loads(summary)["connections"]
    assert found["evictions"] > 0
    assert found["misses"] > 6
    assert found["failures"] == 0


RELAYED = """
<deployment name="relayed">
  <application script="program.py" comm-world="grid" clusters="a,b"/>
  <grid>
    <site name="a"><cluster reachability="outwards"><mpi ranks="1"/></cluster></site>
    <site name="b"><cluster reachability="outwards"><mpi ranks="2"/></cluster></site>
    <site name="c"><cluster name="relay"/></site>
  </grid>
</deployment>
"""


def test_a_cluster_without_ranks_relays(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "grid.xml").write_text(RELAYED)
    done = run(tmp_path, "--format", "json")
    assert done.returncode == 0, done.stderr
    *lines, summary = done.stdout.splitlines()
    assert sorted(lines) == ["3", "3", "3", "hops 2 2 1"]
    ways = json.loads(summary)["connections"]["ways"]
    assert [one["routes"] for one in ways] == [{"through c/relay": 2}]


UNWANTED = """
from time import sleep
from mpi4py import MPI

comm = MPI.COMM_WORLD
if comm.rank == 0:
    sleep(1)  # the other one ends meanwhile
    comm.send("nobody receives this", 1)
"""


def test_a_rank_does_not_wait_for_one_that_has_ended_and_alone_could_dial(tmp_path: Path) -> None:
    done = deploy(tmp_path, ["direct", "outwards"], UNWANTED)
    assert done.returncode == 0, done.stderr
    said, *messages = done.stderr.splitlines()
    assert said.endswith(" received:"), done.stderr  # not: a line is cut
    assert len(messages) == 1, done.stderr
