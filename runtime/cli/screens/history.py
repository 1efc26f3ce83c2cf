"""When each rank began and ended, from changes of state."""

from __future__ import annotations

from runtime.cli.screens.tree import OVER, RUNNING
from runtime.deployment import DeploymentPlan, Level


class History:
    """Collects the changes of a run with their times."""

    def __init__(self, plan: DeploymentPlan) -> None:
        self.running_since: float | None = None
        """When the application began to run, if it ever did."""
        self._ranks = {
            part.path: part.identifier
            for part in plan.components().walk()
            if part.level is Level.WRAPPER
        }
        self._ended: dict[str, float] = {}

    def note(self, path: str, state: str, now: float) -> None:
        """Record a change of state."""
        rank = self._ranks.get(path)
        if rank is None:
            return
        if state == RUNNING and self.running_since is None:
            self.running_since = now
        elif state in OVER:
            self._ended.setdefault(rank, now)

    def seconds(self, rank: str) -> float | None:
        """Return how long a rank has run; None if it never ran or was not seen to end."""
        if self.running_since is None or rank not in self._ended:
            return None
        return self._ended[rank] - self.running_since
