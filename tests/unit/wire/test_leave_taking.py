"""How long a rank that ends waits for a peer, and when it says goodbye."""

from __future__ import annotations

import pytest

from runtime.wire.leave_taking import (
    TRANSITIONS,
    LeaveEvent,
    LeaveStage,
    LeaveTaking,
    LinkUse,
    PeerView,
)

S = LeaveStage
IDLE = PeerView(is_lost=False, has_sent=True, has_heard=False, link=LinkUse.NONE)
LINKED = IDLE._replace(link=LinkUse.OPEN)


def after(*views: PeerView) -> tuple[LeaveTaking, list[bool]]:
    """Return a leave behind these views of a peer, and when goodbye had to be said."""
    leave = LeaveTaking("rank 1")
    return leave, [leave.look(view) for view in views]


def test_goodbye_is_said_once_and_the_peer_is_waited_for_until_it_has_heard_it() -> None:
    leave, said = after(*[LINKED] * 1000)
    assert said == [True] + [False] * 999
    assert (leave.has_begun, leave.is_over) == (True, False)
    assert not leave.look(LINKED._replace(has_heard=True))
    assert leave.is_over


def test_that_earlier_words_were_heard_ends_nothing_before_goodbye_is_said() -> None:
    leave, said = after(LINKED._replace(has_heard=True))
    assert (said, leave.stage) == ([True], S.SAYING)


@pytest.mark.parametrize("link", LinkUse)
def test_messages_are_sent_first_whatever_there_is_between(link: LinkUse) -> None:
    leave, said = after(*[LINKED._replace(has_sent=False, link=link)] * 1000)
    assert (any(said), leave.stage) == (False, S.STAYING)


def test_who_is_not_connected_and_has_all_is_not_waited_for() -> None:
    leave, said = after(IDLE)
    assert (said, leave.stage) == ([False], S.GONE)


def test_a_connection_that_the_peer_may_use_already_is_waited_for() -> None:
    opening = IDLE._replace(link=LinkUse.OPENING)
    leave, said = after(*[opening] * 1000, LINKED)
    assert (sum(said), said[-1], leave.stage) == (1, True, S.SAYING)
    leave, said = after(opening, IDLE)  # it could not be opened
    assert (any(said), leave.stage) == (False, S.GONE)


@pytest.mark.parametrize("link", LinkUse)
@pytest.mark.parametrize("views", [[], [LINKED]])
def test_who_has_ended_or_is_lost_is_not_waited_for(views: list[PeerView], link: LinkUse) -> None:
    leave, _ = after(*views)
    assert not leave.look(PeerView(is_lost=True, has_sent=False, has_heard=False, link=link))
    assert leave.is_over


def test_nothing_follows_the_end() -> None:
    assert not [event for event in LeaveEvent if (S.GONE, event) in TRANSITIONS]
    leave, _ = after(IDLE)
    for link in LinkUse:
        assert not leave.look(LINKED._replace(has_sent=False, link=link))
    assert leave.is_over
