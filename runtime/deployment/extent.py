"""How much a descriptor may stand for: a few of its lines can mean more than any machine holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import StrEnum

from gcm.documents import Diagnostics, Location
from gcm.records import dataclass


class MachineAmount(StrEnum):
    """What is counted."""

    PARTS = "names, clusters, nodes and processes"
    RANKS = "ranks"
    TEXT = "characters, with its variables replaced"


MOST = {
    MachineAmount.PARTS: 300_000,
    MachineAmount.RANKS: 1_000_000,
    MachineAmount.TEXT: 16 * 1024 * 1024,
}
"""The most that one descriptor may stand for. Nothing raises these limits."""


@dataclass(slots=True)
class Extent:
    """What one descriptor has come to stand for so far; each limit that is passed is told once."""

    diagnostics: Diagnostics
    used: Counter[MachineAmount] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Tell whether any limit was passed."""
        return any(self.used[amount] > most for amount, most in MOST.items())

    def grow(self, amount: MachineAmount, count: int, location: Location) -> bool:
        """Count what a line stands for; return False if that is too much."""
        before, most = self.used[amount], MOST[amount]
        self.used[amount] = before + count
        if before <= most < before + count:
            self.diagnostics.report(
                "too-large",
                f"up to here the descriptor stands for {before + count:,} {amount}",
                location,
                hint=f"the most is {most:,}; write fewer",
            )
        return self.used[amount] <= most
