"""What a front-end is told: made of the plan and of what was found and made at its place. Pure.

A new setting of all ranks is a field of `RankSettings`, its value in `settings_of`, and whatever
reads it in the rank; one of front-ends is a field of `FrontEndSettings`, and its value in
`front_end_settings`.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from gcm.records import dataclass
from runtime.deployment.model import SSH, TCP, UNIX, DeployedCluster, FrontEnd
from runtime.deployment.planning.commands import is_at_front_end, node_command
from runtime.deployment.planning.opening import levels_at
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.health import LineTimes
from runtime.machine.paths import node_path
from runtime.machine.rank_settings import RankSettings
from runtime.membership.bind_address import EVERYWHERE, ON_MACHINE, bind_address
from runtime.membership.run_directory import address_in
from runtime.native_mpi import Job
from runtime.processes.configuration import LISTENER, FrontEndSettings, NodeJob
from runtime.processes.launcher.mpi_wheel import BroughtMpi
from runtime.processes.watch import watch_of
from runtime.routing import FrontEndStop, tunnelled_leg
from runtime.step_name import StepKind, StepName
from runtime.topology import Grid, Reachability, Site
from runtime.transport.keys import Keyring, RunKeys, audience_of, issuer_of
from runtime.transport.passage import FORWARDER, Passage


@dataclass(frozen=True, slots=True)
class PreparedPlace:
    """What was found and made where a front-end runs, by `runtime.processes.launcher.supply`.

    `python` is the full path of the Python of front-end and ranks. The `run_directory` holds
    secrets, sockets and the package, `folder` is where ranks start, in `work` if the program folder
    was copied. `library` is on the Python path since the package is not there, `search` is that
    path as a whole, and `modules` the folders of the assembly's classes. `granted` are the hosts of
    a batch job in place of those of the plan. With a `passage` others come over that.
    """

    python: str
    run_directory: str
    folder: str
    work: str = ""
    library: str = ""
    search: str = ""
    modules: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    passage: str = ""
    mpi: BroughtMpi | None = None

    @property
    def paths(self) -> dict[str, str]:
        """The environment in which a Python finds the package."""
        return {"PYTHONPATH": self.search} if self.search else {}


@dataclass(frozen=True, slots=True)
class StartTerms:
    """How the run begins at a place.

    `address` is where the front-end finds the launcher, empty for its standard input and output.
    `idle` ranks are not started before somebody asks for them. Where a cluster `is_late`, its ranks
    are started one by one. `certificates` are those for the keys.
    """

    keys: Keyring = field(repr=False)
    certificates: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    address: str = ""
    idle: bool = False
    is_late: bool = False


def front_end_settings(
    plan: DeploymentPlan, cluster: DeployedCluster, place: PreparedPlace, terms: StartTerms
) -> FrontEndSettings:
    """Return what the front-end of a cluster is told."""
    there = replace(cluster, front_end=at_place(cluster, place))
    job, at_once = None, False
    if cluster.ranks:
        ranks = plan.step(StepName(StepKind.RANKS, cluster.identifier))
        front_end = StepName(StepKind.FRONT_END, cluster.identifier)
        # what has to be up before is, once the ranks of a late cluster are started one by one
        at_once = (terms.is_late or ranks.depends_on == (front_end,)) and not terms.idle
        assert ranks.job is not None
        job = replace(_job_there(ranks.job, place), is_late=terms.is_late)
        if len(place.granted) > 1:
            each = (held for _, held in job.hosts)
            job = replace(job, hosts=tuple(zip(place.granted, each, strict=False)))
    forwards = _forwards(plan, cluster, place.run_directory, place.passage)
    return FrontEndSettings(
        cluster=cluster.identifier,
        path=cluster.path,
        levels=levels_at(plan.deployment, cluster.position),
        run_directory=place.run_directory,
        folder=place.folder,
        umask=plan.deployment.umask,
        port=_port(cluster, job, forwards),
        job=job,
        at_once=at_once,
        launcher=terms.address,
        keys=terms.keys,
        certificates=terms.certificates,
        nodes=tuple(_nodes(plan, there, place)),
        settings=settings_of(plan, cluster, job),
        transports=_transports(plan, cluster, job, place.passage),
        forwards=forwards,
        known_as=cluster.front_end.address,
        passage=place.passage,
        watch=watch_of(plan),
        ranks_limit=plan.ranks_limit,
        wan=cluster.wan,
        names=plan.deployment.rank_names(),
        tunnels=_tunnels(plan, cluster),
    )


def at_place(cluster: DeployedCluster, place: PreparedPlace) -> FrontEnd:
    """Return what is left of how a front-end starts once the launcher has prepared its host."""
    return replace(cluster.front_end, python=place.python, modules=(), before="", container="")


def keys_of(
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


def _job_there(job: Job, place: PreparedPlace) -> Job:
    """Return a planned job with the paths that were found where its ranks run."""
    own = dict(job.environment)
    if place.library and "PYTHONPATH" in own:  # its program wants that; the package is needed too
        own["PYTHONPATH"] = f"{place.library}:{own['PYTHONPATH']}"
    if place.mpi is not None:
        job = replace(job, mpiexec=place.mpi.mpiexec)
        own |= place.mpi.environment  # in place of those of this machine
    program = replace(job.program, python=place.python, run_directory=place.run_directory)
    return replace(job, program=program, environment={**place.paths, **own})


def _nodes(
    plan: DeploymentPlan, cluster: DeployedCluster, place: PreparedPlace
) -> Iterator[NodeJob]:
    """Yield the processes of the cluster's nodes that get components."""
    if plan.deployment.assembly is None:
        return
    names = {step.name for step in plan.steps if step.kind is StepKind.NODE}
    for number, node in enumerate(cluster.nodes):
        name = f"{cluster.path}/{node.name}"
        if StepName(StepKind.NODE, name) not in names:
            continue
        is_elsewhere = not is_at_front_end(cluster, node)
        here = address_in(place.run_directory, f"node{number}")
        yield NodeJob(
            name=name,
            home=node_path(name),
            argv=node_command(cluster, node, library=place.search),
            environment=place.paths,
            search=(*place.modules, place.folder),
            listen=_where_to_listen(plan, cluster, here),
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
        is_joined=_has_others(plan, cluster),
        line_times=None if times is None else (times.silence, times.resumed),
    )
    settings = replace(settings, **deployment.for_ranks)
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
