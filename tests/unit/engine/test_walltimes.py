"""When the jobs of a run have to end, and when their ranks get a signal."""

from __future__ import annotations

import math

from runtime.lifecycle.events import LimitTime, Signal, Walltime
from runtime.lifecycle.walltimes import Walltimes


def test_the_first_job_that_ends_counts_and_each_signal_is_sent_once() -> None:
    assert Walltimes().due is None
    times = Walltimes()
    times.grant("0:0", Walltime(1000, reserve=60, signal="USR1", signal_before=120), now=10)
    times.grant("1:0", Walltime(900, reserve=10), now=0)
    assert times.limit(100) == LimitTime(790, 680)  # the one ends first, the other one saves first
    assert times.due == 890  # both the signal for the one and the end of the other
    assert (times.take_signals(889), times.over(889)) == ([], None)
    assert times.take_signals(890) == [Signal("0:0", "USR1")]
    assert times.take_signals(891) == []
    assert (times.over(890), times.left("1:0", 890), times.left("0:0", 890)) == ("1:0", 10, 120)
    assert times.left("2:0", 890) is None


def test_a_short_walltime_keeps_a_quarter_for_the_end() -> None:
    times = Walltimes()
    times.grant("0:0", Walltime(60), now=0)
    assert (times.due, times.over(44.9), times.over(45)) == (45, None, "0:0")


def test_the_job_of_a_cluster_that_is_forgotten_ends_when_it_does() -> None:
    times = Walltimes()
    times.grant("0:0", Walltime(100, signal="USR1"), now=0)
    assert times.limit(0) == LimitTime(75, -20)
    assert (times.forget("0:0"), times.forget("1:0")) == (True, False)
    assert times.limit(0) == LimitTime(math.inf, math.inf)
    assert (times.due, times.take_signals(100), times.over(100)) == (None, [], None)
