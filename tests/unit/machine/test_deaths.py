"""What another process may send of a death: all that makes sense, and nothing else."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from runtime.exit_codes import LOST
from runtime.machine.deaths import Observation, RankDeath, UnreadableReport, Witness
from runtime.rank_name import RankName

RANK = RankName(0, 1, 2)
DEATH = RankDeath(
    RankName(0, 1, 2, 3),
    Observation(
        Witness.RANK,
        1,
        9,
        "because",
        "ValueError: no",
        "line 7",
        (RankName(1, 0, 0),),
        is_loss=True,
    ),
    after="0:1:0",
    supersedes=True,
    host="n7",
    when="14:03:07",
)


def test_the_death_that_is_sent_here_has_something_in_each_field_that_travels() -> None:
    stays = {"at"}
    for record in DEATH, DEATH.observed:
        default = [one.name for one in fields(record) if getattr(record, one.name) == one.default]
        assert set(default) <= stays, "what no table in deaths.py names is lost on its way"


@pytest.mark.parametrize("death", [DEATH, RankDeath.lost(RANK, "gone"), DEATH.brief])
def test_a_death_arrives_as_it_was_sent(death: RankDeath) -> None:
    assert RankDeath.parse(death.plain) == death


def test_what_says_nothing_does_not_travel() -> None:
    ended = RankDeath(RANK, Observation(Witness.RANK, 0))
    assert ended.plain == {"rank": "0:1:2", "by": "rank", "code": 0}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"rank": "0:1"}, "what should be the name of a rank is none"),
        ({"rank": 7}, "its 'rank' is a int"),
        ({"by": "hearsay"}, "'by' is 'hearsay', who is no witness"),
        ({"code": "1"}, "its 'code' is a str"),
        ({"code": True}, "its 'code' is a bool"),
        ({"lost": ["me"]}, "what should be the name of a rank is none"),
        ({"lost": [1]}, "what should be the name of a rank is none"),
        ({"traceback": None}, "its 'traceback' is a NoneType"),
    ],
)
def test_a_death_that_makes_no_sense_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableReport) as raised:
        RankDeath.parse(DEATH.plain | change)
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("plain", "why"),
    [(None, "it is no dictionary but a NoneType"), ({}, "it has no 'code'")],
)
def test_a_word_that_makes_no_sense_is_refused(plain: object, why: str) -> None:
    with pytest.raises(UnreadableReport) as raised:
        Observation.parse(Witness.RANK, plain)
    assert str(raised.value) == why


@pytest.mark.parametrize(
    ("observed", "how"),
    [
        (Observation(Witness.RANK, 0), "ended"),
        (Observation(Witness.RANK, 7), "ended with exit code 7"),
        (Observation(Witness.PARENT, 137, 9), "was killed by SIGKILL"),
        (Observation(Witness.RANK, 1, exception="E: no"), "ended with exit code 1 (E: no)"),
        (Observation(Witness.LAUNCHER, LOST, exception="was lost"), "was lost"),
        (Observation(Witness.RANK, LOST, exception="E"), f"ended with exit code {LOST} (E)"),
    ],
)
def test_how_a_rank_died_is_said_to_the_other_ranks(observed: Observation, how: str) -> None:
    assert RankDeath(RANK, observed).how == how
