"""What is told of ranks that are several processes."""

from runtime.machine.rank_states import Part, RankState, Wait
from runtime.waits import explain, of_ranks

RANKS = {"0:0:0": 0, "0:0:1": 1, "0:1:0": 0, "0:1:1": 1}


def state(process: str, other: str = "") -> RankState:
    waits = (Wait("Recv", (Part("receive", other, 7),)),) if other else ()
    return RankState(process, waits, at="" if other else "ring.py:7")


def test_a_circle_of_ranks_is_one_of_all_their_replicas() -> None:
    states = {one: state(one, "0:0:1" if one.endswith("0") else "0:0:0") for one in RANKS}
    ranks = of_ranks(states, {}, {}, RANKS)
    (found,) = explain(ranks.states, ranks.ended, ranks.last)
    assert found.ranks == ("0:0:0", "0:0:1")
    assert "0:0:0 waits in Recv from 0:0:1 tag 7, which waits in Recv from 0:0:0" in found.text


def test_a_rank_goes_on_if_one_of_its_replicas_does() -> None:
    states = {one: state(one, "0:0:1" if one.endswith("0") else "0:0:0") for one in RANKS}
    states["0:1:1"] = state("0:1:1")
    ranks = of_ranks(states, {}, {}, RANKS)
    assert explain(ranks.states, ranks.ended, ranks.last, limit=60.0) == []
    assert ranks.states["0:0:1"].at == "ring.py:7"


def test_nothing_is_known_of_a_rank_of_which_a_replica_does_not_answer() -> None:
    states = {one: state(one, "0:0:1" if one.endswith("0") else "0:0:0") for one in RANKS}
    del states["0:1:1"]
    ranks = of_ranks(states, {}, {}, RANKS)
    assert list(ranks.states) == ["0:0:0"]
    assert explain(ranks.states, ranks.ended, ranks.last, limit=60.0) == []


def test_a_rank_has_ended_with_its_last_replica() -> None:
    states = {one: state(one, "0:0:1") for one in ("0:0:0", "0:1:0")}
    one_is_left = of_ranks(states, {"0:0:1": "exit code 9"}, {}, RANKS)
    assert explain(one_is_left.states, one_is_left.ended, one_is_left.last, limit=60.0) == []
    ended = {"0:0:1": "exit code 9", "0:1:1": "exit code 0", "0:1:0": "exit code 9"}
    ranks = of_ranks({"0:0:0": states["0:0:0"]}, ended, {"0:1:1": state("0:1:1")}, RANKS)
    (found,) = explain(ranks.states, ranks.ended, ranks.last)
    assert found.text.endswith("0:0:1 tag 7, which has ended (exit code 0)")
    assert ranks.last["0:0:1"].rank == "0:0:1"
