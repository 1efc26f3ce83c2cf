"""What Slurm is told, and how its words are read; the lines were printed by 22.05.8."""

from __future__ import annotations

import pytest

from runtime.allocations import SYSTEMS, JobPhase, JobRequest, batch_system, present_job
from runtime.allocations.contract import Unreadable
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
    assert script[:13] == [
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
        "#SBATCH --gres=gpu:1",
        "#SBATCH --exclusive",
    ]
    assert 'lease="$HOME/.cache/gcm/leases/gcm-1"' in script
    assert '    [ "$same" -lt 2 ]' in script


@pytest.mark.parametrize(
    ("printed", "number"), [("17\n", "17"), ("17;alder\n", "17"), ("Welcome to alder\n17\n", "17")]
)
def test_the_number_of_a_job_is_found_behind_what_a_profile_prints(
    printed: str, number: str
) -> None:
    assert SLURM.number(printed) == number


@pytest.mark.parametrize("printed", ["", "Submitted\n", "-1\n"])
def test_what_is_no_number_is_refused(printed: str) -> None:
    with pytest.raises(Unreadable, match="printed no number of a job"):
        SLURM.number(printed)


@pytest.mark.parametrize(
    ("told", "phase", "words", "nodes"),
    [
        ("PENDING|Priority|N/A|8|5:00|", JobPhase.QUEUED, "job 9 is PENDING (Priority)", ""),
        (
            "PENDING|Resources|2026-11-24T14:20:00|8|5:00|",
            JobPhase.QUEUED,
            "job 9 is PENDING (Resources), start expected 2026-11-24 14:20",
            "",
        ),
        ("CONFIGURING|None|2026-11-24T14:20:00|8|5:00|n1", JobPhase.QUEUED,
         "job 9 is CONFIGURING, start expected 2026-11-24 14:20", "n1"),
        ("RUNNING|None|2026-11-24T14:20:00|8|4:59|n[1-2]", JobPhase.RUNNING, "job 9 is RUNNING",
         "n[1-2]"),
        ("CANCELLED|None|2026-11-24T14:20:00|8|0:00|n1", JobPhase.OVER, "job 9 is CANCELLED", "n1"),
        ("TIMEOUT|TimeLimit|2026-11-24T14:20:00|8|0:00|n1", JobPhase.OVER,
         "job 9 is TIMEOUT (TimeLimit)", "n1"),
        ("NODE_FAIL|None|N/A|8|INVALID|n1", JobPhase.OVER, "job 9 is NODE_FAIL", "n1"),
    ],
)  # fmt: skip
def test_the_words_of_squeue_are_read(told: str, phase: JobPhase, words: str, nodes: str) -> None:
    jobs = SLURM.jobs(f"Welcome to alder\n8|{told}\n9|{told}\n")
    assert list(jobs) == ["8", "9"]
    assert (jobs["9"].phase, str(jobs["9"]), jobs["9"].nodes) == (phase, words, nodes)


def test_other_words_of_squeue_are_refused() -> None:
    assert SLURM.jobs("") == {}
    with pytest.raises(Unreadable, match="squeue printed 'a banner'"):
        SLURM.jobs("a banner\n")


def test_a_failure_of_squeue_is_the_end_of_a_job_only_where_it_says_so() -> None:
    assert SLURM.is_forgotten("slurm_load_jobs error: Invalid job id specified")
    assert not SLURM.is_forgotten("slurm_load_jobs error: Unable to contact slurm controller")


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_found_by_its_name(name: str) -> None:
    assert batch_system(name).name == name


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
    words = SLURM.inside(job, ("n1", "n2"), 2)
    assert words[0] == "srun"
    assert {"--jobid=9", "--nodelist=n1", "--ntasks=1"} <= {*words}
    assert {"SLURM_NODELIST=n[1-2]", "SLURM_TASKS_PER_NODE=2(x2)", "SLURM_NNODES=2"} <= {*words}
