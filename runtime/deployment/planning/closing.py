"""The steps after the end of the application: results in copies are brought home."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from runtime.deployment.model import DeployedCluster, Deployment, Direction
from runtime.deployment.planning.steps import EVERYTHING, REST, FileMove, Step
from runtime.deployment.planning.workplace import workplace_of
from runtime.step_name import StepKind, StepName


def closing_steps(deployment: Deployment) -> tuple[Step, ...]:
    """Return the steps after the end, all of which can be done in parallel."""
    return tuple(_fetches(deployment))


def _fetches(deployment: Deployment) -> Iterator[Step]:
    asked = [one for one in deployment.transfers if one.direction is Direction.OUT]
    for cluster in deployment.clusters():
        work = workplace_of(deployment, cluster)
        mine = [one for one in asked if cluster.position in one.clusters]
        moves = [
            FileMove(
                one.source,
                home_of(work.folder, one.destination, cluster),
                one.every,
                one.replaces,
            )
            for one in mine
        ]
        is_all = any(one.discards_others or one.source == EVERYTHING for one in mine)
        if work.is_copy and not is_all:
            moves.append(FileMove(REST if mine else EVERYTHING, work.folder))
        if not work.is_copy and cluster.is_local:  # what is written in place is at home already
            moves = [one for one in moves if one.destination != work.folder]
        if moves or work.is_copy:
            yield Step(
                StepName(StepKind.FETCH, cluster.identifier),
                cluster.path,
                by=StepName(StepKind.FRONT_END, cluster.identifier),
                files=tuple(moves),
                folder=work.folder,
            )


def home_of(folder: str, destination: str, cluster: DeployedCluster) -> str:
    """Return where the results of a cluster are put, below the program folder.

    `{site}` and `{cluster}` give each a place of its own.
    """
    site, _, name = cluster.path.partition("/")
    path = destination.replace("{site}", site).replace("{cluster}", name)
    return posixpath.normpath(posixpath.join(folder, path))
