"""What a rank makes of a peer: what it sees itself, and what others have seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.wire.errors import LinkLost, PeerLeft, PeerLost
from runtime.wire.peer_life import (
    EXPLAIN_TIMEOUT,
    LAST_WORDS_HERE,
    LAST_WORDS_TIMEOUT,
    PeerLife,
    PeerStage,
)

LINK = LinkLost("rank 1 cannot be reached")
BROKE = PeerLost("rank 1 is lost: reset")
KILLED = PeerLost("rank 1 was killed by SIGKILL")
DONE = PeerLeft("rank 1 has ended")


def tick(life: PeerLife, now: float, position: int = 0, *, has_line: bool = True) -> bool:
    return life.tick(now, position, has_line=has_line, is_here=False)


def explained(why: PeerLost = KILLED, *, is_here: bool = False) -> PeerLife:
    life = PeerLife("rank 1")
    life.explain(why, 10.0, 0, is_here=is_here)
    assert life.stage is PeerStage.EXPLAINED
    return life


def test_a_suspicion_is_told_once_and_taken_back_when_the_peer_is_reached() -> None:
    life = PeerLife("rank 1")
    assert life.suspect(LINK)
    assert not life.suspect(BROKE)
    assert (life.is_suspected, life.reason) == (True, LINK)
    assert life.reached()
    assert (life.stage, life.reason, life.is_suspected) == (PeerStage.LIVES, None, False)
    assert not life.reached()


def test_who_is_gone_is_explained_by_others_or_they_are_asked() -> None:
    life = PeerLife("rank 1")
    life.lose_sight(BROKE, 10.0)
    assert life.deadline == 10.0 + EXPLAIN_TIMEOUT
    assert not tick(life, 10.0, has_line=False)
    assert tick(life, 10.0 + EXPLAIN_TIMEOUT, has_line=False)
    assert (life.stage, life.reason) == (PeerStage.APPEALED, BROKE)
    life.explain(KILLED, 20.0, 0, is_here=False)
    assert (life.stage, life.reason) == (PeerStage.LOST, KILLED)


def test_who_is_gone_and_comes_back_leaves_nothing_to_be_done() -> None:
    life = PeerLife("rank 1")
    life.lose_sight(BROKE, 10.0)
    assert not life.reached()
    assert (life.stage, life.deadline) == (PeerStage.LIVES, None)


def test_others_are_asked_once_about_one_that_was_suspected_and_is_gone() -> None:
    life = PeerLife("rank 1")
    assert life.suspect(LINK)
    life.lose_sight(BROKE, 10.0)
    assert (life.stage, life.deadline) == (PeerStage.APPEALED, None)


@pytest.mark.parametrize(
    ("is_here", "patience"), [(True, LAST_WORDS_HERE), (False, LAST_WORDS_TIMEOUT)]
)
def test_last_words_are_read_for_as_long_as_they_come(is_here: bool, patience: float) -> None:
    life = explained(is_here=is_here)
    assert life.deadline == 10.0 + patience
    tick(life, 10.0 + patience, position=100)
    assert (life.stage, life.deadline) == (
        PeerStage.EXPLAINED,
        10.0 + patience + LAST_WORDS_TIMEOUT,
    )
    tick(life, 20.0, position=100)
    assert (life.stage, life.reason) == (PeerStage.LOST, KILLED)


def test_without_a_connection_there_are_no_last_words() -> None:
    life = explained()
    tick(life, 10.0, has_line=False)
    assert life.stage is PeerStage.LOST


def test_one_that_has_ended_in_order_says_so_itself() -> None:
    life = explained(DONE)
    tick(life, 20.0)
    assert (life.stage, life.deadline) == (PeerStage.EXPLAINED, None)
    life.end(PeerLeft("rank 1 has said goodbye"))
    assert (life.stage, life.reason) == (PeerStage.LOST, DONE)


def test_seconds_in_which_nobody_could_listen_do_not_count() -> None:
    life = explained()
    life.postpone(5.0)
    assert life.deadline == 15.0 + LAST_WORDS_TIMEOUT


@pytest.mark.parametrize(
    "event",
    [
        lambda life: life.suspect(BROKE),
        lambda life: life.lose_sight(BROKE, 0.0),
        lambda life: life.reached(),
        lambda life: life.explain(BROKE, 0.0, 0, is_here=False),
        lambda life: life.end(BROKE),
        lambda life: tick(life, 1e9),
    ],
)
def test_nothing_happens_any_more_to_one_that_is_lost(event: Callable[[PeerLife], object]) -> None:
    life = PeerLife("rank 1")
    life.end(KILLED)
    event(life)
    assert (life.stage, life.reason, life.deadline) == (PeerStage.LOST, KILLED, None)
