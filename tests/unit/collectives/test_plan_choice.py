"""Which plan serves: the usual answers, and what the other plans of a broadcast do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime.collectives.blocks import SEGMENT
from runtime.collectives.broadcast import WAYS, bcast, bcast_blob
from runtime.collectives.choice import PLANS, SPREAD_FROM, Choice, UsualPlans
from runtime.collectives.rules import RuledPlans, RuleFault, read_rules

TWO = (((0, 1),), ((2, 3),))
THREE = (((0,),), ((1,),), ((2,),))
PLACES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=9)
WAN, LAN = 1000.0, 10.0


def test_the_usual_plan_is_the_first_one_that_is_offered() -> None:
    for operation, plans in PLANS.items():
        assert UsualPlans().choose(operation, 8, TWO, plans) == plans[0]
        assert UsualPlans().choose(operation, 8, TWO, plans[1:]) == plans[1]


@pytest.mark.parametrize("plan", sorted({plan for plans in PLANS.values() for plan in plans}))
def test_a_plan_without_an_operation_is_chosen_wherever_it_is_offered(plan: str) -> None:
    choice = RuledPlans(UsualPlans(), read_rules(plan))
    for operation, plans in PLANS.items():
        expected = plan if plan in plans else plans[0]
        assert choice.choose(operation, 8, TWO, plans) == expected


@pytest.mark.parametrize(
    ("rules", "operation", "size", "answer"),
    [
        ("bcast=flat", "Bcast", 8, "flat"),
        ("bcast=flat", "bcast", None, "flat"),
        ("bcast=flat", "Reduce", 8, "short"),
        ("bcast:64=flat", "Bcast", 63, "short"),
        ("bcast:64=flat", "bcast", None, "tree"),
        ("bcast:8=flat bcast:64=chain", "Bcast", 64, "chain"),
        ("bcast:64=chain bcast=flat", "Bcast", 64, "flat"),
        ("bcast=flat bcast:8=usual", "Bcast", 8, "short"),
        ("bcast@2|2=flat", "Bcast", 8, "flat"),
        ("bcast@2+2=flat", "Bcast", 8, "short"),
        ("bcast=chain/4096 flat", "Allreduce", 8, "flat"),
        ("bcast=chain/4096", "Bcast", 8, "chain/4096"),
    ],
)
def test_the_last_rule_that_fits_is_taken(
    rules: str, operation: str, size: int | None, answer: str
) -> None:
    choice = RuledPlans(UsualPlans(), read_rules(rules))
    assert choice.choose(operation, size, TWO, PLANS[operation]) == answer
    assert str(Choice.read(answer)) == answer


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ("bcats=flat", "did you mean 'bcast'?"),
        ("bcast=4-ary", "there are: short, tree, flat, chain, binomial, components, usual"),
        ("bcast=", "is no rule"),
        ("spiral", "no operation has a plan 'spiral'"),
        ("barrier=tree/4096", "serves no operation"),
        ("bcast=chain/8", "serves no operation"),
    ],
)
def test_what_is_no_rule_is_refused(rules: str, why: str) -> None:
    with pytest.raises(RuleFault) as refused:
        read_rules(rules)
    assert why in str(refused.value)


def test_a_large_allreduce_is_usually_spread_from_three_sites_on() -> None:
    offered = ("exchange", "spread")
    answers = [
        UsualPlans().choose("Allreduce", size, sites, offered)
        for sites in (TWO, THREE)
        for size in (SPREAD_FROM // 2, SPREAD_FROM)
    ]
    assert answers == ["exchange", "exchange", "exchange", "spread"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(places=PLACES, data=st.data(), plan=st.sampled_from(sorted(WAYS)))
def test_all_plans_of_a_broadcast_give_the_data_to_all(
    machine: Any, places: Any, data: Any, plan: str
) -> None:
    root = data.draw(st.integers(0, len(places) - 1))
    sent = bytes(range(data.draw(st.integers(0, 50))))

    def run(layout: Any, port: Any) -> Any:
        mine = memoryview(bytearray(sent if layout.me == root else len(sent)))
        yield from bcast(layout, port, mine, root, segment=16, plan=plan)
        blob = sent if layout.me == root else None
        found = yield from bcast_blob(layout, port, blob, root, segment=16, plan=plan)
        return bytes(mine), bytes(found)

    assert machine(places).run(run) == [(sent, sent)] * len(places)


@pytest.mark.parametrize(
    ("plan", "links", "latencies"),
    [
        ("tree", {(0, 1): 100, (0, 2): 100}, 1),
        ("flat", {(0, 1): 200, (0, 2): 100}, 1),
        ("chain", {(0, 1): 100, (1, 2): 100}, 2),
    ],
)
def test_each_plan_of_a_broadcast_crosses_other_links(
    machine: Any, plan: str, links: dict[tuple[int, int], int], latencies: int
) -> None:
    grid = machine([(0, 0), (1, 0), (1, 1), (2, 0)])
    grid.run(lambda layout, port: bcast(layout, port, memoryview(bytearray(100)), 0, plan=plan))
    assert grid.wan_bytes == links
    assert latencies * WAN <= grid.now <= latencies * WAN + LAN


def test_a_chain_passes_segments_on_as_they_come(machine: Any) -> None:
    grid = machine([(site, 0) for site in range(4)])
    data = memoryview(bytearray(5 * SEGMENT))
    grid.run(lambda layout, port: bcast(layout, port, data, 0, plan="chain"))
    assert grid.wan_bytes == {(site, site + 1): 5 * SEGMENT for site in range(3)}
    assert grid.now == 3 * WAN
