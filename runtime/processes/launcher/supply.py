"""What a front-end needs where it runs: folders, files, the package, and what it is told."""

from __future__ import annotations

import datetime
import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gcm.records import dataclass
from runtime.deployment.model import SSH, TCP, UNIX, DeployedCluster
from runtime.deployment.planning.commands import (
    front_end_command,
    is_at_front_end,
    node_command,
    shared_front_end_command,
)
from runtime.deployment.planning.opening import levels_at
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.workplace import workplace_of
from runtime.health import LineTimes
from runtime.home import HOME, is_checkout, needs_path
from runtime.launchers.base import Launcher
from runtime.launchers.spawning import activated
from runtime.machine.paths import node_path
from runtime.machine.rank_settings import RankSettings
from runtime.membership.bind_address import EVERYWHERE, ON_MACHINE, bind_address
from runtime.membership.run_directory import address_in
from runtime.native_mpi import Job, native_mpi
from runtime.processes.configuration import LISTENER, Configuration, Keys, NodeJob
from runtime.processes.launcher.mpi_wheel import BroughtMpi, bring_mpi
from runtime.processes.watch import watch_of
from runtime.results.folders import find_path, make_path
from runtime.results.work_folder import make_work_folder
from runtime.routing import FrontEndStop, tunnelled_leg
from runtime.step_name import StepKind, StepName
from runtime.topology import Grid, Reachability, Site
from runtime.transport.keys import Keyring, RunKeys, audience_of, issuer_of
from runtime.transport.passage import FORWARDER, Passage

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
    configuration: Configuration


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

    `address` is where it finds the launcher, empty for its standard input and output. `idle` ranks
    are not started before somebody asks for them. `granted` are the hosts of a job, where there is
    one, instead of those that the plan has. Where it `is_late`, its ranks are started one by one.
    """
    there = launcher.ready().python
    asked = cluster.front_end.folder
    named = make_path(launcher, there, asked) if asked else ""
    run_directory = launcher.make_folder(named)
    step = plan.step(StepName(StepKind.FRONT_END, cluster.identifier))
    at = workplace_of(plan.deployment, cluster)
    work = make_work_folder(launcher, named, plan, cluster, at) if at.is_copy else ""
    if cluster.is_local:
        folder = work or str(Path(at.folder).expanduser())
    else:
        folder = work or find_path(launcher, there, at.folder)
    # the Python over there is the one that the descriptor names, as a full path
    python = _full_path(cluster.front_end.python) if cluster.is_local else there
    library, found, mpi = _library(cluster, launcher, python, run_directory)
    search = f"{library}:{found}" if library and found else library
    levels = levels_at(plan.deployment, cluster.position)
    here = replace(cluster.front_end, python=python, modules=(), before="", container="")
    plain = replace(cluster, hops=(), front_end=here)  # the launcher has prepared the host
    with_python = replace(cluster, front_end=plain.front_end)
    job, at_once = None, False
    if cluster.ranks:
        ranks = plan.step(StepName(StepKind.RANKS, cluster.identifier))
        # what has to be up before is, once the ranks of a late cluster are started one by one
        at_once = (is_late or ranks.depends_on == (step.name,)) and not idle
        assert ranks.job is not None
        job = _job_there(ranks.job, run_directory, python, library, search, mpi=mpi)
        job = replace(job, is_late=is_late)
        if len(granted) > 1:
            each = (held for _, held in job.hosts)
            job = replace(job, hosts=tuple(zip(granted, each, strict=False)))
    passage = launcher.passage
    forwards = _forwards(plan, cluster, run_directory, passage)
    ring = _keys(plan, cluster, RunKeys(keys.secret), is_dialling=bool(address))
    configuration = Configuration(
        cluster=cluster.identifier,
        path=cluster.path,
        levels=levels,
        run_directory=run_directory,
        folder=folder,
        umask=plan.deployment.umask,
        port=_port(cluster, job, forwards),
        job=job,
        at_once=at_once,
        launcher=address,
        keys=ring,
        certificates=keys.certificates(ring.checks, datetime.datetime.now(datetime.UTC)),
        nodes=tuple(_nodes(plan, with_python, run_directory, folder, search)),
        settings=settings_of(plan, cluster, job),
        transports=_transports(plan, cluster, job, passage),
        forwards=forwards,
        known_as=cluster.front_end.address,
        passage=passage,
        watch=watch_of(plan),
        ranks_limit=plan.ranks_limit,
        wan=cluster.wan,
        names=plan.deployment.rank_names(),
        tunnels=_tunnels(plan, cluster),
    )
    argv = (
        shared_front_end_command(python) if cluster.is_local else front_end_command(plain, levels)
    )
    environment = {**_paths(search), **(mpi.environment if mpi is not None else {})}
    return Supplied(argv, environment, work, folder, configuration)


def _keys(
    plan: DeploymentPlan, cluster: DeployedCluster, run: RunKeys, *, is_dialling: bool
) -> Keyring:
    """Return the keys of a front-end: those of its own audiences, and to issue tickets for others.

    Ranks get tickets for all ranks, and for all front-ends that may forward.
    """
    mine = cluster.identifier
    others = [one for one in plan.deployment.clusters() if one is not cluster]
    own = [audience_of(mine)]
    issued: dict[str, str] = {LISTENER: mine} if is_dialling else {}
    if cluster.ranks:
        own.append(audience_of(f"{mine}:0"))
        issued |= {audience_of(f"{one.identifier}:0"): mine for one in others if one.ranks}
    if _has_others(plan, cluster):
        issued |= {audience_of(one.identifier): mine for one in others}
    if cluster.nodes:
        home = node_path(f"{cluster.path}/")
        own.append(audience_of(home))
        away = (node_path(f"{one.path}/") for one in others if one.nodes)
        issued |= {audience_of(one): issuer_of(home) for one in away}
    return run.keyring(own, issued)


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


def _paths(search: str) -> dict[str, str]:
    """Return the environment in which a Python finds the package."""
    return {"PYTHONPATH": search} if search else {}


def _job_there(
    job: Job, run_directory: str, python: str, library: str, search: str, *, mpi: BroughtMpi | None
) -> Job:
    """Return a planned job with the paths that were found where its ranks run."""
    own = dict(job.environment)
    if library and "PYTHONPATH" in own:  # its program wants that; the package is needed as well
        own["PYTHONPATH"] = f"{library}:{own['PYTHONPATH']}"
    if mpi is not None:
        job = replace(job, mpiexec=mpi.mpiexec)
        own |= mpi.environment  # in place of those of this machine
    program = replace(job.program, python=python, run_directory=run_directory)
    return replace(job, program=program, environment={**_paths(search), **own})


def _nodes(
    plan: DeploymentPlan, cluster: DeployedCluster, run_directory: str, folder: str, search: str
) -> Iterator[NodeJob]:
    """Yield the processes of the cluster's nodes that get components."""
    assembly = plan.deployment.assembly
    if assembly is None:
        return
    names = {step.name for step in plan.steps if step.kind is StepKind.NODE}
    modules = (str(Path(assembly.file).expanduser().parent),) if cluster.is_local else ()
    for number, node in enumerate(cluster.nodes):
        name = f"{cluster.path}/{node.name}"
        if StepName(StepKind.NODE, name) not in names:
            continue
        is_elsewhere = not is_at_front_end(cluster, node)
        yield NodeJob(
            name=name,
            home=node_path(name),
            argv=node_command(cluster, node, library=search),
            environment=_paths(search),
            search=(*modules, folder),
            listen=_where_to_listen(plan, cluster, address_in(run_directory, f"node{number}")),
            is_elsewhere=is_elsewhere,
        )


