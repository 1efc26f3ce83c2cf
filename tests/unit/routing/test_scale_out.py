"""How many connections a pair gets, over lines that are played."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from runtime.routing import FlowSample, ScaleOut
from runtime.routing.scale_out import ENOUGH, MOST, REST

MIB = 1 << 20
MBIT = 1e6 / 8


@dataclass
class Line:
    """A line, of which each connection gets as much as its window or its losses allow."""

    rate: float = 1000 * MBIT
    round_trip: float = 0.020
    each: float = 130 * MBIT
    most_open: int = 100
    scale_out: ScaleOut = field(default_factory=ScaleOut)
    connections: int = 1
    waiting: int = 8 * MIB
    now: float = 100.0
    sent: float = 0.0
    counts: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Return what of the line is used."""
        return min(self.rate, self.connections * self.each) / self.rate

    def play(self, seconds: float) -> list[int]:
        """Return how many connections were wanted, one after the other."""
        until = self.now + seconds
        counts = [self.scale_out.wanted]
        while self.now < until:
            step = self.scale_out.interval(self.round_trip)
            self.now += step
            if self.waiting:
                self.sent += self.share * self.rate * step
            queued = 1.4 if self.connections * self.each >= self.rate else 1.05
            usual = self.round_trip * (queued if self.waiting else 1.0)
            seen = FlowSample(
                int(self.sent), self.waiting, usual, self.round_trip, self.connections
            )
            wanted = self.scale_out.update(seen, self.now)
            self.connections = min(wanted, self.most_open)
            if counts[-1] != wanted:
                counts.append(wanted)
        return counts


def test_where_windows_are_small_there_are_as_many_as_fill_the_line() -> None:
    assert Line().play(5) == [1, 2, 4, 8]
    line = Line(each=260 * MBIT)
    assert line.play(60) == [1, 2, 4]
    assert line.share == 1.0


def test_there_are_never_more_than_allowed() -> None:
    assert Line(each=10 * MBIT).play(60)[-1] == MOST
    assert Line(each=10 * MBIT, scale_out=ScaleOut(most=3)).play(60) == [1, 2, 3]


def test_a_line_that_one_connection_fills_gets_no_more() -> None:
    assert Line(each=2000 * MBIT).play(60) == [1]


@pytest.mark.parametrize(("round_trip", "counts"), [(0.0017, [1]), (0.003, [1, 2, 4, 8])])
def test_only_far_peers_get_more(round_trip: float, counts: list[int]) -> None:
    assert Line(round_trip=round_trip).play(5) == counts


def test_who_has_little_to_send_gets_no_more() -> None:
    assert Line(waiting=ENOUGH - 1).play(5) == [1]
    assert Line(waiting=ENOUGH).play(5) == [1, 2, 4, 8]


def as_a_whole(limit: float) -> Callable[[Line], None]:
    """Let what limits be behind the line, so that more connections get no more."""

    def change(line: Line) -> None:
        line.each = limit / line.connections

    return change


def test_what_is_of_no_use_is_taken_back_and_tried_again_later_and_later() -> None:
    line, times = Line(), []
    change = as_a_whole(200 * MBIT)
    for _ in range(10_000):
        before = line.scale_out.wanted
        change(line)
        line.play(0.05)
        assert line.scale_out.wanted <= 2
        if line.scale_out.wanted > before:
            times.append(line.now)
    pauses = [after - before for before, after in pairwise(times)]
    assert pauses[0] == pytest.approx(30, abs=2)
    assert pauses[1] == pytest.approx(60, abs=2)
    assert max(pauses) < 602


def test_what_was_of_use_stays_when_twice_as_many_are_not() -> None:
    line = Line(each=240 * MBIT, rate=2000 * MBIT)
    counts = line.play(0.7)
    assert counts[:3] == [1, 2, 4]
    as_a_whole(4 * 240 * MBIT)(line)
    while line.scale_out.wanted != 8:
        as_a_whole(4 * 240 * MBIT)(line)
        line.play(0.05)
    for _ in range(40):
        as_a_whole(4 * 240 * MBIT)(line)
        line.play(0.05)
    assert line.scale_out.wanted == 4


