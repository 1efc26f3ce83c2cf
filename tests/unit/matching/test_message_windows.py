from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from runtime.matching import ReceiveWindow, Window, weight
from runtime.matching.window import OVERHEAD, WINDOW


def test_a_message_counts_more_than_its_bytes() -> None:
    assert (weight(0), weight(10)) == (OVERHEAD, 10 + OVERHEAD)


def test_a_window_closes_when_as_much_is_on_its_way_as_it_allows() -> None:
    window = Window(10)
    open_after: list[bool] = []
    for change in (window.sent, window.sent, window.taken):
        change(9 if not open_after else 1)
        open_after.append(window.is_open)
    assert open_after == [True, False, True]


def test_one_message_larger_than_the_window_may_be_sent() -> None:
    window = Window(10)
    assert window.is_open
    window.sent(1000)
    assert (window.is_open, window.in_flight) == (False, 1000)


def test_nobody_can_have_taken_more_than_was_sent() -> None:
    window = Window(10)
    window.sent(3)
    window.taken(5)
    assert window.in_flight == 0


def test_what_was_taken_is_told_by_the_quarter() -> None:
    receive_window = ReceiveWindow(100)
    assert [
        receive_window.take(10),
        receive_window.take(14),
        receive_window.take(1),
        receive_window.take(25),
    ] == [0, 0, 25, 25]
    assert receive_window.unacknowledged == 0


@given(st.lists(st.integers(1, 3 * WINDOW), max_size=30))
def test_a_sender_never_waits_for_a_receiver_that_has_taken_everything(weights: list[int]) -> None:
    window, receive_window = Window(), ReceiveWindow()
    most = max(weights, default=0)
    for one in weights:
        assert window.is_open
        window.sent(one)
        assert window.in_flight <= WINDOW + most
        told = receive_window.take(one)
        if told:
            window.taken(told)
        assert window.in_flight == receive_window.unacknowledged
