"""Replicas on peers that are started again where they were, with real daemons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.peers.labs import Lab
from tests.integration.peers.test_gcm_run import User, lab_of_three

pytestmark = pytest.mark.mpi

PROGRAM = """\
import os, signal, sys
from mpi4py import MPI
from runtime.membership.rank_link import current

folder, replicas = sys.argv[1], int(sys.argv[2])
me = current()
def mark(name):
    return os.path.join(folder, name)
step, total, is_back = MPI.Checkpoint((0, 0, False))
world = MPI.COMM_WORLD
if me.incarnation > 1:
    open(mark(f"back-{world.rank}-{me.incarnation}"), "w").close()
victims = {2: 1, 5: 0}  # at which step a replica of which rank dies: of the second and the first
while step < 8:
    if world.rank == victims.get(step) and me.incarnation == 1:
        try:  # one of them only
            os.close(os.open(mark(f"died-{step}"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    if step - 1 in victims and not is_back:
        name = mark(f"back-{victims[step - 1]}-2")
        if world.rank == 0:
            world.send(os.path.exists(name), 1)
            is_back = world.recv(source=1)
        elif world.rank == 1:
            world.send(world.recv(source=0), 0)
        is_back = world.bcast(is_back)
    else:
        total += world.allreduce(world.rank + step)
        step, is_back = step + 1, False
        if world.rank == 0:
            print(step, total, flush=True)
    step, total, is_back = MPI.Checkpoint((step, total, is_back))
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with lab_of_three(tmp_path_factory.mktemp("lab"), processes=4) as made:
        yield made


@pytest.mark.parametrize("replicas", [2, 3])
def test_replicas_that_die_are_started_again_at_their_peers(
    lab: Lab, tmp_path: Path, replicas: int
) -> None:
    user = User(lab, tmp_path)
    (user.work / "program.py").write_text(PROGRAM)
    words = ("-n", "4", "-r", str(replicas), "--restart", "--quiet", "program.py")
    code, output, errors = user.run(*words, str(tmp_path), str(replicas))
    lines = [f"{step + 1} {sum(6 + 4 * one for one in range(step + 1))}" for step in range(8)]
    assert (code, output.splitlines()) == (0, lines), errors
    assert (tmp_path / "back-1-2").exists()
    assert (tmp_path / "back-0-2").exists()
    user.nothing_is_reserved()
