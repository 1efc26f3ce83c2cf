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
class WatchedGroups:
    """Who watches whom: `ARBITER` and the identifiers of the clusters.

    All members of a group watch each other; `ARBITER` is in each of them, because it decides. Of
    who is in `only_suspected` silence is told and no more. A rank that is stopped for longer than
    `timeout` is ended if `frozen_is_lost`.
    """

    groups: tuple[tuple[str, ...], ...]
    settings: DetectorSettings
    only_suspected: tuple[str, ...] = ()
    timeout: float = 3.0
    frozen_is_lost: bool = False

    def of(self, member: str) -> list[tuple[str, ...]]:
        """Return the groups in which a member is."""
        return [group for group in self.groups if member in group]

    @property
    def members(self) -> list[str]:
        """Return all members."""
        return list(dict.fromkeys(one for group in self.groups for one in group))


def watch_of(plan: DeploymentPlan) -> WatchedGroups | None:
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
    own_site = chosen.protocol.row.own_site
    together = [site.clusters for site in deployment.sites] if own_site else [clusters]
    groups = tuple((ARBITER, *(one.identifier for one in group)) for group in together)
    settings = fitted(chosen.protocol, max(map(len, groups)), chosen.timeout, chosen.period)
    return WatchedGroups(groups, settings, near, chosen.timeout, frozen_is_lost)
