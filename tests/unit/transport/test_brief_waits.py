"""When a thread asks again and again before it sleeps: where waits are brief and cores are free."""

from __future__ import annotations

from itertools import pairwise

from runtime.transport.brief_waits import SOON, BriefWaits

BRIEF, LONG = SOON / 8, 1.0
A_QUESTION = SOON / 100


class Waiting:
    """Waits one after the other, with a clock and a count of preemptions of its own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.preempted = 0
        self.slept: list[float | None] = []
        self.waits = BriefWaits(now=lambda: self.now, preempted=lambda: self.preempted)

    def wait(
        self,
        seconds: float,
        times: int = 1,
        *,
        timeout: float | None = None,
        preempted: bool = False,
    ) -> bool:
        """Wait so often for what comes after so many seconds; return whether the last one slept."""
        for _ in range(times):
            self.slept.clear()
            there_at = self.now + seconds

            def poll(most: float | None, there_at: float = there_at) -> bool:
                if most != 0:
                    self.slept.append(most)
                    until = there_at if most is None else min(there_at, self.now + most)
                    self.now = max(self.now, until)
                self.now += A_QUESTION
                return self.now >= there_at

            self.preempted += preempted
            self.waits.wait(poll, timeout)
        return bool(self.slept)

    def learn(self) -> None:
        """Get used to brief waits."""
        self.wait(BRIEF, 50)


def test_the_first_wait_sleeps_at_once() -> None:
    assert Waiting().wait(BRIEF)


def test_where_waits_are_brief_nobody_sleeps() -> None:
    waiting = Waiting()
    waiting.learn()
    assert not waiting.wait(BRIEF)


def test_a_long_wait_is_not_asked_for_to_its_end() -> None:
    waiting = Waiting()
    waiting.learn()
    assert waiting.wait(LONG)
    assert waiting.now > LONG


def test_where_waits_are_long_each_sleeps_at_once() -> None:
    waiting = Waiting()
    waiting.learn()
    waiting.wait(LONG, 20)
    assert waiting.wait(BRIEF)


def test_one_long_wait_among_brief_ones_changes_little() -> None:
    waiting = Waiting()
    waiting.learn()
    waiting.wait(LONG)
    assert not waiting.wait(BRIEF)


def test_asking_and_sleeping_together_take_no_longer_than_the_timeout() -> None:
    waiting = Waiting()
    waiting.learn()
    begun = waiting.now
    waiting.wait(LONG, timeout=3 * BRIEF)
    [slept] = waiting.slept
    assert slept is not None
    assert 0 < slept < 2 * BRIEF
    assert waiting.now - begun < 3 * BRIEF + 3 * A_QUESTION


def test_a_question_without_time_is_asked_once() -> None:
    waiting = Waiting()
    waiting.learn()
    begun = waiting.now
    waiting.wait(LONG, timeout=0)
    assert waiting.now - begun < 1.5 * A_QUESTION


def test_who_is_preempted_while_asking_sleeps_longer_each_time() -> None:
    waiting = Waiting()
    waiting.learn()
    counts = iter(range(1_000_000))
    waits = BriefWaits(now=lambda: waiting.now, preempted=lambda: next(counts))
    waiting.waits = waits
    asked_at: list[float] = []
    while len(asked_at) < 5:
        if not waiting.wait(BRIEF):
            asked_at.append(waiting.now)
    pauses = [later - earlier for earlier, later in pairwise(asked_at)]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(pauses))


def test_preemptions_between_two_waits_do_not_count() -> None:
    waiting = Waiting()
    waiting.learn()
    assert not waiting.wait(BRIEF, 3, preempted=True)
