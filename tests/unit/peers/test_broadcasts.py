"""Bringing one content to many peers: who fetches from whom, whoever dies meanwhile."""

from __future__ import annotations

import random
from math import ceil, log2

import pytest

from runtime.peers.staging.broadcast import Broadcast, Effect, Fetch, Push, Shape, parents

PEERS = [f"h{number}" for number in range(8)]
SIZE = 20


class Network:
    """Peers that get one piece a round from the submitter or from a peer that has it.

    Each carries one piece to each of its receivers in a round. `dying` says who dies in which.
    """

    def __init__(self, peers: list[str], shape: Shape, dying: dict[str, int]) -> None:
        self.broadcast = Broadcast(dict.fromkeys(peers, ""), shape)
        self.pieces = dict.fromkeys(peers, 0)
        self.dying = dying
        self.dead: set[str] = set()
        self.pushes: list[str] = []
        self.fetches: dict[str, list[str]] = {}
        self.pushed_pieces = 0
        self.rounds = 0

    def do(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Push):
                self.pushes.append(effect.peer)
            else:
                self.fetches[effect.peer] = list(effect.sources)

    def run(self) -> None:
        self.do(self.broadcast.begin())
        while not self.broadcast.is_over:
            self.rounds += 1
            assert self.rounds < 500, "it never ends"
            for peer, when in self.dying.items():
                if when == self.rounds:
                    self.dead.add(peer)
            self._round(dict(self.pieces))

    def _round(self, before: dict[str, int]) -> None:
        for peer in [one for one in self.pushes if one in self.dead]:
            self.pushes.remove(peer)
            self.do(self.broadcast.lost(peer, "dead"))
        for peer in [one for one in self.fetches if one in self.dead]:
            del self.fetches[peer]
            self.do(self.broadcast.lost(peer, "dead"))
        for peer in list(self.pushes):
            self.pieces[peer] = min(SIZE, before[peer] + 1)
            self.pushed_pieces += 1
        for peer, sources in list(self.fetches.items()):
            while sources and sources[0] in self.dead:
                sources.pop(0)
            if not sources:
                del self.fetches[peer]
                self.do(self.broadcast.starved(peer))
            elif before[sources[0]] > before[peer]:
                self.pieces[peer] = max(self.pieces[peer], before[peer] + 1)
        for peer, count in self.pieces.items():
            if count == SIZE and (peer in self.pushes or peer in self.fetches):
                self.pushes = [one for one in self.pushes if one != peer]
                self.fetches.pop(peer, None)
                self.do(self.broadcast.arrived(peer))


@pytest.mark.parametrize(
    ("shape", "depth"), [(Shape.CHAIN, len(PEERS)), (Shape.TREE, ceil(log2(len(PEERS) + 1)))]
)
def test_many_peers_take_as_many_rounds_more_than_one_as_the_plan_is_deep(
    shape: Shape, depth: int
) -> None:
    network = Network(PEERS, shape, {})
    network.run()
    assert network.rounds == SIZE + depth - 1
    assert network.pushed_pieces == SIZE, "the submitter sends it once"


def test_push_sends_all_to_each() -> None:
    network = Network(PEERS, Shape.PUSH, {})
    network.run()
    assert network.pushed_pieces == SIZE * len(PEERS)


@pytest.mark.parametrize("shape", [Shape.CHAIN, Shape.TREE])
@pytest.mark.parametrize("victim", PEERS)
@pytest.mark.parametrize("when", [1, 3, SIZE])
def test_a_peer_that_dies_in_the_middle_keeps_no_other_from_getting_all(
    shape: Shape, victim: str, when: int
) -> None:
    network = Network(PEERS, shape, {victim: when})
    network.run()
    living = [one for one in PEERS if one != victim]
    assert [network.pieces[one] for one in living] == [SIZE] * len(living)
    assert set(network.broadcast.failures) <= {victim}
    assert network.pushed_pieces <= 2 * SIZE, "what peers have is not sent again"


@pytest.mark.parametrize("seed", range(200))
def test_whoever_dies_and_whenever_all_that_live_get_it(seed: int) -> None:
    chance = random.Random(seed)
    victims = chance.sample(PEERS, chance.randrange(len(PEERS) + 1))
    dying = {one: chance.randrange(1, 2 * SIZE) for one in victims}
    network = Network(PEERS, chance.choice([Shape.CHAIN, Shape.TREE]), dying)
    network.run()
    for peer in PEERS:
        assert network.pieces[peer] == SIZE or peer in network.broadcast.failures
    assert set(network.broadcast.failures) <= set(victims)


def test_who_has_it_already_is_fetched_from_and_nothing_is_pushed() -> None:
    broadcast = Broadcast(dict.fromkeys(PEERS[:3], ""), Shape.CHAIN, holders=["h1"])
    assert broadcast.begin() == [Fetch("h0", ("h1",)), Fetch("h2", ("h0", "h1"))]


def test_the_tree_has_no_peer_from_which_more_than_two_fetch() -> None:
    above = list(parents(dict.fromkeys(PEERS, ""), Shape.TREE).values())
    assert max(above.count(one) for one in PEERS) == 2


@pytest.mark.parametrize("shape", [Shape.CHAIN, Shape.TREE])
def test_each_further_site_is_entered_once(shape: Shape) -> None:
    sites = {f"{site}{number}": site for site in "abcd" for number in range(9)}
    crossing = [
        (sites[above], sites[one]) for one, above in parents(sites, shape).items()
        if above and sites[above] != sites[one]
    ]  # fmt: skip
    assert sorted(to for _, to in crossing) == ["b", "c", "d"]


@pytest.mark.parametrize("shape", [Shape.CHAIN, Shape.TREE])
@pytest.mark.parametrize(
    ("holders", "entered"),
    [([], ["b", "c"]), (["b1"], ["a", "c"]), (["c2", "a2", "a3"], ["b"]), (["a0"], ["b", "c"])],
)
def test_sites_without_a_holder_are_entered_once_and_those_with_one_never(
    shape: Shape, holders: list[str], entered: list[str]
) -> None:
    sites = {f"{site}{number}": site for number in range(4) for site in "abc"}
    effects = Broadcast(sites, shape, holders).begin()
    assert {one.peer for one in effects} == set(sites) - set(holders)
    crossed = [
        sites[one.peer]
        for one in effects
        if isinstance(one, Fetch) and sites[one.sources[0]] != sites[one.peer]
    ]
    assert sorted(crossed) == entered
