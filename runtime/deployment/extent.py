"""Limits what a descriptor may expand to: few lines can mean more than any machine holds."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import StrEnum

from gcm.documents import Diagnostics, Location
from gcm.records import dataclass


class MachineAmount(StrEnum):
    """The things that are counted."""

    PARTS = "names, clusters, nodes and processes"
    RANKS = "ranks"
    TEXT = "characters, with its variables replaced"


MOST = {
    MachineAmount.PARTS: 300_000,
    MachineAmount.RANKS: 1_000_000,
    MachineAmount.TEXT: 16 * 1024 * 1024,
}
"""The most that one descriptor may expand to. These limits are fixed."""


@dataclass(slots=True)
class Extent:
    """Counts what one descriptor expands to; each exceeded limit is reported once."""

    diagnostics: Diagnostics
    used: Counter[MachineAmount] = field(default_factory=Counter)

    @property
    def is_over(self) -> bool:
        """Return whether any limit was exceeded."""
        return any(self.used[amount] > most for amount, most in MOST.items())

    def grow(self, amount: MachineAmount, count: int, location: Location) -> bool:
        """Count what a line expands to; return False if that is too much."""
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
