"""When a rank asks again and again before it sleeps: where waits are short and cores are free."""

from __future__ import annotations

from itertools import pairwise

from runtime.wire.brief_waits import SOON, BriefWaits

BRIEF, LONG = SOON / 8, 1.0


class Waiting:
    """Waits one after the other, with a clock and a count of preemptions that tests move."""

    def __init__(self, *, has_processor: bool = True) -> None:
        self.now = 0.0
        self.preempted = 0
        self.waits = BriefWaits(has_processor=has_processor, preempted=lambda: self.preempted)

    def wait(self, seconds: float, times: int = 1, *, preempted: bool = False) -> float:
        """Wait so often; return for how long was asked in the last of them."""
        patience = 0.0
        for _ in range(times):
            begun = self.now
            patience = self.waits.patience(begun)
            self.now += seconds
            self.preempted += preempted
            self.waits.ended(begun, self.now, asked=patience > 0)
        return patience


def test_the_first_wait_sleeps_at_once() -> None:
    assert Waiting().wait(BRIEF) == 0


def test_where_waits_are_short_more_is_asked_than_they_usually_take() -> None:
    assert BRIEF < Waiting().wait(BRIEF, 50) < 2 * SOON


def test_where_waits_are_long_nothing_is_asked() -> None:
    waiting = Waiting()
    waiting.wait(BRIEF, 50)
    assert waiting.wait(LONG, 20) == 0


def test_one_long_wait_among_short_ones_changes_little() -> None:
    waiting = Waiting()
    waiting.wait(BRIEF, 50)
    waiting.wait(LONG)
    assert waiting.wait(BRIEF) > 0


def test_who_was_preempted_sleeps_for_a_while() -> None:
    waiting = Waiting()
    waiting.wait(BRIEF, 50)
    waiting.wait(BRIEF, preempted=True)
    assert waiting.wait(BRIEF) == 0
    waiting.now += LONG
    assert waiting.wait(BRIEF) > 0


def test_who_is_preempted_again_and_again_sleeps_longer_each_time() -> None:
    waiting = Waiting()
    waiting.wait(BRIEF, 50)
    asked_at: list[float] = []
    while len(asked_at) < 4:
        if waiting.wait(BRIEF, preempted=True):
            asked_at.append(waiting.now)
    pauses = [later - earlier for earlier, later in pairwise(asked_at)]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(pauses))


def test_preemptions_between_two_waits_do_not_count() -> None:
    waiting = Waiting()
    waiting.wait(BRIEF, 50)
    waiting.preempted += 1
    assert waiting.wait(BRIEF, 2) > 0


def test_nobody_asks_where_there_are_more_ranks_than_processors() -> None:
    assert Waiting(has_processor=False).wait(BRIEF, 50) == 0
