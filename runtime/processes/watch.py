"""Who watches whom in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.health import DetectorSettings, fitted

if TYPE_CHECKING:
    from runtime.deployment.planning.plan import DeploymentPlan

ARBITER = "launcher"
"""The member that decides; it is never declared lost for being silent."""


@dataclass(frozen=True, slots=True)
class WatchedGroup:
    """Who watches whom: `ARBITER` and the identifiers of the clusters.

    Of who is in `only_suspected` silence is told and no more. A rank
    that is stopped for longer than `timeout` is ended if `frozen_is_lost`.
    """

    members: tuple[str, ...]
    settings: DetectorSettings
    only_suspected: tuple[str, ...] = ()
    timeout: float = 3.0
    frozen_is_lost: bool = False


def watch_of(plan: DeploymentPlan) -> WatchedGroup | None:
    """Return who watches whom in a run; None where nobody has to.

    What is silent on this machine still has its process, so it is only suspected unless the
    descriptor wants more.
    """
    deployment = plan.deployment
    chosen, clusters = deployment.detection, list(deployment.clusters())
    is_needed = chosen.is_asked_for or not all(one.is_local for one in clusters)
    if chosen.protocol is None or not is_needed:
        return None
    frozen_is_lost = chosen.frozen_is_lost
    near = () if frozen_is_lost else tuple(one.identifier for one in clusters if one.is_local)
    members = (ARBITER, *(one.identifier for one in clusters))
    settings = fitted(chosen.protocol, len(members), chosen.timeout, chosen.period)
    return WatchedGroup(members, settings, near, chosen.timeout, frozen_is_lost)
