"""The reference cache: which connections stay open, and which are closed to make room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from runtime.errors import GridError


class ConnectionBound(Protocol):
    """The contract of the controller that bounds how many connections a rank keeps.

    Its class is called with the controller that it replaces.
    """

    def make_room(
        self, carried: Mapping[int, int], rest: Callable[[int], bool], *, more: int = 0
    ) -> list[int]:
        """Close idle connections so that there is room for `more`; return their peers.

        Called before a connection is opened and after. `carried` maps each connected peer to the
        traffic so far; `rest` closes a connection if it is idle, and returns whether it did.
        """


class Uncached:
    """Closes idle connections whenever another one is opened: a baseline without a cache.

    A descriptor names it as `runtime.routing.cache.Uncached`. A connection of its own costs each
    message to another peer than the last one.
    """

    def __init__(self, usual: ConnectionBound) -> None:
        self.usual = usual

    def make_room(
        self,
        carried: Mapping[int, int],
        rest: Callable[[int], bool],
        *,
        more: int = 0,  # noqa: ARG002 - as the contract says
    ) -> list[int]:
        """Close all idle connections; return their peers."""
        return [peer for peer in carried if rest(peer)]


class ReferenceCache:
    """Keeps connections in the order of their last use, without being told of each use.

    It compares what each has carried: one that carried more than at the last look was used since.
    Connections in use stay open, so there can be more than `most` for as long as they are used. Not
    thread-safe.

    >>> cache = ReferenceCache(most=2)
    >>> cache.make_room({7: 0, 8: 0}, rest=lambda peer: True)
    []
    >>> cache.make_room({7: 1, 8: 0, 9: 0}, rest=lambda peer: True)
    [8]
    """

    __slots__ = ("_carried", "most")

    def __init__(self, most: int) -> None:
        if most < 1:
            raise GridError(f"a reference cache has room for at least 1 connection, not {most}")
        self.most = most
        self._carried: dict[int, int] = {}  # the least recently used first

    def make_room(
        self, carried: Mapping[int, int], rest: Callable[[int], bool], *, more: int = 0
    ) -> list[int]:
        """Close idle connections until there are at most `most`, with room for `more`; return them.

        `carried` maps each open connection to its traffic so far. `rest` is called with the least
        recently used one first; it closes the connection if it is idle, and returns whether it did.
        """
        self._refresh(carried)
        rested: list[int] = []
        excess = len(self._carried) + more - self.most
        for peer in list(self._carried):
            if len(rested) >= excess:
                break
            if rest(peer):
                del self._carried[peer]
                rested.append(peer)
        return rested

    def _refresh(self, carried: Mapping[int, int]) -> None:
        for peer in self._carried.keys() - carried.keys():
            del self._carried[peer]
        for peer, much in carried.items():
            if self._carried.get(peer) != much:
                self._carried.pop(peer, None)
                self._carried[peer] = much
