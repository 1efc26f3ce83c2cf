"""Lets ranks of this machine part from one process that has loaded what they need."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from runtime.deployment.planning.plan import DeploymentPlan
from runtime.processes.configuration import Job
from runtime.processes.launcher.supply import Supplied
from runtime.processes.launcher.warm_start import WarmStart
from runtime.processes.rank import stand_in as rank_stand_in


def with_warm_ranks(
    plan: DeploymentPlan, given: Sequence[Supplied], warm: WarmStart
) -> Sequence[Supplied]:
    """Return what front-ends are told if ranks part from the process of a warm start.

    Raises:
        LaunchError: no process can be started on this machine any more.
    """
    warm.load_ranks(plan)
    return [_with_stand_in(one, warm.ranks) for one in given] if warm.ranks else given


def _with_stand_in(given: Supplied, path: str) -> Supplied:
    job = given.configuration.job
    if job is None or not _can_part(job):
        return given
    python, *words = job.argv
    argv = (python, "-I", "-S", rank_stand_in.__file__, path, *words)
    told = replace(given.configuration, job=replace(job, argv=argv))
    return replace(given, configuration=told)


def _can_part(job: Job) -> bool:
    """Tell whether the ranks of a job are Pythons like this one, here, and nothing lies between.

    An option of `mpiexec` may name a program that is to run the ranks.
    """
    is_script = "--executable" not in job.argv[: job.argv.index("--")]
    return job.argv[0] == sys.executable and not job.hosts and not job.options and is_script
