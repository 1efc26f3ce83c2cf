"""What a rank tells of its calls and messages: it travels, and is read by the same classes."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.machine.deaths import UnreadableReport
from runtime.machine.rank_states import (
    KnownCommunicator,
    Part,
    RankState,
    RecoveryState,
    UnreceivedMessage,
    UnsentMessage,
    Wait,
)

WAIT = Wait(
    "Waitany",
    (Part("receive", "0:1:0", 0), Part("unknown", is_tag_known=False)),
    KnownCommunicator("1f", "MPI_COMM_WORLD", (("0:0", 0, 1), ("0:1", 0, 0))),
    needs_all=False,
    turn=0,
    root="0:0:1",
    seconds=2.5,
    where="ring.py:3 in step",
    serial=4,
    size=0,
    began="Irecv",
    is_of_mpi=False,
)
STATE = RankState(
    "0:0:1",
    (WAIT, Wait("Barrier", (Part("collective"),))),
    at="ring.py:3",
    may_act=True,
    turns=(("1f", 2),),
    unreceived=(UnreceivedMessage("0:1:0", 8, 16, "world"),),
    unsent=(UnsentMessage("0:1:0", 9, 0),),
    intercepted=("held",),
    recoveries=(RecoveryState("COMM_WORLD", "recover", "shrink"),),
    stacks=(("MainThread", "one\ntwo\n"),),
    host="here",
    pid=12,
    is_alone=True,
    memory=1 << 20,
    cpu=0.25,
    clock=17.5,
    clock_of="boot",
)


def test_all_that_a_rank_tells_is_read_as_it_was() -> None:
    assert RankState.parse("0:0:1", STATE.plain) == STATE


def test_what_says_nothing_does_not_travel() -> None:
    assert RankState.parse("0:0:1", {}) == RankState("0:0:1")
    assert KnownCommunicator().plain == {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"waits": 3},
        {"waits": ["Recv"]},
        {"waits": [{"call": "Recv"}]},
        {"waits": [{"call": "Recv", "parts": [{"tag": 7}]}]},
        {"waits": [{"call": "Recv", "parts": [{"kind": "receive", "tag": "7"}]}]},
        {"waits": [{"call": "Recv", "parts": [], "comm": {"members": [["0:0", 0]]}}]},
        {"waits": [{"call": "Recv", "parts": [], "seconds": "long"}]},
        {"turns": [["1f", "2"]]},
        {"turns": ["1f"]},
        {"unreceived": [{"sender": "0:1:0", "tag": 8}]},
        {"unsent": [["0:1:0", 8, 16, ""]]},
        {"recoveries": [None]},
        {"stacks": [["MainThread", 1]]},
        {"pid": None},
    ],
    ids=repr,
)
def test_what_is_no_state_of_a_rank_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnreadableReport):
        RankState.parse("0:0:1", wrong)


def test_texts_of_a_program_are_cleaned_where_they_are_read() -> None:
    evil = KnownCommunicator("1f", "gate\n\x1b[2J")
    told = RankState("0:0:1", (Wait("Recv", (), evil, where="a\x07.py:1"),), intercepted=("\r",))
    (wait,) = (state := RankState.parse("0:0:1", told.plain)).waits
    assert (wait.comm.name, wait.where) == (r"gate\n\x1b[2J", r"a\x07.py:1")
    assert state.intercepted == (r"\r",)


def test_a_communicator_of_more_ranks_than_there_can_be_is_refused() -> None:
    for members in ([["0:0", 0, 10**12]], [["0:0", 0, 99_999], ["0:1", 0, 99_999]]):
        with pytest.raises(UnreadableReport, match="^it has more than 131072 members$"):
            KnownCommunicator.parse({"id": "1f", "members": members})
