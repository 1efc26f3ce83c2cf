"""Pending calls: each has one outcome, whatever comes first."""

from __future__ import annotations

from runtime.transport.errors import ChannelClosed
from runtime.transport.frames import Frame
from runtime.transport.messages import RESULT
from runtime.transport.pending_calls import PendingCalls

ENDED = ChannelClosed("the wire broke", place="there")


class Asked:
    """Records what becomes of a call."""

    about = "a.b.c"

    def __init__(self) -> None:
        self.outcomes: list[Frame | ChannelClosed] = []

    def arrived(self, outcome: Frame | ChannelClosed) -> None:
        self.outcomes.append(outcome)


def test_an_outcome_goes_to_its_call_once() -> None:
    calls, first, second = PendingCalls(), Asked(), Asked()
    assert (calls.add(first), calls.add(second)) == (1, 2)
    found = Frame(RESULT, 2, [b""])
    for _ in range(2):
        calls.settle(found)
    calls.settle(Frame(RESULT, 7, [b""]))
    assert (first.outcomes, second.outcomes) == ([], [found])


def test_the_end_is_the_outcome_of_all_that_have_none() -> None:
    calls, before, sent, later = PendingCalls(), Asked(), Asked(), Asked()
    assert calls.withdraw(calls.add(before))
    number = calls.add(sent)
    calls.end(ENDED)
    assert not calls.withdraw(number)
    calls.settle(Frame(RESULT, number, [b""]))
    assert calls.add(later) == 0
    assert before.outcomes == []
    for call in (sent, later):
        (why,) = call.outcomes
        assert isinstance(why, ChannelClosed)
        assert str(why).startswith("there: the connection ended, so there is no result of a.b.c")
        assert why.cause == "the wire broke"
