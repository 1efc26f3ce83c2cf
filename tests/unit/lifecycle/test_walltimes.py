"""When the jobs of a run have to end, and when their ranks get a signal."""

from __future__ import annotations

import math

from runtime.lifecycle.events import LimitTime, Signal, Walltime
from runtime.lifecycle.walltimes import RunClock, Walltimes


def test_the_first_job_that_ends_counts_and_each_signal_is_sent_once() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["1:0"])
    assert (times.due, list(times.limit())) == (None, [])
    times.grant("1:0", Walltime(900, reserve=10))
    clock.now = 10
    times.grant("0:0", Walltime(1000, reserve=60, signal="USR1", signal_before=120))
    clock.now = 100
    assert list(times.limit()) == [
        LimitTime("1:0", 790, 680)
    ]  # one ends first, the other saves first
    assert times.due == 890  # both the signal for the one and the end of the other
    clock.now = 889
    assert (times.take_signals(), times.over()) == ([], None)
    clock.now = 890
    assert times.take_signals() == [Signal("0:0", "USR1")]
    assert times.take_signals() == []
    assert (times.over(), times.left("1:0", 890), times.left("0:0", 890)) == ("1:0", 10, 120)
    assert times.left("2:0", 890) is None


def test_a_short_walltime_keeps_a_quarter_for_the_end() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["1:0"])
    times.grant("0:0", Walltime(60))
    clock.now = 44.9
    assert (times.due, times.over()) == (45, None)
    clock.now = 45
    assert times.over() == "0:0"


def test_ranks_of_a_short_walltime_save_half_way_and_not_at_once() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["1:0"])
    times.grant("0:0", Walltime(60, signal="USR1"))
    assert list(times.limit()) == [LimitTime("1:0", 45, 30)]
    clock.now = 29.9
    assert (times.due, times.take_signals()) == (30, [])
    clock.now = 30
    assert times.take_signals() == [Signal("0:0", "USR1")]


def test_ranks_save_before_the_run_is_ended_however_long_it_takes_to_come_home() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["1:0"])
    times.grant("0:0", Walltime(1000, reserve=301))
    assert list(times.limit()) == [LimitTime("1:0", 699, 639)]


def test_the_job_of_a_cluster_that_is_forgotten_ends_when_it_does() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["1:0"])
    times.grant("0:0", Walltime(100, signal="USR1"))
    assert list(times.limit()) == [LimitTime("1:0", 75, 50)]
    assert list(times.forget("0:0")) == [LimitTime("1:0", math.inf, math.inf)]
    assert (list(times.forget("1:0")), list(times.limit())) == ([], [])
    clock.now = 100
    assert (times.due, times.take_signals(), times.over()) == (None, [], None)


def test_a_job_that_the_run_outlives_limits_the_ranks_of_its_cluster() -> None:
    clock = RunClock()
    times = Walltimes(clock, ["0:0", "1:0"])
    times.grant("0:0", Walltime(1000, reserve=60))
    times.grant("1:0", Walltime(300, reserve=60, signal="USR1"), is_outlived=True)
    assert list(times.limit()) == [LimitTime("0:0", 940, 880), LimitTime("1:0", 240, 180)]
    clock.now = 240
    assert (times.take_signals(), times.over()) == ([Signal("1:0", "USR1")], "1:0")
    assert list(times.forget("1:0")) == [LimitTime("0:0", 700, 640)]  # itself ends when it does
    clock.now = 400
    times.grant("1:0", Walltime(300, reserve=60, signal="USR1"))  # the last one
    assert times.due == 580
    assert list(times.limit()) == [LimitTime("0:0", 240, 180), LimitTime("1:0", 240, 180)]
