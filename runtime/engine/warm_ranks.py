"""Lets ranks of this machine part from one process that has loaded what they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from runtime.engine import rank_stand_in
from runtime.engine.configuration import Job
from runtime.engine.room import LONGEST_SOCKET_PATH
from runtime.engine.supply import Supplied
from runtime.engine.warm_start import WarmStart

SOCKET = "ranks"
FEWEST = 2
"""With one rank there is nothing to share."""


def with_warm_ranks(given: Sequence[Supplied], warm: WarmStart) -> Sequence[Supplied]:
    """Start the process of which ranks part, and return what front-ends are told then.

    Raises:
        LaunchError: no process can be started on this machine any more.
    """
    jobs = [one.configuration.job for one in given]
    parting = [job for job in jobs if job is not None and _can_part(job)]
    if sum(job.ranks for job in parting) < FEWEST:
        return given
    path = os.path.join(given[0].configuration.room, SOCKET)
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        return given
    world = "grid" if any(_comm_world(job) == "grid" for job in parting) else "cluster"
    if warm.start_ranks(path, world, given[0].environment, os.getcwd()) is None:
        return given
    return [_with_stand_in(one, path) for one in given]


def _can_part(job: Job) -> bool:
    """Tell whether the ranks of a job are Pythons like this one, here, and nothing lies between.

    An option of `mpiexec` may name a program that is to run the ranks.
    """
    is_script = "--executable" not in job.argv[: job.argv.index("--")]
    return job.argv[0] == sys.executable and not job.hosts and not job.options and is_script


def _comm_world(job: Job) -> str:
    return job.argv[job.argv.index("--comm-world") + 1]


def _with_stand_in(given: Supplied, path: str) -> Supplied:
    job = given.configuration.job
    if job is None or not _can_part(job):
        return given
    python, *words = job.argv
    argv = (python, "-I", "-S", rank_stand_in.__file__, path, *words)
    told = replace(given.configuration, job=replace(job, argv=argv))
    return replace(given, configuration=told)
