"""Grid Engine: `qsub -terse`, `qstat -g t`, `qdel`, and ssh to the nodes of a job."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from runtime.allocations.contract import BatchSystem, Unreadable
from runtime.allocations.request import (
    BatchJob,
    GrantedJob,
    JobPhase,
    JobRequest,
    running_job,
)
from runtime.allocations.written import SSH, clock, directives, remote_shell
from runtime.shown_text import shown

_COLUMNS = 9
"""Of a line of `qstat -g t` for a slot that runs; a job that waits has no queue."""


_RESERVE = """\
begin=$(date -d "+$1 seconds" +%Y%m%d%H%M.%S); shift
said=$(qrsub -a "$begin" "$@" 2>&1) || { code=$?; echo "$said"; exit $code; }
number=$(echo "$said" | sed -n 's/^Your advance reservation \\([0-9]*\\) .*/\\1/p')
qsub -terse -ar "$number" || { code=$?; qrdel "$number" >&2; exit $code; }
"""
_CANCEL = 'qdel "$1"; qrdel "$1"'
_STATUS = 'qstat -g t && { { qselect -qs u; qstat -j "$1"; } 2>/dev/null; true; }'


class GridEngine(BatchSystem):
    """Grid Engine 8.1. Slots come from the parallel environment `mpi`; another is an option."""

    name = "grid-engine"
    ends_processes = False
    places_file = "PE_HOSTFILE"

    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return `#$` lines."""
        options = [
            ("-N ", name),
            ("-pe mpi ", str(request.nodes * request.tasks_per_node)),
            ("-l h_rt=", clock(request.walltime) if request.walltime else ""),
            ("-q ", request.queue),
            ("-P ", request.account),
            ("-l ", request.constraint),
            ("-l ", request.qos),
            ("-ar ", request.reservation),
            ("-S ", "/bin/sh"),
            ("-j y -o ", "/dev/null"),
        ]
        more = (" ".join(request.options),) if request.options else ()
        return directives("#$", options, more)

    def submit(self) -> Sequence[str]:
        """Return `qsub`, told to print the number alone."""
        return ("qsub", "-terse")

    def reserve(self, request: JobRequest, name: str, after: float) -> Sequence[str]:
        """Return `qrsub`, for those whom the site lets reserve, and `qsub` for that reservation."""
        if request.reservation or request.job or request.options or not request.walltime:
            return ()
        words = ["-N", name, "-d", clock(request.walltime)]
        words += ["-pe", "mpi", str(request.nodes * request.tasks_per_node)]
        for option, value in (
            ("-q", request.queue), ("-l", request.constraint), ("-l", request.qos),
        ):  # fmt: skip
            words += [option, value] if value else []
        return ("/bin/sh", "-c", _RESERVE, "gcm", f"{after:.0f}", *words)

    def earliest(self, printed: str) -> float | None:
        """Return that it could begin later, which it does not tell, unless it is refused at all."""
        return 0.0 if "no suitable queues" in printed else None

    def check(self) -> Sequence[str]:
        """Return `qsub`, told to ask only whether such a job could run now."""
        return ("qsub", "-w", "v")

    def number(self, printed: str) -> str:
        """Return the number, without that of a task."""
        last = printed.strip().rpartition("\n")[2]
        number = last.partition(".")[0]
        if not number.isdecimal():
            raise Unreadable(f"qsub printed no number of a job, but '{shown(last)}'")
        return number

    def present(
        self,
        environment: Mapping[str, str],
        places: Sequence[str],
    ) -> JobRequest | None:
        """Return the job that `qsub` or `qrsh` tell of.

        Each line of its file is a host and its slots in a queue, the first one the host of the
        script. Without it, as on another host, all have the same.
        """
        number, nodes, slots = map(environment.get, ("JOB_ID", "NHOSTS", "NSLOTS"))
        if not number or not nodes or not slots:
            return None
        slots_of: dict[str, int] = {}
        for host, held, *_ in filter(lambda words: len(words) > 1, map(str.split, places)):
            slots_of[host] = slots_of.get(host, 0) + int(held)
        first = next(iter(slots_of), "")
        each = [slots_of[one] for one in sorted(slots_of, key=lambda one: (one != first, one))]
        if (len(each), sum(each)) != (int(nodes), int(slots)):
            each = [int(slots) // int(nodes)] * int(nodes)
        return running_job(self.name, number, each)

    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return `qstat` for each slot, then the queues of silent nodes, then why jobs wait."""
        return ("/bin/sh", "-c", _STATUS, "gcm", ",".join(jobs))

    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return jobs, each with why it waits if the scheduler of the site collects that.

        One with a node that is silent for longer than the site admits (`max_unheard`) is over:
        Grid Engine leaves it as it is.
        """
        reasons = _reasons(printed)
        silent = set(re.findall(r"^[^\s@]+@(\S+)$", printed, re.MULTILINE))
        found: dict[str, BatchJob] = {}
        hosts: dict[str, dict[str, None]] = {}
        masters: dict[str, str] = {}
        for line in printed.splitlines():
            number, *row = line.split()[:_COLUMNS] or [""]
            if not number.isdecimal() or len(row) < _COLUMNS - 3:
                continue
            state, queue = row[3], row[6] if "@" in line else ""
            if queue:
                host = queue.partition("@")[2]
                hosts.setdefault(number, {})[host] = None
                if row[7:8] == ["MASTER"]:
                    masters[number] = host
            phase = _phase(state)
            reason = reasons.get(number, "") if phase is JobPhase.QUEUED else ""
            found[number] = BatchJob(number, phase, state, reason)
        for number, names in hosts.items():
            first = dict.fromkeys(one for one in (masters.get(number),) if one is not None)
            job = replace(found[number], nodes=" ".join(first | dict.fromkeys(sorted(names))))
            if lost := sorted(silent.intersection(names)):
                job = replace(job, phase=JobPhase.OVER, reason=f"{', '.join(lost)} is silent")
            found[number] = job
        return found

    def is_forgotten(self, printed: str) -> bool:  # noqa: ARG002 - it never fails for that
        """Return False: what is over is just not told."""
        return False

    def host_names(self, nodes: str) -> Sequence[str]:
        """Return a command that prints the names of the status again."""
        return ("printf", "%s\\n", *nodes.split())

    def cancel(self, name: str) -> Sequence[str]:
        """Return `qdel` and `qrdel`, which take names too."""
        return ("/bin/sh", "-c", _CANCEL, "gcm", name)

    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return ssh to the first node."""
        return remote_shell(SSH, grant.hosts[0], {"JOB_ID": grant.job.number})


def _reasons(printed: str) -> dict[str, str]:
    """Return why jobs wait: the last line, which sums up those about each queue before it.

    Where the scheduler collects no reasons, it says so in brackets.
    """
    found: dict[str, str] = {}
    for job in re.split(r"^job_number: +", printed, flags=re.MULTILINE)[1:]:
        number, _, rest = job.partition("\n")
        reason = rest.partition("\nscheduling info:")[2].partition("\n===")[0].strip()
        if reason and not reason.startswith("("):
            found[number.strip()] = reason.splitlines()[-1].strip()
    return found


def _phase(state: str) -> JobPhase:
    if "E" in state or "d" in state:
        return JobPhase.OVER
    return JobPhase.RUNNING if state in ("r", "Rr", "hr") else JobPhase.QUEUED


GRID_ENGINE = GridEngine()
