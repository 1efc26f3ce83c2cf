"""LSF: `bsub`, `bjobs -o`, `bkill -J`, and ssh to the nodes of a job."""

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
from runtime.allocations.written import SSH, count_of, directives, remote_shell
from runtime.shown_text import shown

_QUEUED = frozenset(("PEND", "PSUSP", "WAIT", "PROV", "USUSP", "SSUSP", "UNKWN"))
_FIELDS = "jobid stat slots time_left exec_host pend_reason delimiter='|'"


class Lsf(BatchSystem):
    """LSF 10."""

    name = "lsf"
    ends_processes = False

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#BSUB` lines."""
        options = [
            ("-J ", name),
            ("-n ", str(request.nodes * request.tasks_per_node)),
            ("-R ", f'"span[ptile={request.tasks_per_node}]"'),
            ("-W ", str(math.ceil(request.walltime / 60)) if request.walltime else ""),
            ("-q ", request.queue),
            ("-P ", request.account),
            ("-sla ", request.qos),
            ("-R ", f'"{request.constraint}"' if request.constraint else ""),
            ("-U ", request.reservation),
            ("-o ", "/dev/null"),
        ]
        more = (" ".join(request.options),) if request.options else ()
        return directives("#BSUB", options, more)

    def submit(self) -> Sequence[str]:
        """Return `bsub`, which reads a script on its standard input."""
        return ("bsub",)

    def number(self, printed: str) -> str:
        """Return the number within the sentence that it prints."""
        found = re.search(r"^Job <(\d+)> is submitted", printed, re.MULTILINE)
        if found is None:
            raise Unreadable(f"bsub printed no number of a job, but '{shown(printed.strip())}'")
        return found[1]

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `bjobs`, told what to print."""
        return ("bjobs", "-noheader", "-o", _FIELDS, *jobs)

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs, one in a line."""
        rows = [line.split("|", 5) for line in printed.splitlines() if line.count("|") >= 5]
        return {row[0]: _job(row) for row in rows}

    def is_forgotten(self, printed: str) -> bool:
        """Tell whether it has no such job."""
        return "is not found" in printed

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return a command that prints the names of the status again."""
        names = (one.rpartition("*")[2] for one in nodes.split(":"))
        return ("printf", "%s\\n", *dict.fromkeys(names))

    def cancel(self, name: str) -> Sequence[str]:
        """Return `bkill` for all jobs of that name."""
        return ("bkill", "-J", name, "0")

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return ssh to the first node, which finds the hosts as within the job."""
        each = " ".join(map("{} {}".format, grant.hosts, grant.places))
        found = {"LSB_JOBID": grant.job.number, "LSB_MCPU_HOSTS": each}
        return remote_shell(SSH, grant.hosts[0], found)

    def present(
        self,
        environment: Mapping[str, str],
        places: Sequence[str],  # noqa: ARG002 - its variables tell
    ) -> JobRequest | None:
        """Return the job that `bsub` tells its script of."""
        number, hosts = environment.get("LSB_JOBID"), environment.get("LSB_MCPU_HOSTS", "").split()
        tasks = [int(one) for one in hosts[1::2] if one.isdecimal()]
        return running_job(self.name, number, tasks) if number and tasks else None


def _job(row: Sequence[str]) -> BatchJob:
    number, state, slots, left, nodes, reason = (
        "" if field.strip() == "-" else field.strip() for field in row
    )
    phase = JobPhase.RUNNING if state == "RUN" else JobPhase.OVER
    if state in _QUEUED:
        phase = JobPhase.QUEUED
    time = re.match(r"(\d{1,9}):(\d\d)", left)
    return BatchJob(
        number,
        phase,
        state,
        reason=reason,
        nodes=nodes,
        cores=count_of(slots) or 0,
        left=3600.0 * int(time[1]) + 60 * int(time[2]) if time else None,
    )


LSF = Lsf()
