"""What a rank holds of others: the connections that it keeps, and what it took to have them."""

from __future__ import annotations

from runtime.wire.connecting import Attempt, CountingConnector
from runtime.wire.directory import Directory

TYPE_CHECKING = False  # known to type checkers; a rank does without `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.wire.post import Traffic


class References:
    """Opens connections as `connector` does, and counts."""

    def __init__(self, connector: CountingConnector) -> None:
        self._connector = connector
        self.misses = 0

    def connect(self, peer: int, now: float) -> Attempt:
        """Begin to open a connection; raises PeerLost if none can be."""
        self.misses += 1
        return self._connector.connect(peer, now)

    def figures(self, traffic: Mapping[int, Traffic]) -> dict[str, int]:
        """Return how this rank found others; see `runtime.engine.outcome.Connections`."""
        sent = sum(one.sent_messages for one in traffic.values())
        return {
            "tries": self._connector.tries,
            "failures": self._connector.failures,
            "hits": max(0, sent - self.misses),
            "misses": self.misses,
        }

    def rows(
        self, traffic: Mapping[int, Traffic], directory: Directory
    ) -> list[tuple[str, tuple[str, ...] | None, int, int, int]]:
        """Return what went to which cluster, and by which route if this end has chosen it.

        See `runtime.engine.exchanged.Row`.
        """
        sums: dict[tuple[str, tuple[str, ...] | None], tuple[int, int, int]] = {}
        for peer, one in traffic.items():
            cluster = directory.party(peer).name.rpartition(":")[0]
            key = cluster, self._connector.between.get(peer)
            peers, messages, size = sums.get(key, (0, 0, 0))
            sums[key] = peers + 1, messages + one.sent_messages, size + one.sent_bytes
        return [(*key, *value) for key, value in sums.items()]
