"""What has happened in a world, in order: its hash says whether two runs were the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class TapeEntry:
    """One line of the tape; `to` is somebody else where an arrow leads there."""

    at: float
    who: str
    what: str
    to: str = ""


class Tape:
    """All that has happened; entries are kept where somebody is going to read them."""

    def __init__(self, *, is_kept: bool = False) -> None:
        self._hash = hashlib.blake2b(digest_size=8)
        self.entries: list[TapeEntry] = []
        self.is_kept = is_kept
        self.length = 0

    def event(self, at: float, who: str, event: object) -> None:
        """Record what happens to an actor."""
        self._hash.update(f"{at:.9f} {who} {event}\n".encode())
        self.length += 1

    def effect(self, at: float, who: str, effect: object) -> None:
        """Record what an actor wants to be done."""
        self._hash.update(f"{at:.9f} {who} -> {effect}\n".encode())

    def note(self, at: float, who: str, what: str, to: str = "") -> None:
        """Record what a person is to read."""
        self._hash.update(f"{at:.9f} {who} {what} {to}\n".encode())
        if self.is_kept:
            self.entries.append(TapeEntry(at, who, what, to))

    @property
    def hash(self) -> str:
        """What stands for all of it."""
        return self._hash.hexdigest()


class NoTape(Tape):
    """A tape that takes nothing down, for worlds whose traces nobody looks at: a fifth faster."""

    def event(self, at: float, who: str, event: object) -> None:
        """Do nothing."""

    def effect(self, at: float, who: str, effect: object) -> None:
        """Do nothing."""

    def note(self, at: float, who: str, what: str, to: str = "") -> None:
        """Do nothing."""


def diagram(entries: Iterable[TapeEntry], *, most: int = 400) -> str:
    """Return a tape as a sequence diagram: a column for each actor, the time goes down.

    >>> tape = [TapeEntry(0.5, "0:0:0", "dials", "1:0:0"), TapeEntry(1, "1:0:0", "killed")]
    >>> print(diagram(tape))
                time  0:0:0   1:0:0
            0.500000  o──────►|  dials
            1.000000  |       *  killed
    """
    shown = list(entries)
    left_out = max(0, len(shown) - most)
    shown = shown[left_out:]
    names = sorted({one.who for one in shown} | {one.to for one in shown if one.to})
    width = max([6, *map(len, names)]) + 2
    column = {name: number * width for number, name in enumerate(names)}
    lines = [f"... {left_out} lines before"] if left_out else []
    lines.append(f"{'time':>16}  " + "".join(f"{name:<{width}}" for name in names).rstrip())
    for one in shown:
        row = list(("|" + " " * (width - 1)) * len(names))
        begin = column[one.who]
        if one.to and one.to != one.who:
            end = column[one.to]
            low, high = sorted((begin, end))
            row[low + 1 : high] = "─" * (high - low - 1)
            row[end - 1 if end > begin else end + 1] = "►" if end > begin else "◄"
            row[begin] = "o"
        else:
            row[begin] = "*"
        drawn = "".join(row)[: (len(names) - 1) * width + 1]
        lines.append(f"{one.at:16.6f}  {drawn}  {one.what}")
    return "\n".join(lines)
