"""The steps up to a running application, in the order of their dependencies."""

from __future__ import annotations

from collections.abc import Iterator

from gcm.records import dataclass
from runtime.deployment.model import (
    ASSEMBLY,
    Application,
    DeployedCluster,
    Deployment,
    HelperProcess,
    NodeAddress,
    Position,
    ProcessKind,
)
from runtime.deployment.planning.assembly import Level
from runtime.deployment.planning.commands import (
    front_end_command,
    helper_command,
    job_of,
    node_command,
    shared_front_end_command,
)
from runtime.deployment.planning.steps import Step, in_order
from runtime.deployment.planning.workplace import workplace_of
from runtime.native_mpi import native_mpi
from runtime.step_name import WHOLE_GRID, StepKind, StepName

HERE = "here"
_GRID_HANDSHAKE = StepName(StepKind.HANDSHAKE, WHOLE_GRID)
_ASSEMBLE = StepName(StepKind.ASSEMBLE)
_TUNNELS = StepName(StepKind.TUNNELS)


def opening_steps(deployment: Deployment) -> tuple[Step, ...]:
    """Return every step up to the start of the application, by depth."""
    return in_order(_Opening(deployment, _up_when(deployment), _first_with(deployment)).steps())


def levels_at(deployment: Deployment, position: Position) -> tuple[str, ...]:
    """Return the levels of the hierarchy that the front-end of a cluster hosts."""
    site, cluster = position
    levels: list[str] = [Level.CLUSTER]
    if deployment.sites[site].leader == cluster:
        levels.append(Level.SITE)
        if deployment.leader == site:
            levels.append(Level.GRID)
    return tuple(levels)


def _first_with(deployment: Deployment) -> dict[str, Position]:
    """Return for each Python of this machine the first cluster here that has it."""
    local = [one for one in deployment.clusters() if one.is_local]
    return {one.front_end.python: one.position for one in reversed(local)}


def _up_when(deployment: Deployment) -> dict[str, tuple[StepName, ...]]:
    """Return the steps that have to be up before an application, process or assembly starts."""
    up = {
        application.name: tuple(
            _handshake(deployment.cluster(position).identifier) for position in application.clusters
        )
        for application in deployment.applications
    }
    up |= {process.name: tuple(_helper_steps(process)) for process in deployment.processes}
    return {**up, ASSEMBLY: (_ASSEMBLE,)}


def _helper_steps(process: HelperProcess) -> dict[StepName, str]:
    """Return the step of each copy of a helper process, and the host that it is for."""
    name = process.name
    if process.kind is ProcessKind.MPI:
        return {StepName(StepKind.PROCESS, name): ""}
    copies = {f"{name}@{host}" if host else name: host for host in process.hosts or ("",)}
    if process.number > 1:
        copies = {
            f"{copy}#{number}": host
            for copy, host in copies.items()
            for number in range(process.number)
        }
    return {StepName(StepKind.PROCESS, about): host for about, host in copies.items()}


