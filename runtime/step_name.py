"""Which step of a deployment is meant: the value of names such as `ranks:0:1`. Pure.

The text is for plans that are shown, for the log, and for what a front-end tells the launcher,
which parses it once.
"""

from __future__ import annotations

from enum import StrEnum

from gcm.records import dataclass


class StepKind(StrEnum):
    """What a step does, and what it means for the step to be up."""

    PROCESS = "process"
    """Start a helper process; up when it is ready as its descriptor says."""
    FRONT_END = "front-end"
    """Reach a cluster, stage its files, start its front-end; up when it has reported back."""
    RANKS = "ranks"
    """The front-end starts the native MPI; up when every rank has reported to it."""
    NODE = "node"
    """The front-end starts the process that holds the components of a node."""
    HANDSHAKE = "handshake"
    """Every part of a cluster, a site or the grid has exchanged identifiers with the part above."""
    TUNNELS = "tunnels"
    """Carry connections over the launcher's ways to clusters that have no other one."""
    ASSEMBLE = "assemble"
    """Put the components of the user's assembly on their nodes and bind them."""
    START = "start"
    """Let the application and the assembly run."""
    FETCH = "fetch"
    """Bring files home."""


WHOLE_GRID = "grid"
"""What the handshake of all sites is about."""


@dataclass(frozen=True, slots=True)
class StepName:
    """One step: what it does, and for which cluster, site, node or helper process.

    A deployment has at most one step of a kind that is `about` nothing, such as its start.

    >>> str(StepName(StepKind.RANKS, "0:1")), str(StepName(StepKind.START))
    ('ranks:0:1', 'start')
    >>> StepName.parse("ranks:0:1").about
    '0:1'
    """

    kind: StepKind
    about: str = ""

    @classmethod
    def parse(cls, text: str) -> StepName:
        """Return the name that a text says; raises ValueError where there is no such kind."""
        kind, _, about = text.partition(":")
        return cls(StepKind(kind), about)

    def __str__(self) -> str:
        """Return the text that is shown."""
        return f"{self.kind}:{self.about}" if self.about else str(self.kind)
