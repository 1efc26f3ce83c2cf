"""Blocks that take turns as one operation: when they go, and how they fail."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.collectives.turns import FAR, IN_TIME, LATE, MOST_PIECES, UNDER_WAY, SendTurns
from runtime.mpi.collectives.taking_turns import TakingTurns
from runtime.mpi.progress.operations import POLLED, Operation

BLOCK = memoryview(bytes(UNDER_WAY // 2))


class Sent(Operation):
    """A send to a rank."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    @property
    def urgency(self) -> int:
        return POLLED

    def awaited(self) -> list[int]:
        return [self.rank]


class Line:
    """A line to some ranks, on which two blocks go at a time; `pace` passes between two looks."""

    def __init__(
        self, ranks: int, *, fail: Callable[[int], BaseException | None], pace: float = 1.0
    ) -> None:
        self.sent: list[Sent] = []
        self.now, self.pace = 0.0, pace
        self.fail = fail
        blocks = [(rank, BLOCK) for rank in range(ranks)]
        self.turns = TakingTurns(SendTurns(blocks, 1, self.send, lambda _: FAR, self.clock))

    def clock(self) -> float:
        self.now += self.pace
        return self.now

    def send(self, rank: int, _block: memoryview) -> Sent:
        problem = self.fail(rank)
        if problem is not None:
            raise problem
        self.sent.append(Sent(rank))
        return self.sent[-1]


def test_the_next_blocks_go_when_those_before_are_done() -> None:
    line = Line(5, fail=lambda _: None)
    assert (len(line.sent), line.turns.has_begun_all) == (2, False)
    assert (list(line.turns.awaited()), line.turns.urgency) == ([0, 1], POLLED)
    line.sent[1].finish()
    assert not line.turns.test()
    assert list(line.turns.awaited()) == [0, 2]
    line.sent[0].finish()
    line.sent[2].finish()
    assert not line.turns.test()
    assert line.turns.has_begun_all
    for one in line.sent[3:]:
        assert not line.turns.test()
        one.finish()
    assert line.turns.test()
    assert line.turns.error is None


@pytest.mark.parametrize(
    ("trips", "at_a_time"),
    [
        ((0.99 * IN_TIME, 0.99 * IN_TIME), (4, 8)),
        ((0.99 * IN_TIME, 0.99 * LATE), (4, 4)),
        ((0.99 * IN_TIME, 1.01 * LATE), (4, 2)),
        ((1.01 * IN_TIME, 1.01 * LATE), (2, 2)),
    ],
)
def test_more_go_at_a_time_when_those_before_arrived_in_time_and_less_when_late(
    trips: tuple[float, ...], at_a_time: tuple[int, ...]
) -> None:
    line = Line(20, fail=lambda _: None)
    for each, count in zip(trips, at_a_time, strict=True):
        line.pace = each * FAR
        going_on = [one for one in line.sent if not one.done]
        before = len(line.sent)
        for one in going_on:
            one.finish()
        line.turns.test()
        assert len(line.sent) - before == count


def test_what_is_done_at_once_waits_for_nothing_and_what_is_not_comes_in_bounded_numbers() -> None:
    def sent(rank: int) -> Sent:
        made = Sent(rank)
        if rank < 3 * MOST_PIECES:
            made.finish()
        return made

    blocks = [(rank, memoryview(bytes(8))) for rank in range(5 * MOST_PIECES)]
    turns = SendTurns(blocks, 1, lambda rank, _: sent(rank), lambda _: 0.0, lambda: 0.0)
    turns.go_on()
    assert len(turns.under_way) == 4 * MOST_PIECES


def test_a_send_that_fails_holds_up_no_other_and_is_told_at_the_end() -> None:
    line = Line(3, fail=lambda _: None)
    lost = ValueError("rank 0 is lost")
    line.sent[0].finish(lost)
    assert not line.turns.test()
    assert len(line.sent) == 3
    line.sent[1].finish()
    line.sent[2].finish(ValueError("and so is rank 2"))
    assert line.turns.test()
    assert line.turns.error is lost


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), RuntimeError("shut")])
def test_what_is_raised_in_the_middle_ends_it_as_an_error(problem: BaseException) -> None:
    line = Line(3, fail=lambda rank: problem if rank == 2 else None)
    line.sent[0].finish()
    assert line.turns.test()
    assert line.turns.error is problem
