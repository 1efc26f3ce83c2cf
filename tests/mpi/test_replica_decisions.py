"""What depends on time is decided by one replica of a rank, and is the same in all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.grids import Grid

pytestmark = pytest.mark.mpi


PROGRAM = """\
import os, time
from mpi4py import MPI
from runtime.membership.rank_link import current
name = current().name
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
seen = []


def die_at(point):
    if (name, point) == {victim}:
        os.kill(os.getpid(), 9)


def workers(*tags):
    for step in range(6):
        world.send((rank, step), 0, tag=7)
        if rank == 1:
            world.send((rank, step), 0, tag=8)
            world.send((rank, step), 0, tag=8)
    for step in range(12):
        world.send((rank, step), 0, tag=step % 2)
        die_at("told")
        world.recv(source=0)
    time.sleep(0.02 * rank)
    if rank == 2:
        world.send("first", 0, tag=4)
        time.sleep(0.05)
        world.send("second", 0, tag=4)
    for tag in tags:
        world.send((rank, tag), 0, tag=tag)
    world.recv(source=0)


def master():
    status = MPI.Status()
    for step in range(6):
        several = [world.irecv(source=MPI.ANY_SOURCE, tag=7), world.irecv(source=1)]
        several.append(world.irecv(source=1, tag=8))
        seen.extend(one.wait() for one in reversed(several))
    for step in range(6 * (size - 2)):
        world.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        seen.append((status.source, status.tag))
    for step in range(12):
        first = world.irecv(source=1 if step % 3 else MPI.ANY_SOURCE, tag=MPI.ANY_TAG)
        second = world.irecv(source=MPI.ANY_SOURCE, tag=step % 2)
        for request in (second, first):
            seen.append((request.wait(status), status.source, status.tag))
        if step == 6:
            die_at("sends")
        for other in range(1, size):
            world.send(len(seen), other)
    requests = [world.irecv(source=one, tag=5) for one in range(1, size)]
    while not requests[0].Test():
        seen.append("not yet")
    die_at("tested")
    seen.append(MPI.Request.waitany(requests[1:]))
    self = MPI.COMM_SELF
    mixed = [self.irecv(tag=3), world.irecv(source=2, tag=4), self.isend("x", 0, 3)]
    for _ in mixed:
        seen.append(MPI.Request.waitany(mixed))
    mixed = [world.irecv(source=2, tag=4), self.irecv(tag=3)]
    while not MPI.Request.testany(mixed)[1]:
        seen.append("none")
    self.send("y", 0, 3)
    while (all_done := MPI.Request.testall(mixed))[0] is False:
        seen.append("not all")
    seen.append(all_done)
    while not world.iprobe(tag=6):
        seen.append("nothing")
    world.probe(tag=6, status=status)
    seen.append((status.source, world.recv(source=status.source, tag=6)))
    die_at("probed")
    message = world.mprobe(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
    seen.append((status.source, status.tag, message.recv()))
    useless = world.irecv(source=1, tag=9)
    useless.Cancel()
    useless.Wait(status)
    seen.append(status.Is_cancelled())
    random = MPI.Random()
    seen.extend([MPI.Wtime(), MPI.Wtime(), random.random(), *random.generator().random(2)])
    seen.append(MPI.Random().random())
    for other in range(1, size):
        world.send(None, other)


master() if rank == 0 else workers(5, 6)
if rank == 0:
    clocks = seen[-6:-4]
    assert clocks[0] <= clocks[1], clocks
    with open("{folder}/" + name, "w") as file:
        print(*seen, sep="\\n", file=file)
print("ended")
"""


@pytest.mark.parametrize(
    "victim",
    [
        None,
        ("0:0:0", "tested"),
        ("0:0:1", "told"),
    ],
    ids=lambda victim: "nobody" if victim is None else " at ".join(victim),
)
def test_replicas_see_the_same_whatever_comes_first(
    grid: Grid, tmp_path: Path, victim: tuple[str, str] | None
) -> None:
    folder = tmp_path / "seen"
    folder.mkdir()
    program = PROGRAM.replace("{victim}", repr(victim)).replace("{folder}", str(folder))
    said = grid("3+3", program, replicas=2, timeout=30)
    assert [said[rank] for rank in range(3)] == [["ended"]] * 3
    written = {file.name: file.read_text() for file in folder.iterdir()}
    dead = victim[0] if victim else ""
    assert written.keys() == {"0:0:0", "0:1:0"} - {dead}
    assert len(set(written.values())) == 1


ORDERED = """\
from mpi4py import MPI
from runtime.mpi.progress.native_waits import current
world = MPI.COMM_WORLD
if world.rank == 0:
    for tag in range(100):
        world.send(tag, 1, tag=tag)
else:
    print([world.recv(source=0) for _ in range(100)] == list(range(100)))
    print(current().connections.core.made)
"""


def test_messages_of_one_rank_come_in_order_and_none_of_them_is_decided_about(grid: Grid) -> None:
    assert grid("2+2", ORDERED, replicas=2)[1] == ["True", "0"]
