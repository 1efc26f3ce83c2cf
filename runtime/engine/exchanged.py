"""What ranks of different clusters sent to each other, added up by pairs of clusters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from runtime.engine.outcome import Traffic

Row = tuple[str, str, int, int]
"""The cluster of the receivers, the kind of route if the sender knows it, messages, bytes."""


class Exchanged:
    """Adds up what the senders tell when they end."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[str, str], set[str]] = {}
        self._sent: dict[tuple[str, str], tuple[int, int]] = {}

    def tell(self, sender: str, rows: Iterable[Row]) -> None:
        """Take note of what a rank, `site:cluster:rank`, has sent to which clusters."""
        here = sender.rpartition(":")[0]
        for there, kind, messages, size in rows:
            first, second = sorted((here, there), key=_numbers)
            self._kinds.setdefault((first, second), set()).update({kind} - {""})
            before = self._sent.get((here, there), (0, 0))
            self._sent[here, there] = before[0] + messages, before[1] + size

    def traffic(self, paths: Mapping[str, str]) -> Iterator[Traffic]:
        """Yield a line for each pair of clusters whose ranks spoke; `paths` are their names."""
        for (first, second), kinds in sorted(self._kinds.items(), key=lambda one: one[0]):
            there = self._sent.get((first, second), (0, 0))
            back = self._sent.get((second, first), (0, 0))
            if there[0] + back[0]:
                how = " and ".join(sorted(kinds)) or "direct"
                route = f"ranks of {paths[first]} - {paths[second]}, {how}"
                yield Traffic(route, there[0] + back[0], there[1], back[1])


def _numbers(identifier: str) -> tuple[int, ...]:
    return tuple(map(int, identifier.split(":")))
