"""Bringing one content to many peers, as a pure machine: what to push, and who fetches from whom.

The submitter pushes to one peer only; the others fetch from each other while they still receive, so
that n hosts take little longer than one. When a peer dies, those that fetched from it go on from
another one where they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from gcm.records import dataclass

MOST_SOURCES = 4
"""How many peers one peer is told to fetch from, one after the other."""

TRIES = 2
"""How often a peer fetches that found no source, before the submitter pushes to it."""


class Shape(StrEnum):
    """How a content spreads."""

    AUTO = "auto"
    """As a chain if it has more pieces than there are peers, else as a tree."""
    TREE = "tree"
    """Each peer is fetched from by two others of its site, the first of a site by two other firsts.

    A small content is everywhere soonest that way, and no line between sites carries it twice.
    """
    CHAIN = "chain"
    """Each peer fetches from the one before it."""
    PUSH = "push"
    """The submitter sends it to each peer."""

    def suited(self, pieces: int, peers: int) -> Shape:
        """Return the shape for a content of so many pieces and so many peers.

        In a chain the last of n peers is n pieces late; in a tree few pieces, but each peer sends
        everything twice, so all of it takes twice as long.

        >>> Shape.AUTO.suited(64, 8), Shape.AUTO.suited(1, 8), Shape.PUSH.suited(64, 8)
        (<Shape.CHAIN: 'chain'>, <Shape.TREE: 'tree'>, <Shape.PUSH: 'push'>)
        """
        if self is not Shape.AUTO:
            return self
        return Shape.CHAIN if pieces > peers else Shape.TREE


class Stage(StrEnum):
    """What is known of one peer."""

    WAITING = "waiting"
    FETCHING = "fetching"
    PUSHED = "pushed"
    HOLDS = "holds"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Push:
    """Send the content to a peer, from where it is there."""

    peer: str


@dataclass(frozen=True, slots=True)
class Fetch:
    """Let a peer get the content from others, in this order."""

    peer: str
    sources: tuple[str, ...]


Effect = Push | Fetch


def parents(sites: Mapping[str, str], shape: Shape) -> dict[str, str]:
    """Return from whom each peer gets the content, "" for the submitter; peers have sites.

    >>> parents({"a": "north", "b": "north", "c": "north", "d": "south", "e": "south"}, Shape.TREE)
    {'a': '', 'd': 'a', 'b': 'a', 'c': 'a', 'e': 'd'}
    """
    match shape:
        case Shape.PUSH:
            return dict.fromkeys(sites, "")
        case Shape.CHAIN:
            return dict(zip(sites, ("", *sites), strict=False))
        case Shape.TREE | Shape.AUTO:
            members: dict[str, list[str]] = {}
            for peer, site in sites.items():
                members.setdefault(site, []).append(peer)
            above = _tree([first for first, *_ in members.values()])
            for some in members.values():
                above |= {peer: of for peer, of in _tree(some).items() if of}
            return above


def _tree(peers: Sequence[str]) -> dict[str, str]:
    return dict(zip(peers, ("", *(one for one in peers for _ in range(2))), strict=False))


class Broadcast:
    """Events in, effects out; `sites` are the peers with the site of each.

    `holders` have the content already. Those of a site are in a row, its holders first.

    >>> broadcast = Broadcast(dict.fromkeys("abc", "north"), Shape.CHAIN)
    >>> broadcast.begin()
    [Push(peer='a'), Fetch(peer='b', sources=('a',)), Fetch(peer='c', sources=('b', 'a'))]
    >>> broadcast.lost("b", "it is gone"), broadcast.arrived("a"), broadcast.arrived("c")
    ([], [], [])
    >>> broadcast.is_over, broadcast.failures
    (True, {'b': 'it is gone'})
    """

    def __init__(self, sites: Mapping[str, str], shape: Shape, holders: Iterable[str] = ()) -> None:
        known = set(holders)
        # those that have it come first, and their sites: all others can fetch from them
        first = sorted(sites, key=lambda one: one not in known)
        self._order = _by_site({one: sites[one] for one in first})
        self._shape = shape
        self._above = parents({one: sites[one] for one in self._order}, shape)
        self._tries = dict.fromkeys(self._order, 0)
        self.stages = {one: Stage.HOLDS if one in known else Stage.WAITING for one in self._order}
        self.failures: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether each peer has the content or never will."""
        return all(one in (Stage.HOLDS, Stage.FAILED) for one in self.stages.values())

    def begin(self) -> list[Effect]:
        """Return what to do first."""
        return [effect for one in self._order for effect in self._serve(one)]

    def arrived(self, peer: str) -> list[Effect]:
        """The whole content is at a peer."""
        if self.stages[peer] is not Stage.FAILED:
            self.stages[peer] = Stage.HOLDS
        return []

    def lost(self, peer: str, why: str) -> list[Effect]:
        """A peer died, or refuses the content: it gets no more, and nobody gets it from there."""
        if self.stages[peer] in (Stage.FAILED, Stage.HOLDS):
            return []
        was_pushed = self.stages[peer] is Stage.PUSHED
        self.stages[peer], self.failures[peer] = Stage.FAILED, why
        return self._push_another() if was_pushed else []

    def starved(self, peer: str) -> list[Effect]:
        """A peer that lives has found no source to fetch from."""
        if self.stages[peer] is not Stage.FETCHING:
            return []  # it is pushed to meanwhile
        self._tries[peer] += 1
        sources = self._sources(peer)
        if self._tries[peer] > TRIES or not sources:
            self.stages[peer] = Stage.PUSHED
            return [Push(peer)]
        return [Fetch(peer, sources)]

    def _serve(self, peer: str) -> list[Effect]:
        if self.stages[peer] is not Stage.WAITING:
            return []
        sources = self._sources(peer)
        self.stages[peer] = Stage.FETCHING if sources else Stage.PUSHED
        return [Fetch(peer, sources) if sources else Push(peer)]

    def _push_another(self) -> list[Effect]:
        """Push to the first that is left, if all content there is was at the one that is gone."""
        if self._shape is Shape.PUSH or Stage.PUSHED in self.stages.values():
            return []
        if Stage.HOLDS in self.stages.values():
            return []
        for one in self._order:
            if self.stages[one] is Stage.FETCHING:
                self.stages[one] = Stage.PUSHED
                return [Push(one)]
        return []

    def _sources(self, peer: str) -> tuple[str, ...]:
        """Return from whom a peer may fetch: those above it first, then whoever has it all."""
        if self._shape is Shape.PUSH:
            return ()
        found: dict[str, None] = {}
        one = self._above[peer]
        while one:
            found[one] = None
            one = self._above[one]
        before = self._order[: self._order.index(peer)]
        holders = [one for one in self._order if self.stages[one] is Stage.HOLDS]
        found |= dict.fromkeys((*holders, *reversed(before)))
        living = [one for one in found if one != peer and self.stages[one] is not Stage.FAILED]
        return tuple(living[:MOST_SOURCES])


def _by_site(sites: Mapping[str, str]) -> list[str]:
    """Return peers, each with its site, so that the chain crosses between two sites once.

    >>> _by_site({"a": "north", "b": "south", "c": "north"})
    ['a', 'c', 'b']
    """
    first = {site: at for at, site in reversed(list(enumerate(sites.values())))}
    return sorted(sites, key=lambda one: first[sites[one]])
