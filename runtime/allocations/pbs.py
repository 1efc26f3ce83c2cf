"""PBS: `qsub`, `qstat -f`, `qselect` with `qdel`, and ssh to the nodes of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from runtime.allocations.contract import BatchSystem, Unreadable
from runtime.allocations.request import (
    BatchJob,
    GrantedJob,
    JobPhase,
    JobRequest,
    job_with_places,
)
from runtime.allocations.written import SSH, clock, count_of, directives, remote_shell, seconds_of
from runtime.shown_text import shown

_DELETE = 'jobs=$(qselect -N "$1" | grep "^[0-9][A-Za-z0-9._-]*$") && qdel $jobs'


class Pbs(BatchSystem):
    """OpenPBS and PBS Pro, whose nodes are chunks of a `select`."""

    name = "pbs"
    ends_processes = False
    places_file = "PBS_NODEFILE"

    def present(self, environment: Mapping[str, str], places: Sequence[str]) -> JobRequest | None:
        """Return the job that `qsub` tells of, with a line of that file for each of its places."""
        return job_with_places(self.name, environment.get("PBS_JOBID"), places)

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#PBS` lines."""
        tasks = request.tasks_per_node
        more = f":{request.constraint}" if request.constraint else ""
        options = [
            ("-N ", name),
            ("-l ", f"select={request.nodes}:ncpus={tasks}:mpiprocs={tasks}{more}"),
            ("-l walltime=", clock(request.walltime) if request.walltime else ""),
            ("-q ", request.reservation or request.queue),
            ("-A ", request.account),
            ("-l qos=", request.qos),
            ("-j oe -o ", "/dev/null"),
            ("-r ", "n"),  # nobody waits for a job that begins again when a node was lost
        ]
        own = (" ".join(request.options),) if request.options else ()
        return directives("#PBS", options, own)

    def submit(self) -> Sequence[str]:
        """Return `qsub`, which reads a script on its standard input."""
        return ("qsub",)

    def number(self, printed: str) -> str:
        """Return the number with the name of the server."""
        last = printed.strip().rpartition("\n")[2]
        if not re.fullmatch(r"\d+(\.[\w.-]+)?", last):
            raise Unreadable(f"qsub printed no number of a job, but '{shown(last)}'")
        return last

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `qstat` for these jobs, in full."""
        return ("qstat", "-f", *jobs)

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs, each a block of lines `name = value`; a tabulator continues a line."""
        blocks = re.split(r"^Job Id: (\S+)\s*$", printed, flags=re.MULTILINE)[1:]
        return {
            number: _job(number, block.replace("\n\t", ""))
            for number, block in zip(blocks[::2], blocks[1::2], strict=True)
        }

    def is_forgotten(self, printed: str) -> bool:
        """Tell whether it has no such job."""
        return "Unknown Job Id" in printed or "has finished" in printed

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return a command that prints the names of the status again."""
        return ("printf", "%s\\n", *dict.fromkeys(re.findall(r"(?:^|\+)([^/+]+)", nodes)))

    def cancel(self, name: str) -> Sequence[str]:
        """Return `qdel` for what `qselect` finds."""
        return ("/bin/sh", "-c", _DELETE, "gcm", name)

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return ssh to the first node."""
        return remote_shell(SSH, grant.hosts[0], {"PBS_JOBID": grant.job.number})


def _job(number: str, block: str) -> BatchJob:
    attributes: Mapping[str, str] = dict(re.findall(r"^ +([\w.]+) = (.*)$", block, re.MULTILINE))
    state = attributes.get("job_state", "")
    phase = JobPhase.RUNNING if state == "R" else JobPhase.OVER
    if state in "QHWTSU":
        phase = JobPhase.QUEUED
    limit = seconds_of(attributes.get("Resource_List.walltime", ""))
    used = seconds_of(attributes.get("resources_used.walltime", "0"))
    cores = attributes.get("Resource_List.ncpus", "")
    return BatchJob(
        number,
        phase,
        state,
        reason=attributes.get("comment", "") if phase is JobPhase.QUEUED else "",
        start=_iso(attributes.get("estimated.start_time", "")) if phase is JobPhase.QUEUED else "",
        nodes=attributes.get("exec_host", ""),
        cores=count_of(cores) or 0,
        left=None if limit is None or state != "R" else limit - (used or 0.0),
    )


def _iso(time: str) -> str:
    """Return a time as others write it.

    >>> _iso("Tue Nov 24 14:20:00 2026"), _iso("unknown")
    ('2026-11-24T14:20:00', 'unknown')
    """
    try:
        return datetime.strptime(time, "%a %b %d %H:%M:%S %Y").isoformat()
    except ValueError:
        return time


PBS = Pbs()
