"""What a batch system is: text in, text out. Its commands are run on the login node by others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from runtime.allocations.request import BatchJob, JobRequest


class Unreadable(ValueError):
    """What a command of a batch system has printed is not what it prints."""


class BatchSystem(ABC):
    """One batch system: its job script, its commands, and how to read what these print.

    A job holds the nodes and runs nothing else: the script waits, and ends once the file of its
    lease is not written any more. Processes are started in the job by commands that `inside` makes.
    Adding a system means a file with a subclass, and its entry in `runtime.allocations.known`.
    """

    name: str

    @abstractmethod
    def directives(self, request: JobRequest, name: str) -> list[str]:
        """Return the options of a request, as the lines of its script have them."""

    @abstractmethod
    def submit(self) -> Sequence[str]:
        """Return the command that submits the script on its standard input."""

    @abstractmethod
    def number(self, printed: str) -> str:
        """Return the number of the job that was submitted; raises Unreadable."""

    @abstractmethod
    def status(self, job: str) -> Sequence[str]:
        """Return the command that tells of a job."""

    @abstractmethod
    def job(self, number: str, printed: str) -> BatchJob:
        """Return what that command has told of a job; raises Unreadable.

        A job of which the system knows nothing any more is over.
        """

    @abstractmethod
    def is_forgotten(self, said: str) -> bool:
        """Tell whether the command that tells of a job failed since the system has no such job.

        `said` is its stderr. Any other failure may pass.
        """

    @abstractmethod
    def host_names(self, nodes: str) -> Sequence[str]:
        """Return the command that prints the names of nodes, one in a line, the first one first."""

    @abstractmethod
    def cancel(self, job: str) -> Sequence[str]:
        """Return the command that ends a job, whether it runs or not."""

    @abstractmethod
    def inside(self, job: str, host: str) -> Sequence[str]:
        """Return what goes before a command, so that it runs on a host of a job.

        Its standard input and output go through, whatever they carry.
        """

    def script(self, request: JobRequest, name: str, lease: str) -> str:
        """Return the script of a job that holds its nodes while a file is written again and again.

        `lease` is that file, relative to the home folder. Only the job's own clock counts, since
        that of another host may be wrong.
        """
        looks = max(1, round(request.lease / LOOK))
        return "\n".join(
            (
                "#!/bin/sh",
                *self.directives(request, name),
                *_HOLD.format(lease=lease, looks=looks, pause=LOOK).splitlines(),
                "",
            )
        )


LOOK = 5
"""Seconds between two looks at the lease."""

_HOLD = """\
# Holds the nodes while the run that asked for them lives: that one writes the file again and again.
lease="$HOME/{lease}"
before= same=0
while [ "$same" -lt {looks} ]; do
    sleep {pause}
    now=$(cat "$lease" 2>/dev/null)
    if [ "$now" = "$before" ]; then same=$((same + 1)); else same=0; fi
    before=$now
done"""
