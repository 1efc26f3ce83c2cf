"""Why ranks wait, worked out from what each of them tells: deadlocks by script, no processes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from runtime.machine.rank_states import (
    KnownCommunicator,
    Part,
    RankState,
    UnreceivedMessage,
    Wait,
)
from runtime.waits import explain, left_behind, steady
from tests.told_of_waits import stray

A, B, C, D = "0:0:0", "0:0:1", "0:1:0", "1:0:0"
WORLD = KnownCommunicator("w", "MPI_COMM_WORLD", (("0:0", 0, 1), ("0:1", 0, 0), ("1:0", 0, 0)))
TWO = KnownCommunicator("w", "MPI_COMM_WORLD", (("0:0", 0, 1),))


def receive(peer: str = "", tag: int | None = 7, comm: KnownCommunicator = WORLD) -> Wait:
    return Wait("Recv", (Part("receive", peer, tag),), comm)


def send(peer: str, tag: int = 7, call: str = "Send") -> Wait:
    return Wait(call, (Part("send", peer, tag),), WORLD)


def collective(
    call: str, turn: int | None = None, root: str = "", comm: KnownCommunicator = WORLD
) -> Wait:
    return Wait(call, (Part("collective"),), comm, turn=turn, root=root)


def told(waits: Mapping[str, Wait | None], ended: Mapping[str, str] | None = None) -> list[str]:
    """Return kind and text of each finding; a rank without a call computes."""
    states = {
        rank: RankState(rank, () if wait is None else (wait,), may_act=wait is None)
        for rank, wait in waits.items()
    }
    return [f"{one.kind}: {one}" for one in explain(states, ended or {}, limit=1.0)]


def test_two_that_receive_from_each_other_are_a_circle() -> None:
    assert told({A: receive(C), C: receive(A)}) == [
        f"cycle: {A} waits in Recv from {C} tag 7, which waits in Recv from {A} tag 7"
    ]


def test_the_words_of_a_circle_through_a_barrier() -> None:
    states = {
        B: RankState(B, (receive(D),), turns=(("w", 2),)),
        D: RankState(D, (collective("Barrier", turn=3),), turns=(("w", 3),)),
        A: RankState(A, may_act=True, turns=(("w", 3),)),
        C: RankState(C, may_act=True, turns=(("w", 3),)),
    }
    assert [str(one) for one in explain(states, {})] == [
        f"{B} waits in Recv from {D} tag 7, which waits in Barrier on COMM_WORLD"
        f" that {B} has not entered"
    ]


def test_two_whose_sends_cross_are_a_circle() -> None:
    assert told({A: send(C), C: send(A)}) == [
        f"cycle: {A} waits in Send to {C} tag 7, which waits in Send to {A} tag 7"
    ]


def test_a_message_that_is_under_way_is_no_circle() -> None:
    assert told({A: send(C), C: receive(A)}) == []


def test_a_receive_of_another_tag_than_is_sent_is_a_circle() -> None:
    assert told({A: send(C, 8, "Ssend"), C: receive(A, 7)}) == [
        f"cycle: {A} waits in Ssend to {C} tag 8, which waits in Recv from {A} tag 7"
    ]


def test_a_message_with_another_tag_that_is_there_is_told_of() -> None:
    states = {
        A: RankState(A, (receive(C),)),
        C: RankState(C, (receive(A),), unreceived=(UnreceivedMessage(A, 8, 16),)),
    }
    assert [str(one) for one in explain(states, {})] == [
        f"{A} waits in Recv from {C} tag 7, which waits in Recv from {A} tag 7{stray(8, 16)}"
    ]


def test_one_that_waits_for_a_rank_that_has_ended_is_told_how_that_ended() -> None:
    assert told({A: receive(C)}, {C: "exit code 0"}) == [
        f"ended: {A} waits in Recv from {C} tag 7, which has ended (exit code 0)"
    ]


def test_a_barrier_names_those_that_have_not_entered_it() -> None:
    waits = {A: collective("Barrier", comm=TWO), B: receive(A, 3)}
    assert told(waits) == [
        f"cycle: {A} waits in Barrier on COMM_WORLD that {B} is not in,"
        f" which waits in Recv from {A} tag 3"
    ]


def test_a_member_that_has_left_the_collective_is_not_missed() -> None:
    last = {B: RankState(B, turns=(("w", 4),))}
    states = {A: RankState(A, (collective("Reduce", turn=4, comm=TWO),), turns=(("w", 4),))}
    assert explain(states, {B: "exit code 0"}, last, limit=1.0) == []
    (found,) = explain(states, {B: "exit code 0"})
    assert found.kind == "slow"  # B told nothing at its end, and may have done its part
    early = {B: RankState(B, turns=(("w", 3),))}
    (found,) = explain(states, {B: "exit code 0"}, early)
    assert found.kind == "ended"


def test_different_collectives_at_the_same_time_are_told_of() -> None:
    waits = {A: collective("Bcast", comm=TWO, root=A), B: collective("Barrier", comm=TWO)}
    assert told(waits) == [
        f"mismatch: {A} is in Bcast with root {A} on COMM_WORLD"
        f" while {B} is in Barrier on COMM_WORLD"
    ]


def test_different_roots_are_told_of() -> None:
    waits = {A: collective("bcast", comm=TWO, root=B), B: collective("bcast", comm=TWO, root=A)}
    assert told(waits) == [
        f"mismatch: {A} is in bcast with root {B} on COMM_WORLD"
        f" while {B} is in bcast with root {A} on COMM_WORLD"
    ]


def test_a_receive_from_any_rank_waits_for_ever_only_if_nobody_else_can_act() -> None:
    ended = {B: "exit code 0", D: "exit code 0"}
    assert told({A: receive(), C: None}, ended) == []
    assert told({A: receive(), C: receive(A)}, ended) == [
        f"nobody: {A} waits in Recv from any rank tag 7: all others have ended or wait themselves",
        f"behind: {C} waits in Recv from {A} tag 7",
    ]
    assert told({A: receive()}, {B: "", C: "", D: ""}) == [
        f"nobody: {A} waits in Recv from any rank tag 7: all others have ended"
    ]


def test_those_behind_a_circle_are_told_of_together() -> None:
    states = {A: receive(C), C: receive(A), B: receive(A), D: receive(A)}
    assert told(states)[1:] == [f"behind: {B}, {D} wait in Recv from {A} tag 7"]


def test_one_of_several_requests_is_enough_for_waitany() -> None:
    parts = (Part("receive", B, 1), Part("receive", C, 1))
    ended = {B: "exit code 0"}
    assert told({A: Wait("Waitany", parts, WORLD, needs_all=False), C: None}, ended) == []
    (line,) = told({A: Wait("Waitall", parts, WORLD), C: None}, ended)
    assert line.startswith(f"ended: {A} waits in Waitall for a message from {B} tag 1 and from {C}")


def test_a_rank_whose_other_threads_work_is_not_given_up() -> None:
    states = {
        A: RankState(A, (receive(C),), may_act=True),
        C: RankState(C, (receive(A),)),
    }
    assert explain(states, {}, limit=1.0) == []


def test_a_rank_that_does_not_answer_may_do_anything() -> None:
    states = {A: RankState(A, (Wait("Recv", (Part("receive", C, 7),), WORLD, seconds=9.0),))}
    (found,) = explain(states, {}, limit=5.0)
    assert (found.kind, found.text) == ("slow", f"{A} waits in Recv from {C} tag 7")
    assert found.besides == (
        f"; {C} does not answer: it is in a call that lets no other thread run, or stopped"
    )


def test_a_long_wait_for_one_that_computes_says_where_that_is() -> None:
    wait = Wait("Barrier", (Part("collective"),), TWO, turn=2, seconds=31.0)
    states = {
        A: RankState(A, (wait,), turns=(("w", 2),)),
        B: RankState(B, at="sim.py:40 in step", may_act=True, turns=(("w", 1),)),
    }
    assert [str(one) for one in explain(states, {}, limit=30.0)] == [
        f"{A} waits in Barrier on COMM_WORLD; {B} is at sim.py:40 in step"
    ]
    assert explain(states, {}, limit=32.0) == []


def test_different_sizes_of_data_in_one_collective_are_told_of() -> None:
    sizes = {A: 32, B: 72, C: 72, D: 72}
    states = {
        rank: RankState(
            rank,
            (Wait("Allgather", (Part("collective"),), WORLD, turn=1, size=size, seconds=9.0),),
            turns=(("w", 1),),
        )
        for rank, size in sizes.items()
    }
    (found,) = explain(states, {}, limit=1.0)
    assert (found.kind, str(found)) == (
        "sizes",
        f"Allgather on COMM_WORLD: {A} 32 bytes, {B}, {C}, {D} 72 bytes",
    )


def test_a_call_that_is_over_a_moment_later_was_no_wait() -> None:
    before = [RankState(A, (Wait("Recv", (Part("receive", C),), serial=1),))]
    after = [RankState(A, (Wait("Recv", (Part("receive", C),), serial=2),))]
    assert steady(before, after)[A].waits == ()
    assert steady(before, after)[A].may_act
    assert steady(before, before)[A].waits == before[0].waits


@pytest.mark.parametrize(("gone", "expected"), [(B, True), (C, False)])
def test_only_who_waits_for_one_of_its_own_cluster_is_left_behind(
    gone: str, expected: bool
) -> None:
    """Where ranks of different clusters wait for each other, their connection tells the end."""
    states = {A: RankState(A, (receive(gone),)), D: RankState(D, (receive(A),))}
    found = explain(states, {gone: "exit code 0"})
    assert bool(left_behind(found)) == expected
    for one in left_behind(found):
        assert one.text == f"{A} waits in Recv from {B} tag 7, which has ended (exit code 0)"


def test_what_interceptors_did_is_told_where_ranks_wait_and_not_elsewhere() -> None:
    dropped = "interceptor count.Drop (grid.xml:5) has dropped 1 message for 1:0:0"
    waiting = {A: RankState(A, intercepted=(dropped,)), C: RankState(C, (receive(A),))}
    assert [str(one) for one in explain(waiting, {})][-1] == f"{A}: {dropped}"
    assert explain({A: waiting[A]}, {}) == []


THREE = KnownCommunicator("", "MPI_COMM_WORLD", (("0:0", 0, 2),))


def test_who_has_left_a_collective_that_nobody_counts_may_have_done_its_part() -> None:
    states = {
        "0:0:0": RankState("0:0:0", (collective("gather", comm=THREE),)),
        "0:0:2": RankState("0:0:2", may_act=True),
    }
    assert left_behind(explain(states, {"0:0:1": "exit code 0"})) == []
    (found,) = explain(states, {"0:0:1": "exit code 0"}, limit=0.0)
    assert found.kind == "slow"


def test_who_is_in_the_next_collective_may_have_done_its_part_of_this_one() -> None:
    states = {
        "0:0:0": RankState("0:0:0", (collective("gather", comm=THREE),)),
        "0:0:1": RankState("0:0:1", (collective("Barrier", comm=THREE),)),
        "0:0:2": RankState("0:0:2", may_act=True),
    }
    assert [one for one in explain(states, {}, limit=1.0) if one.kind != "slow"] == []


def test_nobody_leaves_a_barrier_before_all_have_come() -> None:
    states = {
        "0:0:0": RankState("0:0:0", (collective("Barrier", comm=THREE),)),
        "0:0:2": RankState("0:0:2", may_act=True),
    }
    (found,) = left_behind(explain(states, {"0:0:1": "exit code 0"}))
    assert found.gone == ("0:0:1",)


def test_nothing_follows_from_a_collective_whose_members_nobody_knows() -> None:
    unknown = collective("Barrier", comm=KnownCommunicator())
    states = {A: RankState(A, (unknown,)), B: RankState(B, may_act=True)}
    assert left_behind(explain(states, {C: "exit code 0"})) == []


def test_long_waits_in_different_collectives_that_native_mpi_does_not_count_are_told_apart() -> (
    None
):
    three = KnownCommunicator("w", "MPI_COMM_WORLD", (("0:0", 0, 2),))
    waits = {
        "0:0:0": Wait("bcast", (Part("collective"),), three, root="0:0:1", seconds=5.0),
        "0:0:1": Wait("allgather", (Part("collective"),), three, seconds=5.0),
        "0:0:2": Wait("allgather", (Part("collective"),), three, seconds=5.0),
    }
    states = {rank: RankState(rank, (wait,)) for rank, wait in waits.items()}
    (found,) = explain(states, {}, limit=2.0)
    assert found.kind == "apart"
    assert found.text == (
        "0:0:0 is in bcast with root 0:0:1 on COMM_WORLD while 0:0:1-2 are in allgather"
        " on COMM_WORLD"
    )
    assert explain(states, {}, limit=6.0) == []


def test_a_collective_of_objects_is_another_one_than_that_of_buffers() -> None:
    assert told({A: collective("Allreduce", comm=TWO), B: collective("allreduce", comm=TWO)}) == [
        f"mismatch: {A} is in Allreduce on COMM_WORLD while {B} is in allreduce on COMM_WORLD"
    ]
    assert told({A: collective("Barrier", comm=TWO), B: collective("barrier", comm=TWO)}) == []
