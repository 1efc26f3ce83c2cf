"""Runs in jobs of a real Slurm, by the command that a user types; Slurm's own record is asked."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.integration.batch.batch_contract import BatchSystemContract
from tests.integration.batch.site import HELLO, LONG, end_of, wait_until
from tests.integration.batch.slurm_daemons import Slurm
from tools.on_grids import COMMAND, ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.needs_root, pytest.mark.needs_slurm]

DOCTOR = (*COMMAND, "doctor", "--quiet", "--in-job")


class TestSlurm(BatchSystemContract):
    waits = r"PENDING \((Resources|Priority)\)"
    refuses = "\n    sbatch: error: invalid partition specified: nowhere\n"
    leaves_no_folder = True

    @pytest.fixture
    def site(self, slurm: Slurm) -> Slurm:
        return slurm


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


def test_a_run_in_the_queue_says_so_to_whoever_asks(slurm: Slurm) -> None:
    other = slurm.hold_all()
    assert slurm.call(*COMMAND, "--detach", str(slurm.descriptor(HELLO)))[0] == 0
    wait_until(lambda: "PENDING" in slurm.call(*COMMAND, "list")[1])
    words = r"job \d+ is PENDING \(\w+\)"
    assert re.search(rf"queued: {words}", slurm.call(*COMMAND, "list")[1])
    told = slurm.call(*COMMAND, "waits")[1]
    assert re.search(rf"\n  lyon/rhone: {words}.*\n  no rank runs yet\n$", told), told
    assert slurm.call(*COMMAND, "stop")[0] == 0
    slurm.run("scancel", other)
    wait_until(slurm.is_given_back)
    assert slurm.call(*COMMAND, "attach")[0] == 143


def test_ctrl_c_takes_the_job_out_of_the_queue(slurm: Slurm) -> None:
    other = slurm.hold_all()
    run = slurm.start(slurm.descriptor(HELLO))
    wait_until(lambda: len(slurm.queue()) == 2)
    run.send_signal(signal.SIGINT)
    code, _, _ = end_of(run)
    slurm.run("scancel", other)
    assert code == 130
    wait_until(slurm.is_given_back)


def test_a_job_ends_by_itself_when_the_login_node_goes_down(slurm: Slurm) -> None:
    run = slurm.start(slurm.descriptor(LONG, 'lease="5s"'))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    (lease,) = slurm.leases()
    slurm.kill_all(lease.name, ".cache")
    code, _, errors = end_of(run)
    assert code == 204
    assert re.search(r"lyon/rhone: .* job \d+ is COMPLETED", errors)
    wait_until(slurm.is_given_back)


def test_a_job_is_given_back_when_the_launcher_and_its_guard_are_killed_at_once(
    slurm: Slurm,
) -> None:
    run = slurm.start(slurm.descriptor(LONG, 'lease="5s"'))
    assert run.stdout is not None
    assert run.stdout.readline().startswith("rank")
    run.send_signal(signal.SIGSTOP)  # it sees nothing of the other's end
    slurm.kill_all("gcm-guard")
    run.kill()
    end_of(run)
    wait_until(slurm.is_given_back)


@pytest.mark.parametrize("until", [0, 4])
def test_the_program_of_the_page_saves_its_state_in_time(slurm: Slurm, until: int) -> None:
    page = (Path(ROOT) / "docs" / "batch.md").read_text()
    (program,) = re.findall(r"```python\n# steps.py\n(.*?)```", page, re.S)
    program = program.replace("> 300", f"> {until}" if until else ">= 0")
    batch = 'signal-before="46s" reserve="40s"'
    code, _, errors = end_of(slurm.start(slurm.descriptor(program, batch, walltime="00:01:00")))
    assert code == (0 if until else 207), errors
    saved = [int((slurm.work / f"saved{rank}").read_text()) for rank in range(2)]
    assert min(saved) > 20, saved
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
    assert "\n    a run starts its ranks with gcm-pmi on each node, over srun\n" in said
    assert re.search(r"\n    srun --mpi=pmi2 --ntasks=2 +\w", said)
    assert re.search(r"\n    interfaces: \w", said)
    wait_until(slurm.is_given_back)
    assert slurm.fields()["TimeLimit"] == "00:01:00"
