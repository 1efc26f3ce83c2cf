"""Whether messages find a way between all clusters of a code."""

from __future__ import annotations

from runtime.deployment.model import Application, CommWorld, Deployment, ProgramKind
from runtime.deployment.surroundings import Reading
from runtime.routing import without_way

_MOST_NAMED = 4


def check_routes(deployment: Deployment, reading: Reading) -> None:
    """Report the clusters of a `COMM_WORLD` that nothing joins.

    Only those that connect outwards can be so. Where that is not written, it has been guessed (two
    hops lead there, or it is this machine), so the first cure is to write what is so.
    """
    for code in deployment.applications:
        if code.kind is not ProgramKind.EXECUTABLE and code.comm_world is CommWorld.GRID:
            _check(code, deployment, reading)


def _check(code: Application, deployment: Deployment, reading: Reading) -> None:
    with_ranks = [one for one in code.clusters if deployment.cluster(one).ranks]
    apart = [deployment.cluster(one) for one in without_way(deployment.grid(), with_ranks)]
    if not apart:
        return
    names = ", ".join(one.path for one in apart[:_MOST_NAMED])
    if len(apart) > _MOST_NAMED:
        names += f" and {len(apart) - _MOST_NAMED} more"
    reading.fault(
        "no-route",
        f"no message gets from one to another of {names}: each of these clusters only connects "
        "outwards, and there is none that they can connect to",
        apart[1].location,
        hint='if others can connect to one of them, write reachability="direct" there, or '
        '"front-end" for its front-end alone; else add a cluster that they can connect to, which '
        "relays: it needs no ranks if `clusters` of the <application> leaves it out",
    )
