"""The document of a run, from which its page and its report are drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from runtime.checks import FaultFound
from runtime.deployment import DeploymentPlan
from runtime.machine.deaths import BY_REQUEST, Observation, RankDeath, Witness
from runtime.rank_name import RankName
from runtime.views.facts import (
    MACHINE,
    AwaitedPart,
    CallsCounted,
    CallSeen,
    CommunicatorSeen,
    Fact,
    Logged,
    MessagesCounted,
    OutputWritten,
    RankSeen,
    RankStarted,
    Record,
    RunEnded,
    RunSeen,
    RunStarted,
    StateChanged,
    WaitExplained,
)
from runtime.views.run_view import MOST_LINES, RunView
from tests.unit.views.told import change, planned

Plan = Callable[..., DeploymentPlan]
FOUR = """<grid><site name="n"><cluster name="a"><mpi ranks="2"/></cluster></site>
<site name="s"><cluster name="b"><mpi ranks="2"/></cluster></site></grid>"""


@pytest.fixture
def take(plan: Plan) -> Callable[..., RunView]:
    """Return what makes the view of a run of four ranks from facts: time, name, record."""

    def of(*told: tuple[float, str, Record]) -> RunView:
        view = RunView()
        view.take(planned(plan(FOUR)))
        for one in told:
            view.take(Fact(*one))
        return view

    return of


def receiving(peer: str, seconds: float, where: str = "ring.py:4") -> RankSeen:
    call = CallSeen("Recv", f"Recv from {peer}", seconds, where, "", (
        AwaitedPart("receive", peer, 7),
    ))  # fmt: skip
    return RankSeen("in Recv", calls=(call,), memory=5_000_000, cpu=1.5)


def rank(view: RunView, number: int) -> dict[str, Any]:
    document: dict[str, Any] = view.document()
    return document["ranks"][number]  # type: ignore[no-any-return]


def test_a_wait_that_is_seen_twice_is_one_and_ends_when_it_is_not_seen_any_more(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (0.5, "0:0:0", StateChanged("running")),
        (3.0, "0:0:0", receiving("1:0:0", 2.0)),
        (5.0, "0:0:0", receiving("1:0:0", 4.1)),
    )
    (wait,) = rank(view, 0)["waits"]
    assert (wait["begun"], wait["over"], wait["for"]) == (1.0, None, ["1:0:0"])
    assert rank(view, 0)["wait"] == wait
    assert rank(view, 0)["memory"] == 5_000_000
    view.take(Fact(7.0, "0:0:0", RankSeen("at rest")))
    assert [(one["begun"], one["over"]) for one in rank(view, 0)["waits"]] == [(1.0, 7.0)]
    assert rank(view, 0)["wait"] is None


def test_another_call_is_another_wait_and_the_end_of_a_rank_ends_its_wait(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (0.5, "0:0:0", StateChanged("running")),
        (3.0, "0:0:0", receiving("1:0:0", 2.0)),
        (5.0, "0:0:0", receiving("1:0:0", 0.5)),
        (6.0, "0:0:0", StateChanged("done")),
        (7.0, "0:0:0", receiving("1:0:0", 9.0)),
    )
    assert [(one["begun"], one["over"]) for one in rank(view, 0)["waits"]] == [
        (1.0, 5.0), (4.5, 6.0),
    ]  # fmt: skip


def test_a_circle_is_drawn_as_stuck_and_those_behind_it_have_no_edges(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (0.5, "0:0:0", StateChanged("running")),
        (3.0, "0:0:0", receiving("1:0:0", 2.0)),
        (3.0, MACHINE, WaitExplained("cycle", "never:", ("0:0:0", "1:0:0"), "a waits")),
        (3.0, MACHINE, WaitExplained("behind", "neither:", ("0:0:1", "1:0:1"), "two wait")),
    )
    document: dict[str, Any] = view.document()
    assert document["waits_for"] == [
        {"from": "0:0:0", "to": "1:0:0", "kind": "stuck"},
        {"from": "1:0:0", "to": "0:0:0", "kind": "stuck"},
    ]
    assert [one["is_final"] for one in document["findings"]] == [True, True]
    assert rank(view, 0)["state"] == "stuck"
    view.take(Fact(5.0, MACHINE, RunSeen("running")))
    assert view.document()["findings"] == []
    assert rank(view, 0)["state"] == "running"


def test_traffic_is_that_of_samples_with_a_rate_until_ranks_tell_at_the_end(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (2.0, "0:0", MessagesCounted("1:0", (), 2, 10, 1000)),
        (4.0, "0:0", MessagesCounted("1:0", (), 2, 30, 5000)),
    )
    assert view.document()["traffic"] == [
        {"from": "0:0", "to": "1:0", "route": "direct", "messages": 30, "bytes": 5000,
         "rate": 2000}
    ]  # fmt: skip
    for record in (
        MessagesCounted("1:0:0", ("0:0",), 1, 40, 6000),
        MessagesCounted("1:0:1", ("0:0",), 1, 2, 10),
    ):
        view.take(Fact(5.0, "0:0:0", record))
    view.take(Fact(5.0, "1:0:0", MessagesCounted("0:0:0", None, 1, 1, 8)))
    assert view.document()["headline"] == "4 ranks in 2 clusters"
    view.take(Fact(6.0, MACHINE, RunEnded(0)))
    document: dict[str, Any] = view.document()
    told = [(one["from"], one["to"], one["route"], one["messages"]) for one in document["traffic"]]
    assert told == [("0:0", "1:0", "through n/a", 42), ("1:0", "0:0", "through n/a", 1)]
    assert [(one["from"], one["to"], one["bytes"]) for one in document["pairs"]] == [
        ("0:0:0", "1:0:0", 6000), ("0:0:0", "1:0:1", 10), ("1:0:0", "0:0:0", 8),
    ]  # fmt: skip


def test_what_went_within_a_cluster_is_not_between_clusters(take: Callable[..., RunView]) -> None:
    document: dict[str, Any] = take(
        (5.0, "0:0:0", MessagesCounted("0:0:1", (), 1, 40, 0)),
        (5.0, "0:0:0", MessagesCounted("1:0:1", (), 1, 2, 10)),
        (6.0, MACHINE, RunEnded(0)),
    ).document()
    for told in (document["traffic"], document["pairs"]):
        assert [(one["messages"], one["bytes"]) for one in told] == [(2, 10)]


def test_at_the_end_only_what_could_never_go_on_stays_of_waits_and_the_lost_are_named(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (0.5, "0:0:0", StateChanged("running")),
        (3.0, MACHINE, WaitExplained("slow", "for long:", ("0:0:0",), "waits")),
        (4.0, "0:0:0", CallsCounted("Dup", 1, 1.0)),
        (5.0, "0:0:1", StateChanged("failed")),
        (5.0, "0:0:0", StateChanged("done")),
        (6.0, "0:0", StateChanged("ended")),
    )
    document: dict[str, Any] = view.document()
    assert [one["text"] for one in document["findings"]] == ["waits"]
    assert document["core_hours"] == 0
    assert view.document(now=5.0)["time"] == 6.0
    view.take(Fact(6.5, MACHINE, RunEnded(0)))
    view.take(Fact(9.0, MACHINE, Logged("the command ends later")))
    document = dict[str, Any](view.document(now=9.5))
    assert (document["time"], document["headline"].split("; ")[-1]) == (6.5, "ended after 6.5 s")
    assert document["findings"] == []
    assert document["calls"]["untold"] == 3
    assert document["sites"][0]["name"] == "n"
    assert document["sites"][0]["clusters"][0]["words"] == "ended, 1 failed"


def test_deaths_and_restarts_are_events_and_ranks_that_were_told_to_end_are_not(
    take: Callable[..., RunView],
) -> None:
    killed = RankDeath(RankName(0, 0, 1), Observation(Witness.PARENT, 137, signal=9))
    asked = RankDeath(
        RankName(1, 0, 0), Observation(Witness.PARENT, 143, signal=15), after=BY_REQUEST
    )
    view = take(
        (1.0, "0:0:1", RankStarted("node1", 11, "MPICH")),
        (2.0, "0:0:1", killed),
        (3.0, "0:0:1", RankStarted("node2", 12, "MPICH")),
        (4.0, "1:0:0", asked),
    )
    document: dict[str, Any] = view.document()
    assert [(one["time"], one["who"], one["text"]) for one in document["events"]] == [
        (2.0, "rank 1 (n/a 1)", "was killed by SIGKILL"),
        (3.0, "rank 1 (n/a 1)", "runs again, as process 12"),
    ]
    assert (rank(view, 1)["host"], rank(view, 1)["starts"]) == ("node2", 2)


def test_the_rank_that_lets_others_wait_is_named(take: Callable[..., RunView]) -> None:
    told: list[tuple[float, str, Record]] = [(1.0, MACHINE, RunStarted())]
    ranks = ("0:0:0", "0:0:1", "1:0:0", "1:0:1")
    told += [(1.0, one, StateChanged("running")) for one in ranks]
    told += [
        (11.0, one, CallsCounted("Allreduce", 5, 0.5 if one == "1:0:1" else 8.0)) for one in ranks
    ]
    told += [(11.0, one, StateChanged("done")) for one in ranks]
    calls: Any = take(*told).document()["calls"]
    assert calls["imbalance"] == [
        "The load is uneven by 59%: rank 3 (s/b 1) computed for 9.5 s, a rank on average for 3.9 s."
        " The others waited, most of all in Allreduce."
    ]
    (row,) = calls["rows"]
    assert (row["calls"], row["seconds"], row["least_rank"]) == (20, 24.5, "rank 3")


@pytest.mark.parametrize(
    ("ends", "in_mpi"),
    [((9.0, 9.0), (2.0, 2.0)), ((1.5, 1.5), (0.1, 0.45)), ((9.0, 4.0), (0.2, 0.2))],
    ids=["even", "shorter than starts differ", "ended earlier and waited for nobody"],
)
def test_a_load_is_not_called_uneven(
    take: Callable[..., RunView], ends: tuple[float, float], in_mpi: tuple[float, float]
) -> None:
    told: list[tuple[float, str, Record]] = []
    for one, end, seconds in zip(("0:0:0", "1:0:0"), ends, in_mpi, strict=True):
        told += [(1.0, one, StateChanged("running")),
                 (end, one, CallsCounted("Barrier", 1, seconds)),
                 (end, one, StateChanged("done"))]  # fmt: skip
    calls: Any = take(*told).document()["calls"]
    assert calls["imbalance"] == []


def test_the_latest_output_is_kept_and_can_be_asked_for_piece_by_piece(
    take: Callable[..., RunView],
) -> None:
    view = take((1.0, "0:0:0", OutputWritten("stdout", b"one\ntwo\n")))
    assert [one["text"] for one in view.output()] == ["one", "two"]
    last = view.lines
    view.take(Fact(2.0, "1:0:0", OutputWritten("stderr", b"three \xff\n")))
    assert [(one["rank"], one["text"]) for one in view.output(last)] == [("1:0:0", "three �")]
    view.take(Fact(3.0, "0:0:0", OutputWritten("stdout", b"x\n" * (MOST_LINES + 5))))
    assert len(view.output()) == MOST_LINES


def test_the_document_is_json_whatever_came(take: Callable[..., RunView]) -> None:
    view = take((1.0, MACHINE, Logged("a warning")), (1.0, "9:9:9", receiving("0:0:0", 1.0)),
                (1.0, "0:0:7", StateChanged("running")))  # fmt: skip
    view.take(change("0", "lost", "its host is silent", time=2.0))
    assert json.loads(json.dumps(view.document()))["log"] == [{"time": 1.0, "text": "a warning"}]


def test_what_a_check_has_found_is_in_the_document(take: Callable[..., RunView]) -> None:
    calls = ("Send, 4 x int64 (a.py:1)", "Recv, 4 x float64 (a.py:2)")
    found = FaultFound("type", ("0:0:0", "0:0:1"), calls, "a message is of another type")
    document = take((1.0, MACHINE, found)).document()
    assert document["faults"] == [
        {"kind": "type", "ranks": ("0:0:0", "0:0:1"), "calls": calls, "text": found.text}
    ]


def test_the_time_line_has_the_part_in_mpi_between_looks_and_until_the_end(
    take: Callable[..., RunView],
) -> None:
    view = take(
        (1.0, "0:0:0", StateChanged("running")),
        (3.0, "0:0:0", RankSeen("at rest", in_mpi=0.5)),
        (5.0, "0:0:0", RankSeen("at rest", in_mpi=2.5)),
    )
    assert rank(view, 0)["shares"] == [[1.0, 3.0, 0.25], [3.0, 5.0, 1.0]]
    assert rank(view, 0)["times"] == {
        "seconds": 4.0, "computing": 1.5, "in_mpi": 2.5, "waiting": None,
    }  # fmt: skip
    view.take(Fact(7.0, "0:0:0", CallsCounted("Recv", 2, 3.0)))
    view.take(Fact(7.0, "0:0:0", StateChanged("done")))
    assert rank(view, 0)["shares"][-1] == [5.0, 7.0, 0.25]


def test_communicators_have_their_state_with_how_many_are_left_of_how_many(
    take: Callable[..., RunView],
) -> None:
    seen = RankSeen("at rest", communicators=(
        CommunicatorSeen("COMM_WORLD", "recover", "shrink", 4, 3),
    ))  # fmt: skip
    view = take((1.0, "0:0:0", seen), (1.0, "1:0:0", seen), (2.0, "1:0:1", StateChanged("lost")))
    assert view.document()["communicators"] == [
        {"name": "COMM_WORLD", "state": "recover", "modes": "shrink", "size": 4, "present": 3,
         "ranks": ["rank 0", "rank 2"]}
    ]  # fmt: skip
