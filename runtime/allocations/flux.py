"""Flux: `flux batch`, `flux jobs`, `flux pkill`, and `flux exec` in the instance of a job."""

from __future__ import annotations

import math
from collections.abc import Sequence

from runtime.allocations.contract import BatchSystem, Unreadable
from runtime.allocations.request import BatchJob, GrantedJob, JobPhase, JobRequest
from runtime.allocations.written import count_of, directives
from runtime.shown_text import shown

_FORMAT = (
    "{id.f58plain}|{status}|{annotations.sched.reason_pending:h}|{exception.type:h}|{ncores:h}|"
    "{t_remaining:h}|{nodelist:h}"
)
_PHASES = {
    "DEPEND": JobPhase.QUEUED,
    "PRIORITY": JobPhase.QUEUED,
    "SCHED": JobPhase.QUEUED,
    "RUN": JobPhase.RUNNING,
    "CLEANUP": JobPhase.ENDING,
}


class Flux(BatchSystem):
    """Flux, each of whose batch jobs is an instance of Flux on its own nodes."""

    name = "flux"

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#flux:` lines."""
        options = [
            ("--job-name=", name),
            ("--nodes=", str(request.nodes)),
            ("--nslots=", str(request.nodes * request.tasks_per_node)),
            ("--time-limit=", f"{math.ceil(request.walltime / 60)}m" if request.walltime else ""),
            ("--queue=", request.queue),
            ("--bank=", request.account),
            ("--setattr=qos=", request.qos),
            ("--requires=", request.constraint),
            ("--setattr=reservation=", request.reservation),
            ("--output=", "/dev/null"),
        ]
        more = (" ".join(request.options),) if request.options else ()
        return directives("#flux:", options, more)

    def submit(self) -> Sequence[str]:
        """Return `flux batch`, which reads a script on its standard input."""
        return ("flux", "batch")

    def number(self, printed: str) -> str:
        """Return the identifier, such as `f2oXbJ7`, whose first letter may be another f."""
        last = printed.strip().rpartition("\n")[2].replace("\u0192", "f")
        if not last.isascii() or not last.isalnum() or not last.startswith("f"):
            raise Unreadable(f"flux batch printed no identifier of a job, but '{shown(last)}'")
        return last

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `flux jobs`, told what to print."""
        return ("flux", "jobs", "--no-header", f"--format={_FORMAT}", *jobs)

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs, one in a line."""
        rows = [line.split("|") for line in printed.splitlines() if line.count("|") == 6]
        return {row[0]: _job(row) for row in rows}

    def is_forgotten(self, printed: str) -> bool:
        """Tell whether it has no such job."""
        return "unknown jobid" in printed or "not found" in printed

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return `flux hostlist`, told to print one name in a line."""
        return ("flux", "hostlist", "--expand", "--delimiter=\n", nodes)

    def cancel(self, name: str) -> Sequence[str]:
        """Return `flux pkill` for exactly that name."""
        return ("flux", "pkill", f"^{name}$")

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return a command that goes to the first node of the instance."""
        return ("flux", "proxy", grant.job.number, "flux", "exec", "--rank=0", "--noverbose")


def _job(row: Sequence[str]) -> BatchJob:
    number, state, reason, exception, cores, left, nodes = (
        "" if field.strip() in ("-", "--") else field.strip() for field in row
    )
    phase = _PHASES.get(state, JobPhase.OVER)
    return BatchJob(
        number,
        phase,
        state,
        reason=reason if phase is JobPhase.QUEUED else exception,
        nodes=nodes,
        cores=count_of(cores) or 0,
        left=float(left) if left.replace(".", "", 1).isdecimal() else None,
    )


FLUX = Flux()
