"""Tells of native code that computes on one cluster, where the program has several."""

from __future__ import annotations

import logging
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence

from runtime.deployment.model import Application, CommWorld, ProgramKind
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.linked_mpi import is_mpi_library, libraries_of_program, mpi_library
from runtime.shown_text import LONGEST_CELL, listed, shown

_MOST_TOLD = 20
_LONGEST_REASON = 500
_LONGEST_SCRIPT = 1 << 16
_MOST_WORDS = 200  # of a script that may be programs

_log = logging.getLogger(__name__)


class NativeUsers:
    """Names native code with an MPI of its own, each file once in a run."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def found(self, rank: str, files: Sequence[str], why: str) -> None:
        """Take in what a rank has loaded, and why that cannot see the others."""
        names = list(dict.fromkeys(map(called, files)))
        new = [name for name in names if name not in self._told]
        if not new or len(self._told) > _MOST_TOLD:
            return
        self._told.update(new)
        _log.warning(
            "%s in %s: native code with an MPI_COMM_WORLD of its own, which is the processes of one"
            " cluster, so that each cluster computes a result of its own: %s. Give it"
            " MPI.COMM_CLUSTER and combine the results over COMM_WORLD, or run the program on one"
            " cluster (docs/c.md)",
            listed(new), rank, shown(why, _LONGEST_REASON),
        )  # fmt: skip


def called(path: str) -> str:
    """Return what users call a library: from the folder of its package on.

    >>> called("/opt/lib/python3.11/site-packages/lammps/liblammps.so.0"), called("/opt/libx.so.1")
    ('lammps/liblammps.so.0', 'libx.so.1')
    """
    _, found, below = path.rpartition("-packages/")
    return shown(below if found else os.path.basename(path))


def tell_of_programs(plan: DeploymentPlan) -> None:
    """Tell of native programs on several clusters that have no COMM_WORLD over all of them.

    That may be meant, unless it is a script that runs programs with an MPI.
    """
    for application in plan.deployment.applications:
        is_apart = application.comm_world is CommWorld.CLUSTER
        if application.kind is not ProgramKind.EXECUTABLE or not is_apart:
            continue
        ranks = [
            one.ranks
            for one in plan.deployment.clusters()
            if one.ranks and plan.deployment.application_of(one) is application
        ]
        if len(ranks) < 2:
            continue
        name = shown(application.path, LONGEST_CELL)
        if runs := _runs_mpi(application):
            _log.warning(
                "%s runs %s, which has an MPI_COMM_WORLD of its own in each of its %d clusters, of"
                " %s ranks. To have one over all of them, name that program in place of the script"
                " (docs/c.md)",
                name, shown(runs, LONGEST_CELL), len(ranks), listed([str(one) for one in ranks]),
            )  # fmt: skip
        elif any(map(is_mpi_library, libraries_of_program(application.path) or ())):
            _log.info("%s has an MPI_COMM_WORLD in each cluster, as its descriptor says", name)
        else:
            _log.info("%s calls no MPI: each of its processes is on its own", name)


def _runs_mpi(application: Application) -> str:
    """Return a program with an MPI that a script runs, "" if there is none, as far as is seen."""
    path = shutil.which(application.path) or application.path
    try:
        programs = _run_by(path, application.folder)
        return next((one for one in programs if mpi_library(one, os.environ)), "")
    except OSError:
        return ""


def _run_by(path: str, folder: str) -> Iterator[str]:
    """Yield the programs that a script of a shell may run: words of it that are called so."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return
    with open(path, "rb") as file:
        text = file.read(_LONGEST_SCRIPT).decode(errors="replace")
    if not re.match(r"#!.*sh\b", text):
        return
    words = dict.fromkeys(re.findall(r"[\w.+/~-]+", re.sub(r"(?m)^\s*#.*", "", text)))
    for word in list(words)[:_MOST_WORDS]:
        name = os.path.expanduser(word)
        found = shutil.which(os.path.join(folder, name) if "/" in name else name)
        if found is not None:
            yield found
