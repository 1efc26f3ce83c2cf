from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.grid.lines import FULL_BUFFER, PACKET, Line, Traffic

MEGABYTE_PER_SECOND = 8e6


def test_what_enters_an_idle_line_arrives_after_its_own_length_and_the_delay() -> None:
    traffic = Traffic(Line(delay=0.5, rate=MEGABYTE_PER_SECOND))
    assert traffic.admit(10.0, 1_000_000) == pytest.approx(11.5)


def test_what_enters_a_busy_line_waits_for_what_is_before_it() -> None:
    traffic = Traffic(Line(delay=0.5, rate=MEGABYTE_PER_SECOND))
    traffic.admit(0.0, 100_000)
    assert traffic.admit(0.05, 100_000) == pytest.approx(0.1 + 0.1 + 0.5)


def test_an_idle_time_is_not_saved_up() -> None:
    traffic = Traffic(Line(delay=0.0, rate=MEGABYTE_PER_SECOND))
    traffic.admit(0.0, 100_000)
    assert traffic.admit(5.0, 100_000) == pytest.approx(5.1)


def test_a_full_queue_drops_and_counts_what_it_dropped() -> None:
    traffic = Traffic(Line(delay=0.0, rate=MEGABYTE_PER_SECOND, queue=1000))
    assert traffic.admit(0.0, 1001) is not None
    assert traffic.admit(0.0, 1) is None
    assert traffic.admit(0.000_001, 1) is not None
    assert (traffic.bytes, traffic.dropped) == (1002, 1)


def test_the_usual_queue_holds_twice_the_way_and_back() -> None:
    assert Line(delay=0.01, rate=1e8).most_waiting == 2 * 2 * 0.01 * 1e8 / 8 + FULL_BUFFER
    assert Line(delay=0.01, rate=1e8, queue=0).most_waiting == 0


def test_a_changed_line_treats_only_what_enters_afterwards_differently() -> None:
    traffic = Traffic(Line(delay=0.0, rate=MEGABYTE_PER_SECOND))
    assert traffic.admit(0.0, 1_000_000) == pytest.approx(1.0)
    traffic.change(Line(delay=1.0, rate=2 * MEGABYTE_PER_SECOND, queue=10_000_000))
    assert traffic.admit(0.0, 1_000_000) == pytest.approx(1.0 + 0.5 + 1.0)


@pytest.mark.parametrize(("delay", "rate", "queue"), [(-1, 1, None), (0, 0, None), (0, 1, -1)])
def test_an_impossible_line_is_refused(delay: float, rate: float, queue: float | None) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        Line(delay, rate, queue)


def test_a_line_loses_as_many_packets_as_it_is_told_to_large_ones_as_a_whole() -> None:
    thrown = iter([0.2, 0.1, 0.0999, 0.9, 0.5, 0.19])
    traffic = Traffic(Line(delay=0.5, rate=1e9, loss=0.1), lambda: next(thrown))
    arrived = [traffic.admit(float(n), PACKET) is not None for n in range(3)]
    arrived += [traffic.admit(10.0 + n, 2 * PACKET) is not None for n in range(3)]
    assert arrived == [True, True, False, True, True, False]
    assert traffic.dropped == 2
    assert traffic.bytes == 9 * PACKET


@pytest.mark.parametrize("loss", [-0.1, 1.0])
def test_a_line_that_loses_less_than_nothing_or_all_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="less than all"):
        Line(0.01, 1e9, loss=loss)


@given(st.lists(st.tuples(st.floats(0, 0.01), st.integers(1, 70_000)), min_size=1))
def test_nothing_overtakes_and_no_more_arrives_than_the_rate_allows(
    entries: list[tuple[float, int]],
) -> None:
    traffic, now, arrivals = Traffic(Line(delay=0.001, rate=1e9)), 0.0, []
    for pause, size in entries:
        now += pause
        arrival = traffic.admit(now, size)
        if arrival is not None:
            arrivals.append((arrival, size))
    assert arrivals == sorted(arrivals, key=lambda one: one[0])
    first = entries[0][0]
    assert traffic.bytes * 8 <= 1e9 * (arrivals[-1][0] - 0.001 - first) * (1 + 1e-6) + 1
