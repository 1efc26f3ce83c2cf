"""How far the start of a run has come: which steps are up, and which ranks are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from gcm.records import dataclass
from runtime.run.outline import Outline

MOST_NAMES = 8
"""How many of the missing are named in a message."""


@dataclass(slots=True)
class RunProgress:
    """What has been begun, is up, has come and is ready."""

    outline: Outline
    _started: set[str] = field(default_factory=set)
    _up: set[str] = field(default_factory=set)
    _here: set[str] = field(default_factory=set)
    _ready: set[str] = field(default_factory=set)

    def next_steps(self) -> Iterator[str]:
        """Yield every step whose dependencies are up, which counts as started from then on."""
        for name, needs in self.outline.steps.items():
            if name not in self._started and needs <= self._up:
                self._started.add(name)
                yield name

    def step_up(self, step: str) -> None:
        """Record that a step is up."""
        self._up.add(step)

    def rank_here(self, rank: str) -> None:
        """Record that a rank has found its front-end."""
        self._here.add(rank)

    def rank_ready(self, rank: str) -> None:
        """Record that a rank waits for all others."""
        self._ready.add(rank)

    @property
    def have_all_ranks_begun(self) -> bool:
        """Whether the ranks of every cluster have been started."""
        return self.outline.all_ranks_steps <= self._started

    @property
    def missing(self) -> tuple[str, ...]:
        """Return what has been started but is not up yet: ranks by name, else steps.

        When some ranks never reported, the others wait for them: only those are named.
        """
        steps = [one for one in self.outline.steps if one in self._started - self._up]
        ranks = [
            rank
            for cluster, names in self.outline.ranks.items()
            if f"ranks:{cluster}" in steps
            for rank in names
            if rank not in self._ready
        ]
        ranks = [rank for rank in ranks if rank not in self._here] or ranks
        others = [one for one in steps if not one.startswith(("ranks:", "handshake:"))]
        return (*ranks, *others)

    def missing_in_words(self) -> str:
        """Return what is missing, for a message of bounded length."""
        missing = self.missing
        more = f" and {len(missing) - MOST_NAMES} more" if len(missing) > MOST_NAMES else ""
        return (self.outline.names.names(missing[:MOST_NAMES]) or "the handshake") + more
