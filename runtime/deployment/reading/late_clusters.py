"""Checks whether a run can do without clusters that come later, as `start` and `again` say."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.documents import Location
from runtime.deployment.context import Reading
from runtime.deployment.model import DeployedCluster, Deployment
from runtime.deployment.reading.applications import REBUILDS


def led_by_present(deployment: Deployment, location: Location, reading: Reading) -> Deployment:
    """Return a deployment led by clusters that are there throughout, if some may come later.

    Reports a `start` or `again` that does not fit the machine or the program.
    """
    queued = deployment.queued()
    asking = [one for one in queued if one.asks_again]
    if deployment.start is not None:
        enough, of = deployment.start
        written = f'start="{enough} of {of}"'
        _check_share(written, queued, deployment, location, reading)
        _check_program(written, queued, deployment, location, reading)
    for one in asking:
        assert one.batch is not None
        written = f'again="{one.batch.again}"'
        _check_program(written, [one], deployment, one.location, reading)
    late = queued if deployment.start is not None else asking
    led = deployment.led_without({one.identifier for one in late})
    if asking:
        _check_leaders(asking, led, reading)
    return led


def _check_share(
    written: str,
    queued: Sequence[DeployedCluster],
    deployment: Deployment,
    location: Location,
    reading: Reading,
) -> None:
    """Report a `start` that does not fit the machine."""
    assert deployment.start is not None
    enough, of = deployment.start
    is_alone = all(one.batch is not None for one in deployment.clusters() if one.ranks)
    least = 1 if is_alone else 0
    if of != len(queued) or not least <= enough <= of:
        reading.fault(
            "bad-start",
            f"{written}: {len(queued)} clusters are behind queues",
            location,
            hint=f'write start="N of {len(queued)}" with N from {least} on, or leave it out',
        )


def _check_program(
    written: str,
    late: Sequence[DeployedCluster],
    deployment: Deployment,
    location: Location,
    reading: Reading,
) -> None:
    """Report what would wait for the clusters that come later."""
    leave_out = f"leave {written.partition('=')[0]} out"
    for cluster in late:
        if not cluster.ranks:
            reading.fault(
                "cannot-begin",
                f"{written}: the cluster '{cluster.path}' is behind a queue and has no ranks",
                cluster.location,
                hint=f"{leave_out}, or name it in the clusters of the application",
            )
    if len(deployment.applications) > 1 or deployment.assembly is not None:
        reading.fault(
            "cannot-begin",
            f"{written}: several programs, or components, begin together",
            location,
            hint=f"{leave_out}, or deploy one <application> alone",
        )
    for application in deployment.applications:
        if application.recovery not in REBUILDS:
            reading.fault(
                "cannot-begin",
                f"{written}: the application '{application.name}' needs all its ranks at once",
                application.location,
                hint=f'add recovery="rebuild", with which ranks can come later, or {leave_out}',
            )
    for process in deployment.processes:
        if process.on is not None and deployment.cluster(process.on) in late:
            reading.fault(
                "cannot-begin",
                f"{written}: the process '{process.name}' is on a cluster that may come later",
                location,
                hint=f"{leave_out}, or let it run elsewhere",
            )


def _check_leaders(
    asking: Sequence[DeployedCluster], deployment: Deployment, reading: Reading
) -> None:
    """Report a cluster that may be lost with what lets others in, of its site or of the run.

    Those behind queues lead in the order in which they come where not all begin together.
    """
    sites = [site for site in deployment.sites if len(site.clusters) > 1]
    top = deployment.sites[deployment.leader]
    for leader in dict.fromkeys(one.clusters[one.leader] for one in (*sites, top)):
        if leader in asking or (deployment.start is not None and leader.batch is not None):
            reading.fault(
                "cannot-lead",
                f"again: '{leader.path}' has to be there throughout, to let others in again",
                leader.location,
                hint="leave again out of one, or add a cluster that is not behind a queue",
            )
