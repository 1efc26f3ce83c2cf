"""When somebody tries again, and when nobody does any more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from runtime.wire.errors import PeerLost
from runtime.wire.stream.resuming import CALLED_TIMEOUT, Resuming, says_nobody

TIMEOUT = "10.0.0.7:4711: no answer within 10 s"
REFUSED = "10.0.0.7:4711: Connection refused"


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
    assert says_nobody(PeerLost("not there", cause=cause)) is expected
