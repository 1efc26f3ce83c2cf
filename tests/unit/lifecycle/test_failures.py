"""What failed first: tables of what became known, whose verdict must not depend on the order."""

from __future__ import annotations

import textwrap
from itertools import permutations

import pytest

from runtime.exit_codes import LOST, OUTPUT_FAILED
from runtime.lifecycle.events import Event, JobEnded, PlaceLost
from runtime.lifecycle.failures import Failures
from runtime.machine.deaths import BY_REQUEST, Observation, RankDeath, Witness
from runtime.rank_name import RankName

# Each line is one fact: a rank with its exit code, then what else is known of its end, or a cluster
# whose `mpiexec` failed by itself, or whose front-end was lost. The facts come in every order.
TABLE = {
    "one rank crashes": """
        0:0:1 139 signal=11
        => 0:0:1 139
    """,
    "a neighbour misses a rank that has crashed": """
        0:0:1 139 signal=11
        1:0:0 1 loss lost=0:0:1
        => 0:0:1 139
    """,
    "a neighbour misses one that mpiexec has ended because another crashed": """
        0:0:1 139 signal=11
        0:0:0 137 signal=9 after=0:0:1
        1:0:0 1 loss lost=0:0:0
        1:0:1 1 loss lost=0:0:0,0:0:1
        => 0:0:1 139
    """,
    "one after the other misses its neighbour": """
        0:0:0 7
        1:0:0 1 loss lost=0:0:0
        2:0:0 1 loss lost=1:0:0
        3:0:0 1 loss lost=2:0:0
        => 0:0:0 7
    """,
    "a program that catches the loss and ends with a code of its own": """
        0:0:0 7
        1:0:0 4 lost=0:0:0
        => 0:0:0 7
    """,
    "a rank that aborts because it misses another": """
        0:0:0 137 signal=9
        1:0:0 9 loss lost=0:0:0
        => 0:0:0 137
    """,
    "a loss of which only another rank has told": """
        0:0:0 1
        1:0:0 1 loss
        => 0:0:0 1
    """,
    "whoever has lost one that ended well fails by itself": """
        0:0:0 0
        1:0:0 5 lost=0:0:0
        => 1:0:0 5
    """,
    "a loss of a rank that never failed is a failure of its own": """
        0:0:0 0
        1:0:0 1 loss lost=0:0:0
        => 1:0:0 1
    """,
    "ranks end because mpiexec was killed": """
        0:0 204 mpiexec
        0:0:0 143 signal=15 after=0:0
        0:0:1 143 signal=15 after=0:0
        1:0:0 1 loss lost=0:0:1
        => 0:0 204
    """,
    "ranks miss those of a cluster whose front-end is lost": """
        0:0 204 lost
        1:0:0 1 loss lost=0:0:1
        => 0:0 204
    """,
    "what was told to end says nothing": """
        0:0:0 143 signal=15 request
        1:0:0 3
        => 1:0:0 3
    """,
    "nothing has failed": """
        0:0:0 0
        1:0:0 143 signal=15 request
        => nobody 0
    """,
}


def read(line: str) -> Event:
    who, code, *words = line.split()
    given = dict(word.split("=") for word in words if "=" in word)
    if "mpiexec" in words:
        return JobEnded(who, 137, "mpiexec was killed", is_fault=True)
    if "lost" in words:
        return PlaceLost(who, "it has gone")
    lost = tuple(RankName.parse(one) for one in given.get("lost", "").split(",") if one)
    number = int(given.get("signal", 0))
    observed = Observation(
        Witness.RANK, int(code), signal=number, lost=lost, is_loss="loss" in words
    )
    after = BY_REQUEST if "request" in words else given.get("after", "")
    return RankDeath(RankName.parse(who), observed, after)


def known(events: tuple[Event, ...]) -> Failures:
    found = Failures()
    for event in events:
        match event:
            case RankDeath():
                found.rank_died(event)
            case JobEnded(cluster, _, why) | PlaceLost(cluster, why):
                found.other(cluster, LOST, why)
    return found


