"""What other terminals show of a run, from the facts with which it answers."""

from __future__ import annotations

from collections.abc import Callable

from runtime.deployment import DeploymentPlan
from runtime.views.facts import (
    MACHINE,
    AwaitedPart,
    CallSeen,
    CommunicatorSeen,
    Fact,
    RankSeen,
    RunSeen,
    StackSeen,
    StateChanged,
    WaitExplained,
)
from runtime.views.inspection import RunInspection
from tests.unit.views.told import fact, planned

Plan = Callable[..., DeploymentPlan]
CALL = CallSeen(
    "recv", "recv from rank 1", 31.4, "a.py:3", "COMM_WORLD", (AwaitedPart("receive", "0:0:1", 7),)
)
WAITING = RankSeen(
    "in recv from rank 1", None, 1, (), "vm", 41, (CALL,), (StackSeen("MainThread", "a\nb\n"),)
)
AGAIN = RankSeen("at rest", "ok", 2, (CommunicatorSeen("", "ok", "blank"),), "vm", 42)
CYCLE = WaitExplained("cycle", "these ranks wait:", ("0:0:0",), "rank 0 waits for rank 1")


def asked(plan: DeploymentPlan, *facts: Fact) -> RunInspection:
    run = RunInspection(6729)
    for one in (planned(plan), fact(MACHINE, RunSeen("running")), *facts):
        run.take(one)
    return run


def two(plan: Plan, *more: Fact) -> RunInspection:
    small = plan('<emulate sites="1" clusters="1" ranks="2"/>')
    return asked(small, fact("0:0:0", WAITING), fact("0:0:1", AGAIN), *more)


def test_what_ranks_do_is_a_table_in_which_empty_columns_are_left_out(plan: Plan) -> None:
    assert list(two(plan).ps()) == [
        "test (process 6729): running, 2 ranks",
        "  rank 0  vm  41                               in recv from rank 1",
        "  rank 1  vm  42  ok (process 2 in its place)  at rest",
        "  a communicator (blank): ok at rank 1",
    ]
    silent = asked(
        plan('<emulate sites="1" clusters="1" ranks="1"/>'), fact("0:0:0", RankSeen("x"))
    )
    assert list(silent.ps()) == ["test (process 6729): running, 1 rank", "  rank 0  x"]


def test_ps_shows_where_the_jobs_of_batch_systems_are(plan: Plan) -> None:
    small = plan('<emulate sites="1" clusters="2" ranks="1"/>')
    queued = StateChanged("queued", "job 17 is PENDING (Priority), start expected 14:20")
    timed = StateChanged("running", "1:59:58 of walltime left")
    run = asked(small, fact("0:0", queued), fact("0:1", timed), fact("9:9", timed))
    first, second = (one.path for one in small.deployment.clusters())
    assert list(run.ps()) == [
        "test (process 6729): running, 0 ranks",
        f"  {first}: job 17 is PENDING (Priority), start expected 14:20",
        f"  {second}: 1:59:58 of walltime left",
    ]
    assert run.as_dict()["jobs"] == {first: queued.detail, second: timed.detail}


def test_waits_are_told_with_what_they_lead_to(plan: Plan) -> None:
    assert list(two(plan, fact(MACHINE, CYCLE), fact(MACHINE, CYCLE)).waits()) == [
        "test (process 6729): running, 2 ranks",
        "  rank 0 has waited for 31 s in recv from rank 1",
        "these ranks wait:",
        "  rank 0 waits for rank 1",
        "  rank 0 waits for rank 1",
    ]
    small = plan('<emulate sites="1" clusters="1" ranks="1"/>')
    at_rest = asked(small, fact("0:0:0", RankSeen("at rest")))
    assert list(at_rest.waits())[1:] == ["  no rank waits"]
    assert list(asked(small).waits())[1:] == ["  no rank has answered"]


def test_waits_of_a_run_in_a_queue_has_what_the_queue_says(plan: Plan) -> None:
    run = RunInspection(6729)
    words = "job 17 is PENDING (Priority)"
    for one in (
        planned(plan('<emulate sites="1" clusters="1" ranks="1"/>')),
        fact(MACHINE, RunSeen("starting")),
        fact("0:0", StateChanged("queued", words)),
    ):
        run.take(one)
    assert list(run.waits()) == [
        "test (process 6729): starting, 0 ranks",
        f"  site0/cluster0: {words}",
        "  no rank runs yet",
    ]


def test_ranks_with_the_same_stack_have_it_once(plan: Plan) -> None:
    assert list(two(plan).stacks()) == [
        "test (process 6729): running, 2 ranks",
        "  rank 1: at rest",
        "  MainThread of rank 0:",
        "  a",
        "  b",
    ]


def test_the_plain_values_have_all_of_it(plan: Plan) -> None:
    plain = two(plan, fact(MACHINE, CYCLE)).as_dict()
    assert [plain[name] for name in ("deployment", "process", "state")] == ["test", 6729, "running"]
    ranks, findings = plain["ranks"], plain["findings"]
    assert isinstance(ranks, list)
    assert ranks[0] == {
        "rank": "0:0:0", "number": 0, "replica": 0, "where": "", "name": "rank 0",
        "doing": "in recv from rank 1", "process_state": None, "incarnation": 1,
        "communicators": (), "host": "vm", "process": 41,
        "calls": (
            {
                "call": "recv", "text": "recv from rank 1", "seconds": 31.4, "where": "a.py:3",
                "communicator": "COMM_WORLD",
                "waits_for": ({"kind": "receive", "rank": "0:0:1", "tag": 7},),
            },
        ),
        "stacks": ({"thread": "MainThread", "stack": "a\nb\n"},), "memory": 0, "cpu": 0.0,
            "in_mpi": 0.0,
    }  # fmt: skip
    assert findings == [
        {
            "kind": "cycle", "heading": "these ranks wait:", "ranks": ("0:0:0",),
            "text": "rank 0 waits for rank 1",
        }
    ]  # fmt: skip
