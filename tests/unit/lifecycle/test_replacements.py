"""Who has which rank while ranks are lost and started again: the table, and scripts of it."""

from __future__ import annotations

import itertools

import pytest

from runtime.collectives.recovery_modes import ProcessState
from runtime.lifecycle.replacements import (
    TRANSITIONS,
    EndRank,
    ProcessEvent,
    Replacements,
    StartAgain,
    TellMoved,
)
from runtime.membership.bind_address import NOT_ADVERTISED
from runtime.membership.whereabouts import RankArrival
from runtime.rank_name import RankName

RANK, OTHER = RankName(0, 1, 0), RankName(0, 0, 0)
FIRST, SECOND, THIRD = (RankName(0, 1, 0, number) for number in (1, 2, 3))
ARRIVAL = RankArrival("far", 7, doors=("machine", ("far:5",)), incarnation=2)

ROWS = """
    OK           WANTED  Unavailable  END
    OK           ENDED   Failed       NOTHING
    Unavailable  WANTED  Unavailable  NOTHING
    Unavailable  ENDED   Joining      START
    Failed       WANTED  Joining      START
    Failed       ENDED   Failed       NOTHING
    Joining      WANTED  Joining      NOTHING
    Joining      READY   OK           TELL_WHERE
    Joining      ENDED   Failed       TELL_NOT
"""


def test_the_states_of_processes_change_as_the_table_says() -> None:
    found = {
        (str(state), event.name, str(after), deed.name)
        for (state, event), (after, deed) in TRANSITIONS.items()
    }
    assert found == {tuple(row.split()) for row in ROWS.strip().splitlines()}
    ended_or_wanted = itertools.product(ProcessState, (ProcessEvent.ENDED, ProcessEvent.WANTED))
    assert set(ended_or_wanted) <= set(TRANSITIONS), "these come from outside, whenever they like"


def test_a_lost_rank_is_started_again_once_however_many_ask_and_all_are_told_where_it_is() -> None:
    ranks = Replacements(3)
    ranks.ended(RANK)
    asked = [ranks.wanted([FIRST]) for _ in range(3)]
    assert asked == [[StartAgain(SECOND)], [], []]
    (told,) = ranks.ready(RANK, ARRIVAL)
    assert told == TellMoved({"rank": "0:1:0", "host": "far", "doors": ARRIVAL.doors,
                              "incarnation": 2, "index": 3})  # fmt: skip
    assert (ranks.state(RANK), ranks.incarnation(RANK)) == (ProcessState.OK, 2)


def test_whoever_asks_late_for_one_that_has_been_replaced_changes_nothing() -> None:
    ranks = Replacements(3)
    ranks.ended(RANK)
    ranks.wanted([FIRST])
    ranks.ready(RANK, ARRIVAL)
    assert ranks.wanted([FIRST]) == []
    assert ranks.state(RANK) is ProcessState.OK


def test_a_rank_that_others_have_lost_and_that_lives_is_ended_before_another_takes_its_place() -> (
    None
):
    ranks = Replacements(3)
    assert ranks.wanted([FIRST]) == [EndRank(RANK)]
    assert ranks.state(RANK) is ProcessState.UNAVAILABLE
    assert ranks.incarnation(RANK) == 1
    assert ranks.ended(RANK) == [StartAgain(SECOND)]


def test_one_that_does_not_come_has_an_index_so_that_all_can_know_of_its_loss() -> None:
    ranks = Replacements(3)
    ranks.ended(RANK)
    ranks.wanted([FIRST])
    (told,) = ranks.ended(RANK)
    assert isinstance(told, TellMoved)
    assert (told.report["index"], told.report["doors"]) == (3, NOT_ADVERTISED)
    assert ranks.wanted([SECOND]) == [StartAgain(THIRD)]


def test_those_that_are_being_started_are_known_by_their_cluster() -> None:
    ranks = Replacements(4)
    for rank in (OTHER, RANK, RankName(0, 1, 1)):
        ranks.ended(rank)
    ranks.wanted([RankName(0, 0, 0, 1), RankName(0, 1, 1, 1)])
    assert ranks.joining("0:1") == [RankName(0, 1, 1)]


def test_indexes_are_given_in_the_order_in_which_ranks_are_ready() -> None:
    ranks = Replacements(4)
    for rank in (OTHER, RANK):
        ranks.ended(rank)
    started = ranks.wanted([RankName(0, 0, 0, 1), FIRST])
    assert started == [StartAgain(RankName(0, 0, 0, 2)), StartAgain(SECOND)]
    indexes = [
        one.report["index"]
        for rank in (RANK, OTHER)
        for one in ranks.ready(rank, ARRIVAL)
        if isinstance(one, TellMoved)
    ]
    assert indexes == [4, 5]


@pytest.mark.parametrize("rank", [OTHER, RANK], ids=str)
def test_ranks_that_start_with_all_others_are_no_news(rank: RankName) -> None:
    assert Replacements(4).ready(rank, ARRIVAL) == []