@pytest.mark.parametrize("name", TABLE)
def test_the_verdict_is_the_same_in_whichever_order_the_facts_come(name: str) -> None:
    *lines, verdict = textwrap.dedent(TABLE[name]).strip().splitlines()
    who, code = verdict.removeprefix("=> ").split()
    for events in permutations(map(read, lines)):
        found = known(events)
        assert (found.first.who if found.first else "nobody", found.code) == (who, int(code))
        first = found.first
        if isinstance(first, RankDeath):
            assert found.is_explained is not (first.observed.is_loss or bool(first.after))
        elif first:
            assert found.is_explained


def test_all_but_the_first_are_consequences_or_failed_by_themselves() -> None:
    lines = ("0:0:1 139 signal=11", "0:0:0 137 after=0:0:1", "1:0:0 1 loss", "1:0:1 4")
    found = known(tuple(map(read, lines)))
    assert [one.who for one in found.consequences] == ["0:0:0", "1:0:0"]
    assert [one.who for one in found.independent] == ["1:0:1"]


def test_of_two_that_failed_by_themselves_the_one_that_was_known_first_is_named() -> None:
    events = tuple(map(read, ("1:0:0 3", "0:0:0 4")))
    assert known(events).code == 3
    assert known(events[::-1]).code == 4


def test_what_is_told_later_of_a_rank_replaces_what_was_told_before() -> None:
    found = known((read("0:0:0 143 signal=15"),))
    assert found.code == 143
    later = Observation(Witness.PARENT, 143, signal=15)
    found.rank_died(RankDeath(RankName(0, 0, 0), later, after="0:0", supersedes=True))
    found.other("0:0", LOST, "mpiexec was killed")
    assert found.code == LOST


@pytest.mark.parametrize(
    ("by", "first"), [(Witness.MPIEXEC, "front-ends"), (Witness.PARENT, "1:0:0")]
)
def test_the_code_that_an_mpiexec_gives_a_rank_is_no_cause_where_all_was_ended(
    by: Witness, first: str
) -> None:
    found = Failures()
    found.rank_died(RankDeath(RankName(1, 0, 0), Observation(by, 1, why="ended")))
    found.common_cause("front-ends", LOST, "the process of the front-ends was killed")
    assert found.first is not None
    assert found.first.who == first


def test_results_that_did_not_come_home_are_never_the_first_cause() -> None:
    found = known((read("1:0:0 1 loss"),))
    found.other("fetch:0:0", OUTPUT_FAILED, "no room")
    assert found.first is not None
    assert (found.first.who, found.code) == ("1:0:0", 1)


# Of the ranks the first one is lost and survived, the others fail as the lines tell.
AFTER_A_LOSS = {
    "nobody handles it": (("1:0:0 1 loss lost=0:0:0", "1:0:1 1 loss lost=0:0:0"), True),
    "one of its own reason, and who misses that one": (
        ("1:0:0 3", "1:0:1 1 loss lost=1:0:0"), False,
    ),
    "one of its own reason, and who misses what was lost": (
        ("1:0:0 3", "1:0:1 1 loss lost=0:0:0"), True,
    ),
    "who misses a rank that was started again, and failed then": (
        ("0:0:0 1", "1:0:1 1 loss lost=0:0:0"), False,
    ),
    "who is out of step without having lost one": (("1:0:0 1 loss", "1:0:1 1 loss"), True),
    "all for the same reason of their own": (("1:0:0 1", "1:0:1 1 lost=1:0:0"), False),
}  # fmt: skip


@pytest.mark.parametrize("name", AFTER_A_LOSS)
def test_a_loss_is_to_blame_only_for_what_misses_the_lost_rank(name: str) -> None:
    lines, is_to_blame = AFTER_A_LOSS[name]
    lost = read("0:0:0 9 signal=9")
    assert isinstance(lost, RankDeath)
    for events in permutations(map(read, lines)):
        found = known(events)
        found.rank_died(lost, goes_on=True)
        assert found.was_not_survived is is_to_blame


def test_those_that_fail_in_the_same_way_at_once_do_not_follow_from_each_other() -> None:
    found = known(tuple(map(read, ("1:0:0 3", "1:0:1 3 lost=1:0:0", "1:0:2 4 lost=1:0:0"))))
    assert [one.who for one in found.independent] == ["1:0:1"]
    assert [one.who for one in found.consequences] == ["1:0:2"]
