"""OAR: `oarsub -S`, `oarstat -f`, `oardel`, and `oarsh` to the nodes of a job."""

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
from runtime.allocations.written import clock, directives, remote_shell
from runtime.shown_text import shown

_QUEUED = frozenset(
    ("Waiting", "Hold", "toLaunch", "Launching", "Suspended", "Resuming", "toAckReservation")
)
_SUBMIT = """\
mkdir -p "$HOME/.cache/gcm" && file=$(mktemp "$HOME/.cache/gcm/job-XXXXXX") || exit 1
cat >"$file"; chmod 700 "$file"
oarsub ${1:+-r "$(date -d "+$1 seconds" "+%F %T")"} -S "$file" || {
    code=$?; rm -f "$file"; date "+NOW=%F %T"; exit $code
}
"""
_REMOTE_SHELLS = ("HYDRA_LAUNCHER_EXEC", "PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent")
"""Variables that tell a native MPI by what it reaches other hosts."""

_TIME = r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)"


class Oar(BatchSystem):
    """OAR 2.5. It runs a file, which the script removes at its end."""

    name = "oar"
    places_file = "OAR_NODEFILE"

    def present(self, environment: Mapping[str, str], places: Sequence[str]) -> JobRequest | None:
        """Return the job that `oarsub` tells of, with a place for each of its cores."""
        return job_with_places(self.name, environment.get("OAR_JOB_ID"), sorted(places))

    def script(self, request: JobRequest, name: str, lease: str) -> str:
        """Return the script, which removes itself."""
        return f'{super().script(request, name, lease)}rm -f -- "$0"\n'

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#OAR` lines."""
        time = f",walltime={clock(request.walltime)}" if request.walltime else ""
        options = [
            ("-n ", name),
            ("-l ", f"/nodes={request.nodes}/core={request.tasks_per_node}{time}"),
            ("-q ", request.queue),
            ("--project ", request.account),
            ("-t ", request.qos),
            ("-p ", request.constraint),
            ("-t inner=", request.reservation),
            ("-O ", "/dev/null"),
            ("-E ", "/dev/null"),
        ]
        more = (" ".join(request.options),) if request.options else ()
        return directives("#OAR", options, more)

    def submit(self) -> Sequence[str]:
        """Return `oarsub` behind a file, since it reads no script on its standard input."""
        return ("/bin/sh", "-c", _SUBMIT)

    def reserve(self, request: JobRequest, name: str, after: float) -> Sequence[str]:  # noqa: ARG002 - the script has it
        """Return `oarsub -r`, which waits until the scheduler has decided."""
        if request.reservation or request.job or not request.walltime:
            return ()
        return (*self.submit(), "gcm", f"{after:.0f}")

    def earliest(self, printed: str) -> float | None:
        """Return what `oarsub` tells when it refuses a reservation that would begin too early."""
        promise = re.search(rf"could run at {_TIME}", printed)
        now = re.search(rf"^NOW={_TIME}$", printed, re.MULTILINE)
        if promise is None or now is None:
            return None
        start, present = (datetime.fromisoformat(one[1]) for one in (promise, now))
        return max(0.0, (start - present).total_seconds())

    def number(self, printed: str) -> str:
        """Return the number behind `OAR_JOB_ID=`."""
        found = re.search(r"^OAR_JOB_ID=(\d+)$", printed, re.MULTILINE)
        if found is None:
            raise Unreadable(f"oarsub printed no number of a job, but '{shown(printed.strip())}'")
        return found[1]

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `oarstat` for these jobs, in full."""
        return ("oarstat", "-f", *(word for job in jobs for word in ("-j", job)))

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs, each a block of lines `name = value`."""
        blocks = re.split(r"^Job_Id: (\d+)\s*$", printed, flags=re.MULTILINE)[1:]
        return {
            number: _job(number, block)
            for number, block in zip(blocks[::2], blocks[1::2], strict=True)
        }

    def is_forgotten(self, printed: str) -> bool:
        """Tell whether it has no such job."""
        return "No job" in printed

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return a command that prints the names of the status, in the order of `present`."""
        return ("printf", "%s\\n", *sorted(nodes.split("+")))

    def cancel(self, name: str) -> Sequence[str]:
        """Return `oardel` for all jobs of that name."""
        return ("oardel", "--sql", f"job_name = '{name}'")

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return `oarsh`, which goes into the job that a variable names, for a native MPI too."""
        job = f"OAR_JOB_ID={grant.job.number}"
        there = dict.fromkeys(_REMOTE_SHELLS, "oarsh")
        there["OAR_JOB_ID"] = grant.job.number
        return ("env", job, *remote_shell("oarsh", grant.hosts[0], there))


def _job(number: str, block: str) -> BatchJob:
    found = re.findall(r"^ +(\w+) = (.*)$", block, re.MULTILINE)
    properties = {name: value.rstrip(" ") for name, value in found}
    state = properties.get("state", "")
    phase = JobPhase.QUEUED if state in _QUEUED else JobPhase.OVER
    if state == "Running":
        phase = JobPhase.RUNNING
    start = properties.get("scheduledStart", "")
    return BatchJob(
        number,
        phase,
        state,
        reason=properties.get("message", "") if phase is JobPhase.QUEUED else "",
        start="" if start == "no prediction" else start,
        nodes=properties.get("assigned_hostnames", ""),
    )


OAR = Oar()
