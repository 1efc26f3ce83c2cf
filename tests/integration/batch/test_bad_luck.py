"""Runs in jobs of a real Slurm that meet bad luck: nothing is left in a queue or on any host."""

from __future__ import annotations

import os
import random
import re
import signal
import time

import pytest

from tests.integration.batch.site import LONG, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

SEED, KILLS = 2611, 10
LATEST = 8.0
"""Seconds after which a launcher is killed at the latest: ranks run after about half of them."""


@pytest.mark.shows("slurm", "node lost")
def test_a_node_that_is_lost_is_the_reason_and_the_others_are_given_back(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(LONG, 'nodes="2"'))
    assert run.stdout is not None
    assert sorted(run.stdout.readline() for _ in range(4)) == [f"rank {n}\n" for n in range(4)]
    job = slurm.record()
    with slurm.lost(job.nodes[1]):
        code, _, errors = end_of(run)
        fault = f"gcm-deploy: lyon/rhone: the front-end has ended; job {job.number} is NODE_FAIL"
        assert (code, fault in errors) == (204, True), errors
        wait_until(slurm.is_given_back)
        record = slurm.record()
        assert (record.state, record.nodes) == ("NODE_FAIL", job.nodes)


@pytest.mark.shows("slurm", "launcher killed")
def test_launchers_that_are_killed_at_random_times_leave_nothing(slurm: Slurm) -> None:
    times = random.Random(SEED)
    for _ in range(KILLS):
        run = slurm.start(slurm.descriptor(LONG, 'nodes="2"'))
        time.sleep(times.uniform(0.0, LATEST))
        os.kill(run.pid, signal.SIGKILL)
        end_of(run)
        wait_until(slurm.is_given_back)
    wait_until(lambda: slurm.record().state == "CANCELLED")


@pytest.mark.shows("slurm", "detached")
def test_a_detached_run_is_followed_and_ended_from_elsewhere(slurm: Slurm) -> None:
    code, said, _ = slurm.call(*COMMAND, "--detach", str(slurm.descriptor(LONG, 'nodes="2"')))
    assert code == 0
    name = said.split()[0]
    wait_until(lambda: slurm.call(*COMMAND, "logs", name)[1].count("rank") == 4)
    assert re.search(rf"^{name} +running ", slurm.call(*COMMAND, "list")[1], re.MULTILINE)
    job = slurm.record()
    assert (job.state, len(job.nodes)) == ("RUNNING", 2)
    assert slurm.call(*COMMAND, "stop", name)[0] == 0
    code, said, _ = slurm.call(*COMMAND, "attach", name)
    assert (code, sorted(said.splitlines())) == (143, [f"rank {n}" for n in range(4)])
    wait_until(slurm.is_given_back)
    wait_until(lambda: slurm.record().state == "CANCELLED")
