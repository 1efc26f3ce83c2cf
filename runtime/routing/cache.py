"""The reference cache: to whom there is a connection, the least recently used one closed first."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from runtime.errors import GridError

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class ReferenceCache(Generic[Key, Value]):
    """A bounded table that forgets what was not used for longest. Not safe for threads.

    It closes nothing itself: `put` returns what has to go. What is `busy` stays, so the table can
    be larger than its bound for as long as everything in it is.

    >>> cache = ReferenceCache[int, str](most=2)
    >>> [cache.put(n, f"connection {n}") for n in (1, 2)]
    [[], []]
    >>> cache.get(1)
    'connection 1'
    >>> cache.put(3, "connection 3")
    [(2, 'connection 2')]
    """

    __slots__ = ("_busy", "_kept", "_most", "evictions", "hits", "misses")

    def __init__(self, most: int) -> None:
        if most < 1:
            raise GridError(f"a reference cache has room for at least 1 entry, not {most}")
        self._most = most
        self._kept: dict[Key, Value] = {}  # the least recently used first
        self._busy: dict[Key, int] = {}
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._kept)

    def __iter__(self) -> Iterator[Key]:
        """Yield the keys, the least recently used first."""
        return iter(self._kept)

    def get(self, key: Key) -> Value | None:
        """Return what is kept for `key`, which is now the most recently used, or None."""
        value = self._kept.pop(key, None)
        if value is None:
            self.misses += 1
            return None
        self._kept[key] = value
        self.hits += 1
        return value

    def put(self, key: Key, value: Value) -> list[tuple[Key, Value]]:
        """Keep `value`; return what has to be closed to make room."""
        self._kept.pop(key, None)
        self._kept[key] = value
        return self._shrink(keep=key)

    def drop(self, key: Key) -> Value | None:
        """Forget `key`, because its connection ended; return what was kept for it."""
        self._busy.pop(key, None)
        return self._kept.pop(key, None)

    def hold(self, key: Key) -> None:
        """Let `key` stay until `release` was called as often as this."""
        self._busy[key] = self._busy.get(key, 0) + 1

    def release(self, key: Key) -> list[tuple[Key, Value]]:
        """Take back one `hold`; return what has to be closed now."""
        left = self._busy.get(key, 0) - 1
        if left > 0:
            self._busy[key] = left
            return []
        self._busy.pop(key, None)
        return self._shrink(keep=None)

    def _shrink(self, keep: Key | None) -> list[tuple[Key, Value]]:
        gone: list[tuple[Key, Value]] = []
        for key in list(self._kept):
            if len(self._kept) <= self._most:
                break
            if key != keep and key not in self._busy:
                gone.append((key, self._kept.pop(key)))
        self.evictions += len(gone)
        return gone
