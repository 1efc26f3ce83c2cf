"""How nodes are shared among virtual nodes that want some for themselves."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as some

from runtime.deployment.capacities import GREEDY, Claim, shared
from runtime.deployment.model import NodeAddress

NODES = [NodeAddress((0, 0), number) for number in range(5)]
CLAIMS = some.lists(
    some.builds(
        Claim,
        some.lists(some.sampled_from(NODES), unique=True, max_size=4).map(tuple),
        some.sampled_from([1, 2, GREEDY]),
    ),
    max_size=3,
)


def every_sharing(claims: list[Claim]) -> list[list[int]]:
    """Return how many nodes each claim may have, in all ways to give nodes away."""
    ways = [[None, *(n for n, one in enumerate(claims) if node in one.nodes)] for node in NODES]
    counted = ([given.count(n) for n in range(len(claims))] for given in product(*ways))
    return [
        counts
        for counts in counted
        if all(has <= one.count for has, one in zip(counts, claims, strict=True))
    ]


@given(CLAIMS)
def test_claims_with_a_number_are_met_as_far_as_possible_then_greedy_ones_get_equal_numbers(
    claims: list[Claim],
) -> None:
    found = shared(claims)
    nodes = [node for one in found for node in one]
    assert len(nodes) == len(set(nodes))
    assert all(set(has) <= set(one.nodes) for has, one in zip(found, claims, strict=True))

    def merit(counts: list[int]) -> tuple[int, list[int]]:
        told = list(zip(counts, claims, strict=True))
        return (
            sum(has for has, one in told if one.count != GREEDY),
            sorted(has for has, one in told if one.count == GREEDY),
        )

    assert merit([len(one) for one in found]) == max(map(merit, every_sharing(claims)))


def test_thousands_of_nodes_are_shared_at_once() -> None:
    nodes = tuple(NodeAddress((0, 0), number) for number in range(4000))
    found = shared([Claim(nodes, GREEDY), Claim(nodes, 1000), Claim(nodes, GREEDY)])
    assert [len(one) for one in found] == [1500, 1000, 1500]
