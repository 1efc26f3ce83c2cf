"""Who is told of the end of whom, having asked."""

from __future__ import annotations

from runtime.lifecycle.asked_ends import AskedEnds
from runtime.machine.deaths import RankDeath
from runtime.rank_name import RankName

name = RankName.parse

DEATH = RankDeath.lost(name("0:1:0"), "is lost")


def test_all_who_have_asked_are_told_once() -> None:
    asked = AskedEnds()
    assert asked.ask(name("0:0:1#1"), name("0:1:0#1")) is None
    assert asked.ask(name("0:0:0#1"), name("0:1:0#1")) is None
    assert asked.ask(name("0:0:0#1"), name("0:1:1#1")) is None
    assert asked.ended(DEATH) == [name("0:0:0"), name("0:0:1")]
    assert asked.ended(DEATH) == []


def test_who_asks_later_is_answered_at_once() -> None:
    asked = AskedEnds()
    assert asked.ended(DEATH) == []
    assert asked.ask(name("0:0:0#1"), name("0:1:0#1")) == DEATH


def test_of_a_rank_that_was_started_again_no_former_end_is_told() -> None:
    asked = AskedEnds()
    asked.ended(DEATH)
    asked.begins(name("0:1:0"))
    assert asked.ask(name("0:0:0#1"), name("0:1:0#2")) is None


def test_a_process_is_not_told_what_its_former_one_has_asked() -> None:
    asked = AskedEnds()
    asked.ask(name("0:0:0#1"), name("0:1:0#1"))
    asked.begins(name("0:0:0"))
    assert asked.ended(DEATH) == []
