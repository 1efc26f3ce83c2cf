"""Slurm: `sbatch`, `squeue`, `scancel`, and `srun` into a job that runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.allocations.contract import BatchSystem, Unreadable
from runtime.allocations.request import BatchJob, JobPhase, JobRequest

_QUEUED = frozenset(
    ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD",
     "SPECIAL_EXIT", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
)  # fmt: skip
"""States in which a job may still come to run, or may go on; all others but one are ends."""

_OF_A_STEP = tuple(
    f"SLURM_{name}"
    for name in ("NTASKS", "NPROCS", "NNODES", "JOB_NUM_NODES", "NODELIST", "JOB_NODELIST",
                 "STEP_NODELIST", "TASKS_PER_NODE", "DISTRIBUTION")
)  # fmt: skip
"""Variables by which `srun` tells a step its size; a native MPI takes them for that of the job."""

_FIELDS = "%T|%r|%S|%N"


class Slurm(BatchSystem):
    """Slurm, from 20.11 on, which has `srun --overlap`; seen with 22.05."""

    name = "slurm"

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
        return [*lines, *(f"#SBATCH {option}" for option in request.options)]

    def submit(self) -> Sequence[str]:
        """Return `sbatch`, told to print the number alone."""
        return ("sbatch", "--parsable")

    def number(self, printed: str) -> str:
        """Return the number; what a profile or a prolog has printed before it does not matter.

        >>> Slurm().number("Welcome!\\n4711;alder\\n")
        '4711'
        """
        last = printed.strip().rpartition("\n")[2]
        number = last.partition(";")[0]
        if not number.isdecimal():
            raise Unreadable(f"sbatch printed no number of a job, but {last!r}")
        return number

    def status(self, job: str) -> Sequence[str]:
        """Return `squeue`, told what to print."""
        return ("squeue", "--noheader", f"--jobs={job}", f"--format={_FIELDS}", "--states=all")

    def job(self, number: str, printed: str) -> BatchJob:
        """Return a job.

        >>> print(Slurm().job("17", "PENDING|Resources|2026-11-24T14:20:00|\\n"))
        job 17 is PENDING (Resources), start expected 2026-11-24 14:20
        >>> Slurm().job("17", "RUNNING|None|2026-11-24T14:20:00|n[1-2]\\n").nodes
        'n[1-2]'
        >>> print(Slurm().job("17", ""))
        job 17 is UNKNOWN (the queue has no such job)
        """
        lines = [line for line in printed.splitlines() if line.count("|") == _FIELDS.count("|")]
        if not lines:
            if printed.strip():
                raise Unreadable(f"squeue printed {printed.strip()!r}")
            reason = "the queue has no such job"
            return BatchJob(number, JobPhase.OVER, "UNKNOWN", reason)
        state, reason, start, nodes = (field.strip() for field in lines[-1].split("|"))
        phase = JobPhase.RUNNING if state == "RUNNING" else JobPhase.OVER
        if state in _QUEUED:
            phase = JobPhase.QUEUED
        return BatchJob(
            number,
            phase,
            state,
            "" if reason == "None" else reason,
            "" if start == "N/A" else start,
            nodes,
        )

    def is_forgotten(self, said: str) -> bool:
        """Tell whether `squeue` knows no such job.

        >>> Slurm().is_forgotten("slurm_load_jobs error: Invalid job id specified")
        True
        """
        return "Invalid job id" in said

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return `scontrol show hostnames`."""
        return ("scontrol", "show", "hostnames", nodes)

    def cancel(self, job: str) -> Sequence[str]:
        """Return `scancel`."""
        return ("scancel", job)

    def inside(self, job: str, host: str) -> Sequence[str]:
        """Return an `srun` that shares the nodes with the job's other steps.

        What it starts must not take the one node and task of this step for those of the job, and
        the `mpiexec` of an MPICH that does not find these there has to be told whose job it is in.
        """
        return (
            "srun", "--overlap", f"--jobid={job}", f"--nodelist={host}", "--nodes=1", "--ntasks=1",
            "--input=all", "--unbuffered", "--mpi=none", "--kill-on-bad-exit=0", "--quiet",
            "env", *(word for name in _OF_A_STEP for word in ("-u", name)),
            "SLURM_OVERLAP=1", "HYDRA_BOOTSTRAP=slurm",
        )  # fmt: skip


SLURM = Slurm()
