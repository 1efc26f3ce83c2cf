"""How far another clock is ahead lies between when it was asked and when it answered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.clocks import MOST_ASKED, Clocks, name_of_clock

SECONDS = st.floats(0.001, 10.0)


@given(ahead=st.floats(-1e6, 1e6), ways=st.lists(st.tuples(SECONDS, SECONDS), min_size=1))
def test_the_error_is_never_larger_than_told(ahead: float, ways: list[tuple[float, float]]) -> None:
    clocks, now = Clocks("ours"), 0.0
    for number, (there, back) in enumerate(ways):
        clocks.asked(number, now)
        clocks.answered("0:0:0", "theirs", number, now + there + ahead, now + there + back)
        now += there + back
    found, error = clocks.difference("0:0:1", "theirs", now + ahead, now)  # of the same host
    assert error is not None
    assert abs(found - ahead) <= error + 1e-6
    assert error <= min(sum(one) for one in ways) / 2 + 1e-6


def test_a_late_answer_says_something_until_its_question_is_forgotten() -> None:
    clocks = Clocks("ours")
    for number in range(MOST_ASKED + 1):
        clocks.asked(number, float(number))
    clocks.answered("0:0:0", "theirs", 0, 100.0, 20.0)
    assert clocks.difference("0:0:0", "theirs", 107.0, 7.0) == (100.0, None)
    clocks.answered("0:0:0", "theirs", 1, 100.0, 5.0)
    assert clocks.difference("0:0:0", "theirs", 107.0, 7.0) == (97.0, 2.0)


def test_processes_of_one_host_read_the_same_clock() -> None:
    own = name_of_clock()
    assert Clocks(own).difference("0:0:0", name_of_clock(), 3.0, 4.0) == (0.0, 0.0)
    assert Clocks("").difference("0:0:0", "", 3.0, 4.0) == (-1.0, None)


def test_ranks_whose_clocks_have_no_names_are_known_each_by_itself() -> None:
    clocks = Clocks("ours")
    clocks.asked(1, 0.0)
    clocks.answered("0:0:0", "", 1, 100.0, 1.0)
    assert clocks.difference("0:0:0", "", 0.0, 2.0) == (99.5, 0.5)
    assert clocks.difference("0:0:1", "", 0.0, 2.0) == (-2.0, None)
