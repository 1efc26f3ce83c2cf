"""What Slurm is told, and how its words are read; the lines were printed by 22.05.8."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.allocations import GrantedJob, JobRequest, present_job
from runtime.allocations.slurm import SLURM


def test_everything_that_is_asked_for_is_in_the_script_and_own_options_come_last() -> None:
    request = JobRequest(
        "slurm",
        nodes=4,
        tasks_per_node=8,
        walltime=7230,
        queue="short",
        account="physics",
        qos="high",
        constraint="ib&haswell",
        reservation="course",
        lease=10,
        options=("--gres=gpu:1", "--exclusive"),
    )
    script = SLURM.script(request, "gcm-1", ".cache/gcm/leases/gcm-1").splitlines()
    assert script[:14] == [
        "#!/bin/sh",
        "#SBATCH --job-name=gcm-1",
        "#SBATCH --nodes=4",
        "#SBATCH --ntasks-per-node=8",
        "#SBATCH --time=121",
        "#SBATCH --partition=short",
        "#SBATCH --account=physics",
        "#SBATCH --qos=high",
        "#SBATCH --constraint=ib&haswell",
        "#SBATCH --reservation=course",
        "#SBATCH --output=/dev/null",
        "#SBATCH --no-requeue",
        "#SBATCH --gres=gpu:1",
        "#SBATCH --exclusive",
    ]
    assert 'lease="$HOME/.cache/gcm/leases/gcm-1"' in script
    assert '    [ "$same" -lt 2 ]' in script


def test_lines_that_a_site_does_not_want_are_left_out() -> None:
    request = JobRequest("slurm", options=("--exclusive",), leave_out=("--output", "requeue"))
    script = SLURM.script(request, "gcm-1", "lease").splitlines()
    assert [line.split()[-1] for line in script if line.startswith("#SBATCH")] == [
        "--job-name=gcm-1", "--nodes=1", "--ntasks-per-node=1", "--exclusive",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"SLURM_JOB_ID": "17"}, None),
        (
            {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "2", "SLURM_TASKS_PER_NODE": "8(x2)"},
            JobRequest("slurm", 2, 8, job="17"),
        ),
        (
            {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "1", "SLURM_JOB_CPUS_PER_NODE": "4"},
            JobRequest("slurm", 1, 4, job="17"),
        ),
    ],
)
def test_the_job_around_a_process_is_found(
    environment: dict[str, str], found: JobRequest | None
) -> None:
    assert present_job(environment) == found


def test_a_process_in_a_job_finds_the_whole_job_in_its_environment() -> None:
    job = SLURM.jobs("9|RUNNING|None|N/A|4|4:59|n[1-2]")["9"]
    words = SLURM.inside(GrantedJob(job, ("n1", "n2"), (2, 1)))
    assert words[0] == "srun"
    assert {"--jobid=9", "--nodelist=n1", "--ntasks=1"} <= {*words}
    assert {"SLURM_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2,1", "SLURM_NNODES=2"} <= {*words}


def test_a_job_of_oar_is_found_with_its_cores(tmp_path: Path) -> None:
    file = tmp_path / "nodes"
    file.write_text("n1\nn1\nn2\nn2\n")
    environment = {"OAR_JOB_ID": "17", "OAR_NODEFILE": str(file)}
    assert present_job(environment) == JobRequest("oar", 2, 2, job="17")
    file.unlink()
    assert present_job(environment) is None
