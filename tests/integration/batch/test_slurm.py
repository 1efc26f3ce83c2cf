"""Runs in jobs of a real Slurm, by the command that a user types; Slurm's own record is asked."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

from tests.integration.batch.site import HELLO, LONG, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import COMMAND

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

DOCTOR = (*COMMAND, "doctor", "--quiet", "--in-job")
SAVES = """
import signal, sys, time
from pathlib import Path
from mpi4py import MPI
rank = MPI.COMM_WORLD.rank
def save(*_):
    if rank == 0:
        Path("saved.txt").write_text("by rank 0")
signal.signal(signal.SIGUSR1, save)
print("rank", rank, flush=True)
while True:
    time.sleep(1)
"""


@pytest.mark.shows("slurm", "script", "submit", "nodes", "start", "output")
def test_a_program_runs_on_the_nodes_that_are_granted_with_a_cluster_beside_it(
    slurm: Slurm,
) -> None:
    path = slurm.descriptor(
        HELLO,
        'nodes="2"',
        '<cluster name="here"><mpi ranks="1"/></cluster>',
    )
    code, said, errors = end_of(slurm.start(path))
    assert (code, errors) == (0, "")
    assert sorted(said.splitlines()) == [
        "0 of 5 on c1", "1 of 5 on c1", "2 of 5 on c2", "3 of 5 on c2", "4 of 5 on c0",
    ]  # fmt: skip
    wait_until(slurm.is_given_back)
    wait_until(lambda: slurm.record().state == "CANCELLED")
    assert slurm.record().nodes == ("c1", "c2")
    fields = slurm.fields()
    assert (fields["TimeLimit"], fields["NumTasks"]) == ("00:05:00", "4")


@pytest.mark.shows("slurm", "queue reason")
def test_the_queue_is_told_in_words_and_waited_for(slurm: Slurm) -> None:
    other = slurm.hold_all()
    run = slurm.start(slurm.descriptor(HELLO), "--verbose")
    wait_until(lambda: len(slurm.queue()) == 2)
    time.sleep(2)  # so that it has asked once
    slurm.run("scancel", other)
    code, said, errors = end_of(run)
    assert code == 0, errors
    assert re.search(r"lyon/rhone: job \d+ is PENDING( \((Resources|Priority)\))?", errors)
    assert re.fullmatch(r"0 of 2 on (c\d)\n1 of 2 on \1", "\n".join(sorted(said.splitlines())))
    wait_until(slurm.is_given_back)


@pytest.mark.shows("slurm", "rejected option")
def test_what_slurm_refuses_is_told_in_its_own_words(slurm: Slurm) -> None:
    code, said, errors = end_of(slurm.start(slurm.descriptor(HELLO, 'queue="none"')))
    assert (code, said) == (203, "")
    assert errors.startswith(
        "gcm-deploy: lyon/rhone: slurm refused the job. Correct <batch>;"
        " a dry run shows the script\n"
        "    sbatch: error: invalid partition specified: none\n"
    )
    wait_until(slurm.is_given_back)


def test_a_job_that_is_cancelled_in_the_queue_ends_the_run(slurm: Slurm) -> None:
    other = slurm.hold_all()
    run = slurm.start(slurm.descriptor(HELLO))
    wait_until(lambda: len(slurm.queue()) == 2)
    mine = next(name for name in slurm.queue() if name.startswith("gcm-"))
    slurm.run("scancel", f"--name={mine}")
    code, _, errors = end_of(run)
    slurm.run("scancel", other)
    assert code == 203
    assert re.search(r"job \d+ is CANCELLED.*, before it had any nodes", errors)
    wait_until(slurm.is_given_back)


@pytest.mark.shows("slurm", "cancel")
def test_a_job_that_is_cancelled_during_the_run_is_named_as_the_reason(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(LONG))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    slurm.run("scancel", f"--name={slurm.queue()[0]}")
    code, _, errors = end_of(run)
    assert code == 204
    assert re.search(r"lyon/rhone: the front-end has ended; job \d+ is CANCELLED", errors)
    wait_until(slurm.is_given_back)


@pytest.mark.shows("slurm", "cancel")
def test_ctrl_c_takes_the_job_out_of_the_queue(slurm: Slurm) -> None:
    other = slurm.hold_all()
    run = slurm.start(slurm.descriptor(HELLO))
    wait_until(lambda: len(slurm.queue()) == 2)
    run.send_signal(signal.SIGINT)
    code, _, _ = end_of(run)
    slurm.run("scancel", other)
    assert code == 130
    wait_until(slurm.is_given_back)


@pytest.mark.shows("slurm", "launcher killed")
def test_the_job_is_cancelled_after_the_launcher_was_killed(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(LONG))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    assert len(slurm.queue()) == 1
    os.kill(run.pid, signal.SIGKILL)
    end_of(run)
    wait_until(slurm.is_given_back)
    wait_until(lambda: slurm.record().state == "CANCELLED")


@pytest.mark.shows("slurm", "launcher killed")
def test_a_job_that_is_queued_when_the_launcher_is_killed_leaves_the_queue(slurm: Slurm) -> None:
    other = slurm.hold_all()
    run = slurm.start(slurm.descriptor(HELLO))
    wait_until(lambda: len(slurm.queue()) == 2)
    os.kill(run.pid, signal.SIGKILL)
    end_of(run)
    wait_until(lambda: len(slurm.queue()) == 1)
    slurm.run("scancel", other)
    wait_until(slurm.is_given_back)


def test_a_job_ends_by_itself_when_the_login_node_goes_down(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(LONG, 'lease="5s"'))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    (lease,) = slurm.leases()
    slurm.kill_all(lease.name, ".cache")
    code, _, errors = end_of(run)
    assert code == 204
    assert re.search(r"lyon/rhone: the front-end has ended; job \d+ is COMPLETED", errors)
    wait_until(slurm.is_given_back)


@pytest.mark.shows("slurm", "walltime")
def test_the_ranks_get_a_signal_and_results_come_home_before_the_walltime_is_over(
    slurm: Slurm,
) -> None:
    batch = 'signal="USR1" signal-before="46s" reserve="40s"'
    path = slurm.descriptor(SAVES, batch, walltime="00:01:00")
    run = slurm.start(path, "--summary")
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    _, shown, _ = slurm.call(*COMMAND, "ps", str(run.pid))
    assert re.search(r"\n  lyon/rhone: 0:00:[45]\d of walltime left\n", shown)
    code, _, errors = end_of(run)
    assert code == 207
    assert re.search(r"gcm-deploy: lyon/rhone: its job has (40|39) s left, so the run was", errors)
    assert re.search(r"\nlyon +\d+ +1 +2 +\d+\.\d +0\.01\d +0\.000\n", errors)
    assert (slurm.work / "saved.txt").read_text() == "by rank 0"
    wait_until(slurm.is_given_back)


def test_doctor_quotes_what_slurm_refuses(slurm: Slurm) -> None:
    path = slurm.descriptor(HELLO, 'nodes="9"')
    code, said, _ = slurm.call(*DOCTOR, str(path))
    assert code == 206
    assert (
        "error[batch-refused] lyon/rhone: slurm would refuse the job: allocation failure: " in said
    )
    wait_until(slurm.is_given_back)


def test_doctor_tries_what_starts_ranks_in_a_job(slurm: Slurm) -> None:
    code, said, _ = slurm.call(*DOCTOR, str(slurm.descriptor(HELLO, 'nodes="2"')))
    assert (code, said.splitlines()[-1]) == (0, "1 host, nothing wrong")
    assert re.search(r"\nlyon/rhone, in job \d+ on c1, c2:\n", said)
    assert re.search(r"\n    \S+/mpiexec -n 2 --host c1:1,c2:1 +starts two ranks\n", said)
    assert re.search(r"\n    srun --mpi=pmi2 --ntasks=2 +\w", said)
    assert re.search(r"\n    interfaces: \w", said)
    wait_until(slurm.is_given_back)
    assert slurm.fields()["TimeLimit"] == "00:01:00"
