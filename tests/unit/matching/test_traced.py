"""Which receive got which message is found from what each rank knows of its own calls."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from runtime.matching.traced import ROW, MessageEnd, TracedRow, joined, rows_of


def test_rows_are_what_was_packed() -> None:
    rows = [(0.5, 1.5, 3, 0, 2, 7, 80), (1.5, 2.0, 0, 65535, -1, -1, -1)]
    packed = b"".join(ROW.pack(*one) for one in rows)
    assert list(rows_of(packed)) == [TracedRow(*one) for one in rows]


MESSAGES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("ab"), st.integers(0, 2)), max_size=30
)


def ends(messages: list[tuple[str, str, int]]) -> tuple[list[MessageEnd], list[MessageEnd]]:
    """Return the ends of messages: their numbers are the bytes, by which the test knows them."""
    sends = [
        MessageEnd(sender, receiver, "world", tag, float(at), float(at), at)
        for at, (sender, receiver, tag) in enumerate(messages)
    ]
    return sends, [replace(one, posted=one.posted + 0.5, at=one.at + 9) for one in sends]


@given(messages=MESSAGES, order=st.randoms(use_true_random=False))
def test_messages_are_joined_whatever_the_order_in_which_receives_are_complete(
    messages: list[tuple[str, str, int]], order: object
) -> None:
    sends, receives = ends(messages)
    order.shuffle(receives)  # type: ignore[attr-defined]  # a Random of hypothesis
    found = list(joined(sends, receives, ()))
    assert len(found) == len(messages)
    assert all(sent.bytes == received.bytes for sent, received in found)


@given(messages=MESSAGES, lost=st.integers(0, 30))
def test_where_the_oldest_rows_are_gone_the_last_messages_are_joined(
    messages: list[tuple[str, str, int]], lost: int
) -> None:
    sends, receives = ends(messages)
    left = [one for one in receives if one.receiver != "b" or one.bytes >= lost]
    found = list(joined(sends, left, ["b"]))
    assert len(found) == len(left)
    assert all(sent.bytes == received.bytes for sent, received in found)


def test_a_message_that_nobody_received_takes_no_other_ones_receive() -> None:
    sends, receives = ends([("a", "b", 1), ("a", "b", 2)])
    assert [one.tag for one, _ in joined(sends, receives[1:], ())] == [2]
    assert not list(joined(sends[:1], [replace(receives[0], communicator="other")], ()))


def test_rows_at_times_that_no_run_has_are_left_out() -> None:
    times = [(math.nan, 1.0), (1.0, math.inf), (-1e300, 1.0), (1.0, 1e11), (1.0, 2.0)]
    packed = b"".join(ROW.pack(*one, 0, 0, 0, 0, 0) for one in times)
    assert list(rows_of(packed)) == [TracedRow(1.0, 2.0, 0, 0, 0, 0, 0)]