def _where_to_listen(plan: DeploymentPlan, cluster: DeployedCluster, here: str) -> str:
    """Return where other nodes may dial a node; nothing where they had better not try."""
    if cluster.reachability is not Reachability.DIRECT or cluster.peer:
        return ""
    return here if all(one.is_local for one in plan.deployment.clusters()) else "0.0.0.0:0"


def _machine_of(plan: DeploymentPlan, cluster: DeployedCluster) -> Grid:
    """Return the machine as the code of a cluster knows it: those of others have no ranks in it."""
    applications = plan.deployment.applications
    mine = next((one.clusters for one in applications if cluster.position in one.clusters), ())
    sites = []
    for number, site in enumerate(plan.grid.sites):
        clusters = [
            known if (number, at) in mine else replace(known, nodes=())
            for at, known in enumerate(site.clusters)
        ]
        sites.append(Site(site.name, tuple(clusters)))
    return Grid(tuple(sites))


def _port(cluster: DeployedCluster, job: Job | None, forwards: Sequence[str]) -> int | None:
    """Return where ranks report, None for this host only; a fixed port is that for others first."""
    if cluster.front_end.port and f"0.0.0.0:{cluster.front_end.port}" not in forwards:
        return cluster.front_end.port
    return 0 if job is not None and job.is_elsewhere else None