@dataclass(frozen=True, slots=True)
class _Opening:
    deployment: Deployment
    up_when: dict[str, tuple[StepName, ...]]
    first_with: dict[str, Position]

    def steps(self) -> Iterator[Step]:
        codes = {one.name: one for one in self.deployment.applications}
        before_ranks = {name: self._before(name) for name in codes}
        for cluster in self.deployment.clusters():
            code = codes.get(cluster.application)
            yield self._front_end(cluster)
            if code is not None and cluster.ranks:
                yield self._ranks(cluster, code, before_ranks[code.name])
        for process in self.deployment.processes:
            yield from self._helpers(process)
        yield from self._handshakes()
        yield from self._components()
        last = [_GRID_HANDSHAKE]
        if tunnelled := self.deployment.tunnelled():
            before = tuple(map(_front_end_name, tunnelled))
            yield Step(_TUNNELS, HERE, depends_on=before)
            last.append(_TUNNELS)
        if self.deployment.assembly is not None:
            last.append(_ASSEMBLE)
        helpers = [name for one in self.deployment.processes for name in self.up_when[one.name]]
        yield Step(StepName(StepKind.START), "grid", depends_on=(*last, *helpers))

    def _before(self, name: str) -> tuple[StepName, ...]:
        return tuple(
            step
            for before in self.deployment.dependencies.get(name, ())
            for step in self.up_when[before]
        )

    def _front_end(self, cluster: DeployedCluster) -> Step:
        argv, within = self._process_of(cluster)
        return Step(
            name=_front_end_name(cluster),
            place=cluster.path,
            argv=argv,
            within=within,
            files=workplace_of(self.deployment, cluster).files,
            folder=cluster.front_end.folder,
        )

    def _process_of(self, cluster: DeployedCluster) -> tuple[tuple[str, ...], StepName | None]:
        """Return the command of a front-end, or none and the step whose process it begins in.

        The front-ends of this machine that have the same Python begin as one process.
        """
        if not cluster.is_local:
            levels = levels_at(self.deployment, cluster.position)
            return front_end_command(cluster, levels), None
        python = cluster.front_end.python
        first = self.first_with[python]
        if first == cluster.position:
            return shared_front_end_command(python), None
        return (), _front_end_name(self.deployment.cluster(first))

    def _ranks(
        self, cluster: DeployedCluster, code: Application, before: tuple[StepName, ...]
    ) -> Step:
        front_end = _front_end_name(cluster)
        program = workplace_of(self.deployment, cluster).program_of(code, cluster)
        is_joined = any(one.ranks for one in self.deployment.clusters() if one is not cluster)
        umask = self.deployment.umask
        job = job_of(cluster, code, program, umask, is_joined=is_joined)
        return Step(
            name=_ranks_name(cluster),
            place=cluster.path,
            argv=native_mpi(job.flavour).argv(job.world(job.parts[0])),
            depends_on=(front_end, *before),
            by=front_end,
            environment=job.environment,
            job=job,
        )

    def _helpers(self, process: HelperProcess) -> Iterator[Step]:
        before = self._before(process.name)
        place: str = HERE
        by: StepName | None = None
        if process.on is not None:
            cluster = self.deployment.cluster(process.on)
            place, by = cluster.path, _front_end_name(cluster)
        for name, host in _helper_steps(process).items():
            yield Step(
                name=name,
                place=host or place,
                argv=helper_command(process, host),
                depends_on=(by, *before) if by else before,
                by=by,
                environment=process.environment,
                folder=process.folder,
                ready_line=process.ready_line,
                ready_when_finished=process.ready_when_finished,
            )

    def _handshakes(self) -> Iterator[Step]:
        for cluster in self.deployment.clusters():
            below = _ranks_name(cluster) if cluster.ranks else _front_end_name(cluster)
            yield Step(_handshake(cluster.identifier), cluster.path, depends_on=(below,))
        for number, site in enumerate(self.deployment.sites):
            below_site = tuple(_handshake(cluster.identifier) for cluster in site.clusters)
            yield Step(_handshake(str(number)), site.name, depends_on=below_site)
        below_grid = tuple(_handshake(str(number)) for number in range(len(self.deployment.sites)))
        yield Step(_GRID_HANDSHAKE, "grid", depends_on=below_grid)

    def _components(self) -> Iterator[Step]:
        if self.deployment.assembly is None:
            return
        before, names = self._before(ASSEMBLY), []
        used = {address for one in self.deployment.virtual_nodes for address in one.nodes}
        for address in sorted(used, key=lambda one: (one.cluster, one.number)):
            step = self._node(address, before)
            names.append(step.name)
            yield step
        # The launcher reads the assembly and keeps its tree; only primitives live on nodes.
        yield Step(_ASSEMBLE, HERE, depends_on=(*before, *names))

    def _node(self, address: NodeAddress, before: tuple[StepName, ...]) -> Step:
        cluster = self.deployment.cluster(address.cluster)
        node = cluster.nodes[address.number]
        front_end, path = _front_end_name(cluster), f"{cluster.path}/{node.name}"
        return Step(
            name=StepName(StepKind.NODE, path),
            place=path,
            argv=node_command(cluster, node),
            depends_on=(front_end, *before),
            by=front_end,
        )


def _front_end_name(cluster: DeployedCluster) -> StepName:
    return StepName(StepKind.FRONT_END, cluster.identifier)


def _ranks_name(cluster: DeployedCluster) -> StepName:
    return StepName(StepKind.RANKS, cluster.identifier)


def _handshake(part: str) -> StepName:
    return StepName(StepKind.HANDSHAKE, part)
