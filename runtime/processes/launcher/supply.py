"""What a front-end needs where it runs: folders, files, the package, and what it is told."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gcm.records import dataclass
from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.commands import (
    front_end_command,
    shared_front_end_command,
)
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.workplace import workplace_of
from runtime.home import HOME, is_checkout, needs_path
from runtime.launchers.base import Launcher
from runtime.launchers.spawning import activated
from runtime.native_mpi import native_mpi
from runtime.processes.configuration import FrontEndSettings, Keys
from runtime.processes.launcher.configuring import (
    PreparedPlace,
    StartTerms,
    at_place,
    front_end_settings,
    keys_of,
)
from runtime.processes.launcher.mpi_wheel import BroughtMpi, bring_mpi
from runtime.results.folders import find_path, make_path
from runtime.results.work_folder import make_work_folder
from runtime.transport.keys import RunKeys

PYTHON = "python3"
"""What a descriptor says that does not name a Python."""


@dataclass(frozen=True, slots=True)
class Supplied:
    """A place that is ready for its front-end.

    `folder` is where its ranks start: in `work`, the copy of the program folder that was made for
    this cluster, or in place where there is none. The run directory is another folder: it holds
    secrets, sockets and the package, and never what a program reads or writes.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    work: str
    folder: str
    configuration: FrontEndSettings


def supply(
    plan: DeploymentPlan,
    cluster: DeployedCluster,
    launcher: Launcher,
    keys: Keys,
    address: str = "",
    *,
    idle: bool = False,
    granted: Sequence[str] = (),
    is_late: bool = False,
) -> Supplied:
    """Bring all that the front-end of a cluster needs; raises LaunchError.

    `granted` are the hosts of a job, where there is one, instead of those that the plan has. For
    the others see `StartTerms`.
    """
    place = _prepare(plan, cluster, launcher, granted)
    ring = keys_of(plan, cluster, RunKeys(keys.secret), is_dialling=bool(address))
    certificates = keys.certificates(ring.checks, datetime.datetime.now(datetime.UTC))
    terms = StartTerms(ring, certificates, address, idle, is_late)
    configuration = front_end_settings(plan, cluster, place, terms)
    if cluster.is_local:
        argv = shared_front_end_command(place.python)
    else:  # the launcher has prepared the host
        here = replace(cluster, hops=(), front_end=at_place(cluster, place))
        argv = front_end_command(here, configuration.levels)
    environment = {**place.paths, **(place.mpi.environment if place.mpi is not None else {})}
    return Supplied(argv, environment, place.work, place.folder, configuration)


def _prepare(
    plan: DeploymentPlan, cluster: DeployedCluster, launcher: Launcher, granted: Sequence[str]
) -> PreparedPlace:
    """Make the folders, bring the package and copy the program; return what was found there."""
    there = launcher.ready().python
    asked = cluster.front_end.folder
    named = make_path(launcher, there, asked) if asked else ""
    run_directory = launcher.make_folder(named)
    at = workplace_of(plan.deployment, cluster)
    work = make_work_folder(launcher, named, plan, cluster, at) if at.is_copy else ""
    if cluster.is_local:
        folder = work or str(Path(at.folder).expanduser())
    else:
        folder = work or find_path(launcher, there, at.folder)
    # the Python over there is the one that the descriptor names, as a full path
    python = _full_path(cluster.front_end.python) if cluster.is_local else there
    library, found, mpi = _library(cluster, launcher, python, run_directory)
    assembly = plan.deployment.assembly
    modules: tuple[str, ...] = ()
    if assembly is not None and cluster.is_local:
        modules = (str(Path(assembly.file).expanduser().parent),)
    return PreparedPlace(
        python=python,
        run_directory=run_directory,
        folder=folder,
        work=work,
        library=library,
        search=f"{library}:{found}" if library and found else library,
        modules=modules,
        granted=tuple(granted),
        passage=launcher.passage,
        mpi=mpi,
    )


def _full_path(python: str) -> str:
    """Return the path of a Python of this machine, as its virtual environment has it."""
    return activated(os.path.expanduser(python), "")[0]


def _library(
    cluster: DeployedCluster, launcher: Launcher, python: str, run_directory: str
) -> tuple[str, str, BroughtMpi | None]:
    """Return the folder or archive that has to be on the Python path, or nothing.

    The second text is the PYTHONPATH that this Python has at its place anyway, behind it is the MPI
    that is brought along.
    """
    brings = native_mpi(cluster.mpi.flavour).brings if cluster.ranks else ""
    if cluster.is_local and not brings and (is_checkout() or python == sys.executable):
        return HOME if needs_path(python) else "", os.environ.get("PYTHONPATH", ""), None
    from runtime.processes.launcher import package  # only who goes elsewhere waits for its imports

    there = package.python_at(launcher, python)
    missing = there.missing(brings_mpi=bool(brings))
    library = package.bring(launcher, python, run_directory, missing) if missing else ""
    mpi = bring_mpi(launcher, brings, there.platform, run_directory) if brings else None
    return library, there.search, mpi
