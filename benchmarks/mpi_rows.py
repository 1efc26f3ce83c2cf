"""What was found, as rows: one case, its floor, and what each way to run it took; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ALLOWED_OVER_FLOOR = 1.3
OURS = "ours"


@dataclass(frozen=True, slots=True)
class Row:
    """One case: seconds by column (or bytes, as the unit says), and the least they can be."""

    what: str
    size: int
    floor: float | None
    columns: Mapping[str, float]
    unit: str = "s"

    @property
    def over_floor(self) -> float | None:
        """How many times the floor ours takes."""
        ours = self.columns.get(OURS)
        return ours / self.floor if ours and self.floor else None

    @property
    def best_peer(self) -> float | None:
        """The seconds of the fastest column that is not ours."""
        return min(
            (one for name, one in self.columns.items() if not name.startswith(OURS)), default=None
        )

    @property
    def over_peer(self) -> float | None:
        """How many times the best peer's time ours takes."""
        ours, peer = self.columns.get(OURS), self.best_peer
        return ours / peer if ours and peer else None

    @property
    def is_met(self) -> bool | None:
        """Whether ours is near the floor, and ahead of peers that are not; None without figures."""
        if self.over_floor is None or self.floor is None:
            return None
        peer = self.best_peer
        peer_is_near = peer is None or peer <= ALLOWED_OVER_FLOOR * self.floor
        is_ahead = peer_is_near or (self.over_peer or 0) < 1
        return self.over_floor <= ALLOWED_OVER_FLOOR and is_ahead


@dataclass(frozen=True, slots=True)
class Found:
    """One table: its rows, what went wrong, and how much the emulation itself was late."""

    name: str
    title: str
    rows: Sequence[Row]
    has_goals: bool = False
    faults: Mapping[str, str] = field(default_factory=dict)
    late: float = 0.0
    tails: Sequence[Row] = ()
    """The 95th percentiles of what `rows` has the medians of."""

    @property
    def columns(self) -> list[str]:
        """All columns that have figures or faults, in order of appearance."""
        names = dict.fromkeys(name for row in self.rows for name in row.columns)
        return list(dict.fromkeys([*names, *self.faults]))

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, in seconds."""
        return {
            "name": self.name,
            "title": self.title,
            "faults": dict(self.faults),
            "late": self.late,
            "rows": [
                {
                    "what": row.what,
                    "size": row.size,
                    "unit": row.unit,
                    "floor": row.floor,
                    "columns": dict(row.columns),
                    "over_floor": row.over_floor,
                    "over_peer": row.over_peer,
                    "is_met": row.is_met if self.has_goals else None,
                }
                for row in self.rows
            ],
        }


def size_of(size: int) -> str:
    """Return a size as people write it.

    >>> size_of(65536), size_of(4 << 20), size_of(1), size_of(0)
    ('64 KiB', '4 MiB', '1 B', '')
    """
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B" if size else ""
