"""Ranks whose second replicas are behind ssh, or have another MPI: the run survives a host too."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from runtime.testing.sshd import running_sshd
from tests.faults.test_survived import TWO

if TYPE_CHECKING:
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi

PROGRAM = """
import os, signal
from mpi4py import MPI
from runtime.membership.rank_link import current
world, found = MPI.COMM_WORLD, []
for step in range(20):
    if step == 10 and current().name in {victims}:
        os.kill(os.getpid(), signal.SIGKILL)
    source = MPI.ANY_SOURCE if step % 2 else (world.rank + 1) % world.size
    request = world.isend(step, (world.rank - 1) % world.size)
    found.append(world.allreduce(world.recv(source=source)))
    request.wait()
print("found", sum(found))
"""
UNDISTURBED = ["found 380"]


@pytest.mark.parametrize("victims", [("0:0:0", "1:0:1"), ("1:0:0", "0:0:1")])
@pytest.mark.parametrize(
    "elsewhere",
    [
        pytest.param("ssh", marks=pytest.mark.needs_sshd),
        "openmpi",
    ],
)
def test_a_replica_elsewhere_takes_the_place_of_one_here_and_the_other_way_round(
    bench: Bench,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    elsewhere: str,
    victims: tuple[str, str],
) -> None:
    with ExitStack() as stack:
        if elsewhere == "ssh":
            sshd = stack.enter_context(
                running_sshd(tmp_path, GCM_TEST_RUN=bench.mark, TMPDIR=bench.temporary)
            )
            other = f'{sshd.hop}<front-end python="{sys.executable}"/>{{mpi}}'
        else:
            open_mpi = request.getfixturevalue("open_mpi")
            other = (
                f'<front-end python="{open_mpi}/python"/>'
                f'<mpi ranks="2" command-path="{open_mpi}/mpiexec"/>'
            )
        grid = TWO.replace('<cluster name="b">{mpi}', f'<cluster name="b">{other}')
        program = PROGRAM.replace("{victims}", repr(victims))
        outcome = bench.deploy(bench.plan(program, grid=grid, replicas=2))
        assert bench.wait_until_gone() == []
    assert (outcome.exit_code, outcome.errors) == (0, ())
    assert [bench.recorder.said_by(rank) for rank in ("0:0:0", "0:0:1")] == [UNDISTURBED] * 2
