"""Checks whether a run can begin before all queues have granted nodes, as `start` says."""

from __future__ import annotations

from gcm.documents import Location
from runtime.deployment.context import Reading
from runtime.deployment.model import Deployment


def check_late_clusters(deployment: Deployment, location: Location, reading: Reading) -> None:
    """Report a `start` that does not fit the machine, or a program that needs all its ranks."""
    if deployment.start is None:
        return
    enough, of = deployment.start
    queued = deployment.queued()
    written = f'start="{enough} of {of}"'
    is_alone = all(one.batch is not None for one in deployment.clusters() if one.ranks)
    least = 1 if is_alone else 0
    if of != len(queued) or not least <= enough <= of:
        reading.fault(
            "bad-start",
            f"{written}: {len(queued)} clusters are behind queues",
            location,
            hint=f'write start="N of {len(queued)}" with N from {least} on, or leave it out',
        )
    for cluster in queued:
        if not cluster.ranks:
            reading.fault(
                "cannot-begin",
                f"{written}: the cluster '{cluster.path}' is behind a queue and has no ranks",
                cluster.location,
                hint="leave start out, or name it in the clusters of the application",
            )
    if len(deployment.applications) > 1 or deployment.assembly is not None:
        reading.fault(
            "cannot-begin",
            f"{written}: several programs, or components, begin together",
            location,
            hint="leave start out, or deploy one <application> alone",
        )
    for application in deployment.applications:
        if application.recovery != "rebuild":
            reading.fault(
                "cannot-begin",
                f"{written}: the application '{application.name}' needs all its ranks at once",
                application.location,
                hint='add recovery="rebuild", with which ranks can come later, or leave start out',
            )
    for process in deployment.processes:
        if process.on is not None and deployment.cluster(process.on) in queued:
            reading.fault(
                "cannot-begin",
                f"{written}: the process '{process.name}' is on a cluster that may come later",
                location,
                hint="leave start out, or let it run elsewhere",
            )
