"""What is chosen from measurements, and what noise does not choose."""

from __future__ import annotations

import random

import pytest

from runtime.collectives.choice import PLANS, UsualPlans
from runtime.collectives.rules import RuledPlans, read_rules
from runtime.collectives.tuning import Timing, candidates, rules_for

TWO = (((0, 1),), ((2, 3),))


def timings(size: int, usual: list[float], **others: list[float]) -> list[Timing]:
    """Return the times of broadcasts of a size: by the usual plan, `tree`, and by others."""
    rows = {"tree": usual, **others}
    return [
        Timing("Bcast", size, "2|2", plan.replace("_", "/"), plan == "tree", tuple(seconds))
        for plan, seconds in rows.items()
    ]


@pytest.mark.parametrize(
    ("usual", "other", "is_taken"),
    [
        ([2, 2, 2, 2], [1, 1, 1, 1], True),
        ([2, 2, 2, 2], [1.9, 1.9, 1.9, 1.9], False),  # not a tenth better
        ([2, 2, 2, 9], [1, 1, 1, 9], False),  # a quarter of its times is worse
        ([1, 2, 2, 2, 2, 2, 2, 2], [1.5] * 7 + [9], True),  # single times decide nothing
        ([1, 1, 3, 3], [0.5, 1, 1.5, 3.5], False),
    ],
)
def test_another_plan_is_taken_only_where_noise_does_not_explain_it(
    usual: list[float], other: list[float], is_taken: bool
) -> None:
    rules = rules_for(timings(8, usual, flat=other))
    assert [str(rule) for rule in rules] == (["Bcast:8@2|2=flat"] if is_taken else [])


def test_times_of_one_distribution_hardly_ever_choose_another_plan() -> None:
    rng = random.Random(7)

    def noise() -> list[float]:
        return [rng.expovariate(1.0) + 0.2 for _ in range(20)]

    taken = sum(bool(rules_for(timings(8, noise(), flat=noise()))) for _ in range(500))
    assert taken <= 2


def test_rules_change_where_the_choice_does_and_return_to_the_usual_plan() -> None:
    slow, fast = [2.0] * 4, [1.0] * 4
    rules = rules_for(
        [
            *timings(8, fast, flat=slow),
            *timings(64, slow, flat=fast, chain=[1.5] * 4),
            *timings(512, slow, flat=fast),
            *timings(4096, slow, chain_65536=fast),
            *timings(65536, fast, flat=slow),
        ]
    )
    text = " ".join(map(str, rules))
    assert text == "Bcast:64@2|2=flat Bcast:4096@2|2=chain/65536 Bcast:65536@2|2=usual"
    choice = RuledPlans(UsualPlans(), read_rules(text))
    sizes = (8, 64, 1024, 4096, 65536)
    answers = [choice.choose("Bcast", size, TWO, PLANS["Bcast"][1:]) for size in sizes]
    assert answers == ["tree", "flat", "flat", "chain/65536", "tree"]


def test_segments_are_tried_where_there_is_so_much_data() -> None:
    assert candidates("Bcast", 4096, ("short", "tree")) == ["short", "tree"]
    assert candidates("Gather", 1 << 20, ("tree", "flat")) == ["tree", "flat"]
    assert "chain/65536" in candidates("Bcast", 1 << 16, ("tree", "chain"))