def test_whoever_has_nothing_more_to_send_needs_one_and_later_as_many_as_before_at_once() -> None:
    line = Line()
    line.play(5)
    line.waiting = 0
    assert line.play(REST - 1) == [8]
    assert line.play(2) == [8, 1]
    line.waiting = 8 * MIB
    assert line.play(1) == [1, 8]


def test_where_no_more_can_be_opened_there_are_as_many_as_there_are() -> None:
    line = Line(most_open=3)
    assert line.play(4) == [1, 2, 4]
    assert line.play(20) == [4, 2]


def test_other_needs_take_all_but_one_for_a_while() -> None:
    line = Line()
    line.play(5)
    line.scale_out.narrow(line.now)
    assert line.play(25) == [1]
    assert line.play(10) == [1, 2, 4, 8]


def looks(scale_out: ScaleOut, rates: list[float], now: float, queued: float = 1.05) -> list[int]:
    """Look once a second at a line that carries so much in each; return what was wanted."""
    sent, wanted = 0.0, []
    for number, rate in enumerate(rates):
        sent += rate
        flow = FlowSample(int(sent), 8 * MIB, 0.02 * queued, 0.02, scale_out.wanted)
        wanted.append(scale_out.update(flow, now + number))
    return wanted


def test_a_rate_that_still_changes_decides_nothing() -> None:
    rising, falling = [2.0**n * MIB for n in range(9)], [0.85**n * 64 * MIB for n in range(9)]
    assert looks(ScaleOut(), rising, 0.0) == [1] * 9
    assert looks(ScaleOut(), falling, 0.0) == [1] * 9
    assert looks(ScaleOut(), [0.0] * 9, 0.0) == [1] * 9


def test_more_that_fill_the_line_were_of_use_however_little_was_gained() -> None:
    for queued, kept in ((1.05, 1), (1.3, 2)):
        scale_out = ScaleOut()
        assert looks(scale_out, [MIB, MIB, MIB], 0.0)[-1] == 2
        looks(scale_out, [MIB, 1.01 * MIB, 1.01 * MIB], 4.0, queued)
        assert scale_out.wanted == kept
        assert looks(scale_out, [MIB] * 9, 8.0, 1.3)[-1] == kept


def test_more_that_fill_the_line_and_make_it_slower_were_of_no_use() -> None:
    scale_out = ScaleOut()
    looks(scale_out, [MIB, MIB, MIB], 0.0)
    assert looks(scale_out, [MIB, 0.95 * MIB, 0.95 * MIB], 4.0, 1.3)[-1] == 1


def test_what_was_of_no_use_is_tried_again_at_once_when_the_rate_has_fallen_far() -> None:
    scale_out = ScaleOut()
    looks(scale_out, [MIB, MIB, MIB], 0.0)
    assert looks(scale_out, [MIB] * 4, 4.0)[-1] == 1
    assert looks(scale_out, [0.75 * MIB] * 6, 9.0) == [1] * 6
    assert looks(scale_out, [0.65 * MIB] * 4, 16.0)[-1] == 2


def test_looks_at_one_time_do_no_harm() -> None:
    scale_out = ScaleOut()
    seen = FlowSample(1, 8 * MIB, 0.02, 0.02, 1)
    assert [scale_out.update(seen, 5.0) for _ in range(5)] == [1] * 5


def test_a_step_is_barred_once_however_many_connections_cannot_be_opened() -> None:
    line = Line()
    line.play(5)
    for there in range(7, 1, -1):
        line.scale_out.bar(line.now, there)
    assert line.play(29) == [2]
    assert line.play(3)[:2] == [2, 4]
    line.scale_out.narrow(line.now)
    line.scale_out.narrow(line.now)
    assert line.play(59) == [1]
    assert line.play(3)[:2] == [1, 2]
