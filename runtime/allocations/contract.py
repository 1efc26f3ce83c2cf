"""What a batch system is: text in, text out. Its commands are run on the login node by others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from runtime.allocations.request import BatchJob, GrantedJob, JobRequest


class Unreadable(ValueError):
    """What a command of a batch system has printed is not what it prints."""


class BatchSystem(ABC):
    """One batch system: its job script, its commands, and how to read what these print.

    A job holds the nodes and runs nothing else: the script waits, and ends once the file of its
    lease is not written any more. Processes are started in the job by commands that `inside` makes.
    Adding a system means a file with a subclass, and its entry in `runtime.allocations.known`.
    """

    name: str

    own_starters: Sequence[Sequence[str]] = ()
    """Commands of the system that start two ranks on the nodes of a job, such as `srun`."""

    ends_processes = True
    """Whether what `inside` starts ends with the job; ssh starts beside it, so the run looks."""

    places_file = ""
    """The variable in a job that names a file with its hosts and places, "" for none."""

    def present(
        self,
        environment: Mapping[str, str],  # noqa: ARG002 - most leave no sign
        places: Sequence[str],  # noqa: ARG002
    ) -> JobRequest | None:
        """Return the job in which a process with this environment runs; None if it is in none.

        `places` are the lines of its `places_file`.
        """
        return None

    @abstractmethod
    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return the options of a request, as the lines of its script have them."""

    @abstractmethod
    def submit(self) -> Sequence[str]:
        """Return the command that submits the script on its standard input."""

    def check(self) -> Sequence[str]:
        """Return the command that only checks the script on its standard input, () for none."""
        return ()

    def reserve(self, request: JobRequest, name: str, after: float) -> Sequence[str]:  # noqa: ARG002 - most cannot
        """Return the command that submits the script on its standard input for reserved nodes.

        The reservation begins in `after` seconds; `cancel` ends it too. Returns () where a plain
        account can reserve nothing, or not what is requested.
        """
        return ()

    def earliest(self, printed: str) -> float | None:  # noqa: ARG002 - most reserve nothing
        """Return in how many seconds what was refused could begin, from what `reserve` printed.

        0 is later than asked for; None is that it was refused for another reason.
        """
        return None

    @abstractmethod
    def number(self, printed: str) -> str:
        """Return the number of the job that was submitted; raises Unreadable."""

    @abstractmethod
    def status(self, jobs: Sequence[str]) -> Sequence[str]:
        """Return the command that tells of jobs, all at once."""

    @abstractmethod
    def jobs(self, printed: str) -> dict[str, BatchJob]:
        """Return what that command has told, by the numbers of the jobs; raises Unreadable.

        What the system does not know any more is not there.
        """

    @abstractmethod
    def is_forgotten(self, printed: str) -> bool:
        """Tell whether the command that tells of jobs failed since the system has none of them.

        `printed` is its stderr. Any other failure may pass.
        """

    @abstractmethod
    def host_names(self, nodes: str) -> Sequence[str]:
        """Return the command that prints the names of nodes, one in a line, the first one first."""

    @abstractmethod
    def cancel(self, name: str) -> Sequence[str]:
        """Return the command that ends the job of a name, whether it runs or not.

        Not that of a number: a job may be there whose number nobody got.
        """

    @abstractmethod
    def inside(self, grant: GrantedJob) -> Sequence[str]:
        """Return what goes before a command, so that it runs on the first host of a job.

        Its standard input and output go through, whatever they carry. A native MPI is told the
        hosts by its command line; in its environment it has to find by which remote shell it
        reaches the others, where that is not ssh, and nothing that contradicts the grant.
        """

    def script(self, request: JobRequest, name: str, lease: str) -> str:
        """Return the script of a job that holds its nodes while a file is written again and again.

        `lease` is that file, relative to the home folder. Only the job's own clock counts, since
        that of another host may be wrong. Where the file is gone, nobody wants the nodes any more.
        Whoever was killed before it removed the file leaves that to the job.
        """
        looks = max(1, round(request.lease / LOOK))
        return "\n".join(
            (
                "#!/bin/sh",
                *(
                    line
                    for line in self.directives(request, name)
                    if not any(word in line for word in request.leave_out)
                ),
                *_HOLD.format(
                    lease=lease, looks=looks, gone=(looks + 1) // 2, pause=LOOK
                ).splitlines(),
                "",
            )
        )


LOOK = 5
"""Seconds between two looks at the lease."""

_HOLD = """\
# Holds the nodes while the run that asked for them lives: that one writes the file again and again.
lease="$HOME/{lease}"
before= same=0
while
    now=$(cat "$lease" 2>/dev/null)
    case $now in
        "") same=$((same + {gone})) ;;
        "$before") same=$((same + 1)) ;;
        *) same=0 ;;
    esac
    before=$now
    [ "$same" -lt {looks} ]
do sleep {pause}; done
rm -f "$lease" "$lease.new"
"""
