"""The steps after the end of the application: files come home."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from runtime.deployment.model import Deployment, Direction, Transfer
from runtime.deployment.steps import FileMove, Step, StepKind


def closing_steps(deployment: Deployment) -> tuple[Step, ...]:
    """Return the steps after the end, all of which can be done in parallel."""
    return tuple(_fetches(deployment))


def _fetches(deployment: Deployment) -> Iterator[Step]:
    outgoing = [one for one in deployment.transfers if one.direction is Direction.OUT]
    for cluster in deployment.clusters():
        moves = tuple(
            FileMove(transfer.source, _home(transfer, cluster.path))
            for transfer in outgoing
            if cluster.position in transfer.clusters
        )
        if moves:
            yield Step(
                f"fetch:{cluster.identifier}",
                StepKind.FETCH,
                cluster.path,
                by=f"front-end:{cluster.identifier}",
                files=moves,
            )


def _home(transfer: Transfer, path: str) -> str:
    """Return where the files of a cluster come to lie: apart, when several clusters send some."""
    if len(transfer.clusters) == 1:
        return transfer.destination
    return posixpath.join(transfer.destination, path)
