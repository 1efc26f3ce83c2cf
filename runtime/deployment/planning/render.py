"""Renders a plan: as text for people, as plain values for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import groupby

from runtime.allocations import batch_system, can_reserve
from runtime.deployment.model import DeployedCluster, Variable
from runtime.deployment.planning.opening import HERE, levels_at
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.program_files import readable
from runtime.deployment.planning.steps import EVERYTHING, REST, FileMove, Step
from runtime.deployment.planning.workplace import workplace_of
from runtime.native_mpi import AUTO, Job, native_mpi
from runtime.shown_text import listed, shown
from runtime.step_name import StepKind
from runtime.topology import Node

MOST_NAMED = 6


def render_plan(plan: DeploymentPlan) -> str:
    """Return the whole plan as text: the machine, the steps with their commands, the end."""
    lines = [*_summary(plan), "", *_machine(plan), "", *_programs(plan)]
    return "\n".join([*lines, *_order(plan), *_end(plan)]) + "\n"


def render_variables(variables: Iterable[Variable]) -> str:
    """Return each variable with its value and where the value came from."""
    lines = [f"{one.name} = {one.value}  ({one.origin}: {one.source})" for one in variables]
    return "\n".join(lines) + "\n" if lines else "no variables\n"


def plan_as_dict(plan: DeploymentPlan) -> dict[str, object]:
    """Return the whole plan as plain values, ready for JSON."""
    deployment = plan.deployment
    return {
        "name": deployment.name,
        "ranks": plan.grid.size,
        "depth": plan.depth,
        "variables": [
            {"name": one.name, "value": one.value, "origin": str(one.origin), "source": one.source}
            for one in deployment.variables
        ],
        "sites": [
            {
                "name": site.name,
                "identifier": str(number),
                "clusters": [_cluster_as_dict(plan, cluster) for cluster in site.clusters],
            }
            for number, site in enumerate(deployment.sites)
        ],
        "named_classes": [
            {"role": one.role, "class": one.name, "between": one.between, "scope": list(one.scope)}
            for one in deployment.named_classes
        ],
        "plans": deployment.plans,
        "virtual_nodes": {
            one.name: list(map(deployment.path_of, one.nodes)) for one in deployment.virtual_nodes
        },
        "programs": {
            name: {
                "files": len(files.files),
                "bytes": files.size,
                "largest": dict(files.largest()),
                "ignored": list(files.ignored),
                "skipped": list(files.skipped),
            }
            for name, files in plan.programs.items()
        },
        "steps": [step.as_dict() for step in plan.steps],
        "closing": [step.as_dict() for step in plan.closing],
    }


def _cluster_as_dict(plan: DeploymentPlan, cluster: DeployedCluster) -> dict[str, object]:
    at = workplace_of(plan.deployment, cluster)
    names = plan.deployment.rank_names()
    return {
        "name": cluster.name,
        "identifier": cluster.identifier,
        "levels": list(levels_at(plan.deployment, cluster.position)),
        "route": [hop.destination for hop in cluster.hops],
        "address": cluster.front_end.address,
        "reachability": str(cluster.reachability),
        "application": cluster.application,
        "works_in": {"folder": at.folder, "copy": at.is_copy, "staged": at.is_staged},
        "batch": None if cluster.batch is None else cluster.batch.system,
        "flavour": cluster.mpi.flavour,
        "nodes": [
            {
                "name": node.name,
                "host": node.host,
                "ranks": node.ranks,
                "first_number": names.number(f"{cluster.identifier}:{first}"),
            }
            for node, first in _first_ranks(cluster)
        ],
        "spares": [
            {"host": host, "places": places} for host, places in _spares(plan, cluster).items()
        ],
    }


def _summary(plan: DeploymentPlan) -> list[str]:
    deployment = plan.deployment
    clusters = list(deployment.clusters())
    nodes = sum(len(cluster.nodes) for cluster in clusters)
    counts = (
        f"{_count(len(deployment.sites), 'site')}, {_count(len(clusters), 'cluster')}, "
        f"{_count(nodes, 'node')}, {_count(plan.grid.size, 'rank')}"
    )
    lines = [f"deployment {deployment.name}: {counts}", f"starts in {plan.depth} waves"]
    queued = [one for one in clusters if one.batch is not None and not one.batch.job]
    if len(queued) > 1:
        requests = [one.batch for one in queued if one.batch is not None]
        start = plan.deployment.start
        if start is None and can_reserve(requests):
            lines.append(
                "reserves nodes from a common start on, the earliest that all queues take; else"
            )
        enough = "all" if start is None else f"{start[0]} of {start[1]}"
        lines.append(
            f"begins when {enough} queues have granted nodes; until then they wait, at most"
            f" {', '.join(f'{_idle(one):g} s in {one.path}' for one in queued)},"
            " are given back, and asked for again"
        )
    return lines


def _idle(cluster: DeployedCluster) -> float:
    return 0.0 if cluster.batch is None else cluster.batch.longest_idle


def _machine(plan: DeploymentPlan) -> Iterator[str]:
    site, cluster = plan.grid_front_end
    yield f"grid (led by the front-end of {site}:{cluster})"
    yield from _named_classes(plan, (), "  ")
    if plan.deployment.plans:
        yield f"  plans of collectives: {plan.deployment.plans}"
    for number, found in enumerate(plan.deployment.sites):
        leader = plan.site_front_end(number)
        yield f"  site {number} {found.name} (led by the front-end of {leader[0]}:{leader[1]})"
        yield from _named_classes(plan, (number,), "    ")
        for one in found.clusters:
            yield f"    cluster {one.identifier} {one.name}: {', '.join(_facts(one))}"
            yield f"      {_work(plan, one)}"
            yield from _named_classes(plan, one.position, "      ")
            yield from (f"      {line}" for line in _nodes(plan, one))
            yield from (f"      {line}" for line in _job_script(one))
    for virtual in plan.deployment.virtual_nodes:
        names = " ".join(map(plan.deployment.path_of, virtual.nodes))
        yield f"  virtual node {virtual.name}: {names}"


def _named_classes(plan: DeploymentPlan, scope: tuple[int, ...], indent: str) -> Iterator[str]:
    """Yield the controllers and interceptors of a part of the machine."""
    for one in plan.deployment.named_classes:
        if one.scope == scope:
            yield f"{indent}{one}"


def _facts(cluster: DeployedCluster) -> list[str]:
    return [
        cluster.way,
        f"reachability {cluster.reachability}",
        f"MPI {cluster.mpi.flavour}",
        f"runs {cluster.application}" if cluster.application else "runs no application",
    ]


def _job_script(cluster: DeployedCluster) -> Iterator[str]:
    """Yield the script that the batch system of a cluster gets, if it has one."""
    if cluster.batch is None:
        return
    if cluster.batch.job:
        yield f"in job {cluster.batch.job}, which runs already"
        return
    system = batch_system(cluster.batch.system)
    yield f"its job, for {shlex.join(system.submit())}:"
    script = system.script(cluster.batch, "gcm-NAME", ".cache/gcm/leases/gcm-NAME")
    yield from (f"  {line}" for line in script.rstrip().splitlines())


def _work(plan: DeploymentPlan, cluster: DeployedCluster) -> str:
    """Return where the ranks of a cluster start."""
    at = workplace_of(plan.deployment, cluster)
    if not at.is_copy:
        return f"works in {at.folder}"
    if not at.is_staged:
        return "works in a folder made for it"
    files = plan.programs.get(cluster.application)
    return f"works in a copy of {at.folder}" + (f" ({files})" if files is not None else "")


def _programs(plan: DeploymentPlan) -> Iterator[str]:
    """Yield what is copied of each program folder, the largest first."""
    for code in plan.deployment.applications:
        files = plan.programs.get(code.name)
        if files is None:
            continue
        above = (
            f", above its limit of {code.stage_limit} MB" if files.exceeds(code.stage_limit) else ""
        )
        yield f"copied of {code.folder} for {code.name}: {files}{above}"
        yield from (f"  {readable(size):>10}  {shown(path)}" for path, size in files.largest())
        if files.ignored:
            yield f"  left out: {listed([*map(shown, files.ignored)], MOST_NAMED)}"
        if files.skipped:
            yield f"  cannot be copied: {listed(files.skipped, MOST_NAMED)}"
        yield ""


def _spares(plan: DeploymentPlan, cluster: DeployedCluster) -> dict[str, int]:
    """Return the spare hosts of a cluster in which lost ranks may be restarted."""
    code = plan.deployment.application_of(cluster)
    if code is None or not code.goes_on:
        return {}
    return {one.host: one.places for one in cluster.spares}


def _first_ranks(cluster: DeployedCluster) -> Iterator[tuple[Node, int]]:
    """Yield each node with its first rank in the cluster."""
    first = 0
    for node in cluster.nodes:
        yield node, first
        first += node.ranks


def _nodes(plan: DeploymentPlan, cluster: DeployedCluster) -> Iterator[str]:
    spares, names = _spares(plan, cluster), plan.deployment.rank_names()
    for node, first in _first_ranks(cluster):
        where = f"{node.name} ({node.host})" if node.host != node.name else node.name
        ranks = "no ranks"
        if node.host in spares:
            ranks = f"spare, for {_count(spares[node.host], 'rank')}"
        if node.ranks:
            ranks = names.numbers(cluster.identifier, first, node.ranks)
        yield f"{where}: {ranks}"


def _order(plan: DeploymentPlan) -> Iterator[str]:
    for depth, steps in groupby(plan.steps, key=lambda step: step.depth):
        yield f"wave {depth + 1}, all at once:"
        for step in steps:
            yield from _step(step)


def _end(plan: DeploymentPlan) -> Iterator[str]:
    if plan.closing:
        yield "after the end, whatever it is, all at once:"
    for step in plan.closing:
        yield from _step(step)


def _step(step: Step) -> Iterator[str]:
    by = f" by {step.by}" if step.by else ""
    place = "" if step.place == HERE else f" at {step.place}"
    yield f"  {step.name}{place}{by}"
    if step.depends_on:
        yield f"    after {listed([*map(str, step.depends_on)], MOST_NAMED)}"
    for move in step.files:
        yield f"    {_move(move, step.kind)}"
    if step.environment:
        yield f"    with {' '.join(sorted(step.environment))} in its environment"
    if step.within:
        yield f"    in the process of {step.within}"
    if step.for_each_host:
        yield "    once for each host, with its ranks"
    if step.argv:
        yield f"    $ {shlex.join(step.argv)}"
    if step.job is not None:
        yield from _other_starter(step.job)


def _other_starter(job: Job) -> Iterator[str]:
    """Yield what starts ranks in place of an `mpiexec`, as far as a plan knows that."""
    if not job.options and native_mpi(job.flavour).is_managed({}):
        yield "    (gcm-pmi starts them in its place)"
    elif not job.options and job.flavour == AUTO:
        yield "    (gcm-pmi starts them in its place if that is the mpiexec of an MPICH)"


_WHAT = {EVERYTHING: "all that is new", REST: "all else that is new"}


def _move(move: FileMove, kind: StepKind) -> str:
    if kind is not StepKind.FETCH:
        return f"copy {move.source} to {move.destination}"
    what = _WHAT.get(move.source, move.source)
    every = f", also every {move.every:g} s of the run" if move.every else ""
    replaces = ", in place of yours" if move.replaces else ""
    return f"bring {what} home to {move.destination}{replaces}{every}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
