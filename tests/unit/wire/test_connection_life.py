"""What a connection goes through, when somebody tries again, and when nobody does any more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from runtime.wire.connection_life import (
    CALLED_TIMEOUT,
    TRANSITIONS,
    ConnectionEvent,
    ConnectionLife,
    ConnectionStage,
    Resuming,
    is_refused_everywhere,
)
from runtime.wire.errors import PeerLost

TIMEOUT = "10.0.0.7:4711: no answer within 10 s"
REFUSED = "10.0.0.7:4711: Connection refused"
E = ConnectionEvent


def life(*events: ConnectionEvent) -> ConnectionLife:
    one = ConnectionLife("rank 1")
    for event in events:
        assert one.advance(event), event
    return one


def broken(now: float) -> Resuming:
    return Resuming(ConnectionResetError("reset"), now, 20.0)


@pytest.mark.parametrize(
    ("events", "stage"),
    [
        ([E.JOINED, E.ASKS, E.RESTED, E.JOINED], "open"),
        ([E.JOINED, E.ASKS, E.STAYS], "open"),
        ([E.JOINED, E.AGREES, E.RESTED], "at rest"),
        ([E.JOINED, E.DIALLED, E.FAILED], "open"),
        ([E.JOINED, E.DIALLED, E.JOINED], "open"),
        ([E.JOINED, E.BROKE, E.GIVEN_UP], "closed"),
        ([E.FAILED, E.JOINED], "open"),
        ([E.JOINED, E.ASKS, E.RESTED, E.FAILED], "unreached"),
        ([E.JOINED, E.GIVEN_UP, E.FAILED], "broken"),
    ],
)
def test_events_lead_from_stage_to_stage(events: list[ConnectionEvent], stage: str) -> None:
    assert life(*events).stage == stage


def test_what_cannot_happen_changes_nothing() -> None:
    for stage in ConnectionStage:
        for event in ConnectionEvent:
            one = ConnectionLife("rank 1")
            one.stage = stage
            has_changed = one.advance(event)
            assert has_changed == (TRANSITIONS.get((stage, event), stage) is not stage)


@pytest.mark.parametrize(
    ("events", "was_there"),
    [
        ([], True),
        ([E.BROKE], True),
        ([E.ASKS, E.RESTED], False),
        ([E.ASKS, E.RESTED, E.FAILED], False),
    ],
)
def test_a_peer_that_goes_while_it_is_at_rest_was_not_there(
    events: list[ConnectionEvent], was_there: bool
) -> None:
    one = ConnectionLife("rank 1")
    assert not one.was_ever_there
    one.joined(0.0, (0, 0))
    for event in events:
        one.advance(event)
    assert one.was_ever_there is was_there


def test_one_that_breaks_at_once_and_has_moved_nothing_goes_on_with_the_last_interruption() -> None:
    one = ConnectionLife("rank 1")
    one.joined(0.0, (10, 10))
    one.broke((20, 20), first := broken(50.0))
    one.joined(51.0, (20, 20))
    assert (one.joins, one.resumptions, one.resuming) == (2, 1, None)
    one.broke((20, 20), broken(51.5))
    assert one.resuming is first
    assert first.next_try > 51.5
    one.joined(52.0, (20, 20))
    one.broke((30, 20), second := broken(52.1))
    assert one.resuming is second


def test_one_that_is_given_up_is_not_tried_any_more() -> None:
    one = ConnectionLife("rank 1")
    one.failed(broken(0.0))
    assert one.is_interrupted
    one.give_up()
    assert (one.is_interrupted, one.resuming) == (False, None)


def test_pauses_grow_and_end_with_the_patience() -> None:
    one = Resuming(ConnectionResetError("reset"), 100.0, 20.0)
    pauses = []
    now = 100.0
    while not one.is_over(now):
        assert one.next_try >= now
        now = one.next_try
        pauses.append(now)
        one.failed(PeerLost("not there", cause=TIMEOUT), now)
    assert pauses[:4] == pytest.approx([100.0, 100.05, 100.15, 100.35])
    assert pauses[-1] == 120.0
    assert max(b - a for a, b in pairwise(pauses)) == 1.0
    assert one.reasons == f"it could not be resumed: {TIMEOUT}"


def test_who_is_refused_twice_gives_up() -> None:
    one = Resuming(EOFError("ended"), 0.0, 20.0)
    one.failed(PeerLost("not there", cause=REFUSED), 0.0)
    assert not one.is_over(0.0)
    one.failed(PeerLost("not there", cause=TIMEOUT), 0.0)
    one.failed(ConnectionResetError("again"), 0.0)
    assert not one.is_over(0.0)
    one.failed(PeerLost("not there", cause=REFUSED), 0.0)
    assert one.is_over(0.0)


def test_who_hung_up_and_does_not_come_when_it_is_called_has_ended() -> None:
    hung_up = Resuming(EOFError("ended"), 50.0, 20.0)
    hung_up.called()
    assert hung_up.deadline == 50.0 + CALLED_TIMEOUT
    reset = Resuming(ConnectionResetError("reset"), 50.0, 20.0)
    reset.called()
    assert reset.deadline == 70.0


def test_without_a_try_there_is_no_reason() -> None:
    assert Resuming(EOFError("ended"), 0.0, 20.0).reasons == "it could not be resumed"


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (REFUSED, True),
        (f"{REFUSED}\nunix:/a/door: No such file or directory", True),
        (f"{REFUSED}\n{TIMEOUT}", False),
        ("", False),
        (f"by forwarded: 0:1: {REFUSED}\nby direct: {TIMEOUT}", True),
        (f"by direct: {TIMEOUT}\nby forwarded: {REFUSED}", False),
        (f"by direct: {REFUSED}; {TIMEOUT}", False),
    ],
)
def test_nobody_is_there_if_all_addresses_of_the_first_route_refuse(
    cause: str, expected: bool
) -> None:
    assert is_refused_everywhere(PeerLost("not there", cause=cause)) is expected