def settings_of(plan: DeploymentPlan, cluster: DeployedCluster, job: Job | None) -> RankSettings:
    """Return what the ranks of a cluster are told before their programs run."""
    deployment, watch = plan.deployment, watch_of(plan)
    times = None if watch is None else LineTimes.within(watch.timeout)
    settings = RankSettings(
        grid=pickle.dumps(_machine_of(plan, cluster), protocol=5),  # for those who open it
        named_classes=tuple(
            (one.role, one.name, one.scope, one.between, str(one.location))
            for one in deployment.named_classes
        ),
        plans=deployment.plans,
        explain_waits=deployment.explain_waits,
        is_observed=deployment.observed,
        is_traced=deployment.traced,
        is_checked=deployment.checked,
        is_joined=_has_others(plan, cluster),
        line_times=None if times is None else (times.silence, times.resumed),
    )
    if job is None:
        return settings
    program = job.program
    return replace(
        settings,
        comm_world=program.comm_world,
        failures=program.failures,
        recovery=program.recovery,
        recovery_messages=program.recovery_messages,
        replicas=program.replicas,
        restart=program.restart,
    )


def _transports(
    plan: DeploymentPlan, cluster: DeployedCluster, job: Job | None, passage: str
) -> tuple[str, ...]:
    """Return at which transports ranks of the cluster listen for others, the best one first.

    Ranks that others cannot reach still listen for their own front-end, which forwards to them.
    """
    if not _has_others(plan, cluster) and not (job is not None and job.goes_on):
        return ()
    if cluster.reachability is Reachability.DIRECT:
        is_near = is_on_this_machine(plan)
    else:
        is_near, passage = all(is_at_front_end(cluster, node) for node in cluster.nodes), ""
    tcp = ON_MACHINE if is_near else passage or EVERYWHERE
    return _listening(plan.deployment.transports, tcp)


def _listening(named: Sequence[str], tcp: str) -> tuple[str, ...]:
    """Return at which of the named transports to listen, the best one first, and where with TCP."""
    used = [one for one in named if one != SSH]
    if tcp == ON_MACHINE and used[:2] == [UNIX, TCP]:  # nobody would come to the port
        used.remove(TCP)
    return tuple(tcp if one == TCP else one for one in used)


def _forwards(
    plan: DeploymentPlan, cluster: DeployedCluster, run_directory: str, passage: str
) -> tuple[str, ...]:
    """Return where the front-end listens for those to be forwarded; nowhere if it need not."""
    if not _has_others(plan, cluster):
        return ()
    if passage:
        return (Passage.parse(passage).bind_address(FORWARDER),)
    is_near, clusters = is_on_this_machine(plan), plan.deployment.clusters()
    if is_near and all(one.reachability is Reachability.DIRECT for one in clusters):
        return ()
    named = plan.deployment.transports
    if is_near:
        used = _listening(named, ON_MACHINE)
    else:  # those of other hosts come, to whom a socket of this one is of no use
        tcp = f"0.0.0.0:{cluster.front_end.port}"
        used = _listening([one for one in named if one != UNIX], tcp)
    return tuple(bind_address(run_directory, FORWARDER, one) for one in used)


def _tunnels(plan: DeploymentPlan, cluster: DeployedCluster) -> tuple[str, ...]:
    """Return the clusters to whose front-ends only a tunnel leads from that of a cluster."""
    here = FrontEndStop(cluster.position)
    others = (one for one in plan.deployment.clusters() if one is not cluster)
    return tuple(
        one.identifier
        for one in others
        if tunnelled_leg(plan.grid, here, FrontEndStop(one.position)) is not None
    )


def _has_others(plan: DeploymentPlan, cluster: DeployedCluster) -> bool:
    """Tell whether there are ranks in other clusters too."""
    return any(one.ranks for one in plan.deployment.clusters() if one is not cluster)


def is_on_this_machine(plan: DeploymentPlan) -> bool:
    """Tell whether every rank runs where the launcher does."""
    return all(
        one.is_local and all(is_at_front_end(one, node) for node in one.nodes)
        for one in plan.deployment.clusters()
    )
