"""Slurm: `sbatch`, `squeue`, `scancel`, and `srun` into a job that runs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from runtime.allocations.contract import BatchSystem, Unreadable
from runtime.allocations.request import (
    BatchJob,
    GrantedJob,
    JobPhase,
    JobRequest,
    running_job,
)
from runtime.allocations.written import count_of, places_of, seconds_of, written_places
from runtime.shown_text import shown

_QUEUED = frozenset(
    ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD",
     "SPECIAL_EXIT", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
)  # fmt: skip
"""States in which a job may still come to run, or may go on."""

_PHASES = {"RUNNING": JobPhase.RUNNING, "COMPLETING": JobPhase.ENDING}
"""All other states are ends, such as CANCELLED, TIMEOUT and NODE_FAIL."""

_OF_A_STEP = tuple(
    f"SLURM_{name}" for name in ("NTASKS", "NPROCS", "STEP_NODELIST", "DISTRIBUTION")
)
"""Variables by which `srun` tells a step its size; a native MPI takes them for that of the job."""

_FIELDS = "%i|%T|%r|%S|%C|%L|%N"


class Slurm(BatchSystem):
    """Slurm, from 20.11 on, which has `srun --overlap`; seen with 22.05."""

    name = "slurm"
    own_starters = (
        ("srun", "--mpi=pmix", "--ntasks=2"),
        ("srun", "--mpi=pmi2", "--ntasks=2"),
    )

    def present(
        self,
        environment: Mapping[str, str],
        places: Sequence[str],  # noqa: ARG002 - its variables tell
    ) -> JobRequest | None:
        """Return the job that `salloc`, `sbatch` or `srun` tell of, with a place for each task.

        >>> told = {"SLURM_JOB_ID": "17", "SLURM_JOB_NUM_NODES": "3"}
        >>> job = Slurm().present({**told, "SLURM_TASKS_PER_NODE": "4(x2),2"}, ())
        >>> job.job, job.nodes, job.slots
        ('17', 3, (4, 4, 2))
        """
        number, nodes = environment.get("SLURM_JOB_ID"), environment.get("SLURM_JOB_NUM_NODES")
        if not number or not nodes:
            return None
        cpus = environment.get("SLURM_JOB_CPUS_PER_NODE", "1")
        tasks = places_of(environment.get("SLURM_TASKS_PER_NODE", cpus))
        if len(tasks) != int(nodes):  # those of a step on some of the nodes
            tasks = (min(tasks, default=1),) * int(nodes)
        return running_job(self.name, number, tasks)

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#SBATCH` lines.

        >>> for line in Slurm().directives(JobRequest("slurm", 2, 8, 7200, queue="short"), "gcm"):
        ...     print(line)
        #SBATCH --job-name=gcm
        #SBATCH --nodes=2
        #SBATCH --ntasks-per-node=8
        #SBATCH --time=120
        #SBATCH --partition=short
        #SBATCH --output=/dev/null
        #SBATCH --no-requeue
        """
        named = {
            "job-name": name,
            "nodes": str(request.nodes),
            "ntasks-per-node": str(request.tasks_per_node),
            "time": str(math.ceil(request.walltime / 60)) if request.walltime else "",
            "partition": request.queue,
            "account": request.account,
            "qos": request.qos,
            "constraint": request.constraint,
            "reservation": request.reservation,
            "output": "/dev/null",
        }
        lines = [f"#SBATCH --{option}={value}" for option, value in named.items() if value]
        # a job that were started again after the loss of a node would hold nodes for no run
        return [*lines, "#SBATCH --no-requeue", *(f"#SBATCH {one}" for one in request.options)]

    def submit(self) -> Sequence[str]:
        """Return `sbatch`, told to print the number alone."""
        return ("sbatch", "--parsable")

    def check(self) -> Sequence[str]:
        """Return `sbatch`, told to ask only whether such a job could ever run."""
        return ("sbatch", "--test-only")

    def number(self, printed: str) -> str:
        """Return the number; what a profile or a wrapper has printed around it does not matter.

        >>> Slurm().number("Welcome!\\n4711;alder\\n")
        '4711'
        """
        found = re.findall(r"^(\d+)(?:;[\w.-]*)?$", printed, re.MULTILINE)
        if not found:
            last = printed.strip().rpartition("\n")[2]
            raise Unreadable(f"sbatch printed no number of a job, but '{shown(last)}'")
        return str(found[-1])

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `squeue`, told what to print."""
        return (
            "squeue", "--noheader", f"--jobs={','.join(jobs)}", f"--format={_FIELDS}",
            "--states=all",
        )  # fmt: skip

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs.

        >>> print(Slurm().jobs("17|PENDING|Resources|2026-11-24T14:20:00|4|2:00:00|\\n")["17"])
        job 17 is PENDING (Resources), start expected 2026-11-24 14:20
        >>> job = Slurm().jobs("17|RUNNING|None|2026-11-24T14:20:00|4|1-02:00:05|n[1-2]\\n")["17"]
        >>> job.nodes, job.cores, job.left
        ('n[1-2]', 4, 93605.0)
        """
        rows = [line.split("|") for line in printed.splitlines()]
        found = [row for row in rows if len(row) == _FIELDS.count("|") + 1]
        if printed.strip() and not found:
            raise Unreadable(f"squeue printed '{shown(printed.strip())}'")
        return {row[0].strip(): _job(row) for row in found}

    def is_forgotten(self, printed: str) -> bool:
        """Tell whether `squeue` knows no such job.

        >>> Slurm().is_forgotten("slurm_load_jobs error: Invalid job id specified")
        True
        """
        return "Invalid job id" in printed

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return `scontrol show hostnames`."""
        return ("scontrol", "show", "hostnames", nodes)

    def cancel(self, name: str) -> Sequence[str]:
        """Return `scancel`, which ends no job of other users, but for root."""
        return ("scancel", f"--name={name}")

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return an `srun` that shares the nodes with the job's other steps.

        A native MPI must not take the one node and task of this step for those of the job, and the
        `mpiexec` of an MPICH that does not look for these has to be told whose job it is in.
        """
        job, hosts = grant.job, grant.hosts
        whole = {
            "SLURM_NODELIST": job.nodes,
            "SLURM_JOB_NODELIST": job.nodes,
            "SLURM_NNODES": str(len(hosts)),
            "SLURM_JOB_NUM_NODES": str(len(hosts)),
            "SLURM_TASKS_PER_NODE": written_places(grant.places),
        }
        return (
            "srun", "--overlap", f"--jobid={job.number}", f"--nodelist={hosts[0]}", "--nodes=1",
            "--ntasks=1", "--input=all", "--unbuffered", "--mpi=none", "--kill-on-bad-exit=0",
            "--quiet", "env", *(word for name in _OF_A_STEP for word in ("-u", name)),
            *(f"{name}={value}" for name, value in whole.items()),
            "SLURM_OVERLAP=1", "HYDRA_BOOTSTRAP=slurm",
        )  # fmt: skip


def _job(row: Sequence[str]) -> BatchJob:
    number, state, reason, start, cores, left, nodes = (field.strip() for field in row)
    phase = JobPhase.QUEUED if state in _QUEUED else _PHASES.get(state, JobPhase.OVER)
    return BatchJob(
        number,
        phase,
        state,
        reason="" if reason == "None" else reason,
        start="" if start == "N/A" else start,
        nodes=nodes,
        cores=count_of(cores) or 0,
        left=seconds_of(left),
    )


SLURM = Slurm()
