"""The states of a machine, as a tree of few lines and as plain lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.views.facts import (
    MACHINE,
    CallSeen,
    CommandEnded,
    MessagesCounted,
    RankSeen,
    RunEnded,
    RunPlanned,
    RunSeen,
    RunStarted,
    StateChanged,
    WaitExplained,
)
from runtime.views.picture import picture, plain
from runtime.views.plain_lines import MinuteLines, PlainLines
from runtime.views.progress_tree import ProgressTree
from tests.unit.views.told import change, fact, planned

Plan = Callable[..., DeploymentPlan]
FIRST = "0:0"


def tree_of(plan: DeploymentPlan) -> ProgressTree:
    tree = ProgressTree()
    tree.take(planned(plan))
    return tree


def drawn(tree: ProgressTree, *, width: int = 80, height: int = 20) -> list[str]:
    return [plain(line).rstrip() for line in picture(tree, 3.4, width=width, height=height)]


def reach(tree: ProgressTree, path: str, ranks: int) -> None:
    for step in ("front-end", "ranks"):
        tree.take(change(path, "starting", step))
        tree.take(change(path, "up", step))
    for rank in range(ranks):
        tree.take(change(f"{path}:{rank}", "ready"))


def test_before_anything_happens_all_is_planned(plan: Plan) -> None:
    assert drawn(tree_of(plan())) == [
        "test  planned  3 s  8 planned",
        "├─ 0 site0",
        "│  ├─ 0:0 cluster0  planned       ··",
        "│  └─ 0:1 cluster1  planned       ··",
        "└─ 1 site1",
        "   ├─ 1:0 cluster0  planned       ··",
        "   └─ 1:1 cluster1  planned       ··",
    ]


def test_ranks_that_waited_at_the_last_look_are_shown_as_such_while_they_run(plan: Plan) -> None:
    tree = tree_of(plan())
    call = CallSeen("recv", "recv", 2.0, "a.py:3", "", ())
    tree.take(fact("0:0:0", RankSeen("in recv", calls=(call,))))  # it does not run yet
    for rank in ("0:0:0", "0:0:1"):
        tree.take(change(rank, "running"))
    tree.take(fact("0:0:0", RankSeen("in recv", calls=(call,))))
    assert drawn(tree)[0] == "test  running  3 s  1 waiting, 1 running, 6 planned"
    assert drawn(tree)[2] == "│  ├─ 0:0 cluster0  running       ◌●"
    tree.take(fact("0:0:0", RankSeen("at rest")))
    assert drawn(tree)[2] == "│  ├─ 0:0 cluster0  running       ●●"


def test_a_cluster_whose_ranks_all_wait_is_shown_as_waiting(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="2"/>'))
    call = CallSeen("recv", "recv", 2.0, "a.py:3", "", ())
    for rank in ("0:0:0", "0:0:1"):
        tree.take(change(rank, "running"))
        tree.take(fact(rank, RankSeen("in recv", calls=(call,))))
    assert drawn(tree)[2] == "   └─ 0:0 cluster0  waiting       ◌◌"
    assert tree.phase() == "running"


def test_an_assembly_without_ranks_runs_once_it_has_started() -> None:
    tree = ProgressTree()
    tree.take(change("site0/cluster0/node0", "starting", "node"))
    assert tree.phase() == "starting"
    tree.take(change("site0/cluster0/node0", "up", "node"))
    tree.take(fact(MACHINE, RunStarted()))
    assert tree.phase() == "running"


def test_a_deadlock_is_shown_from_one_look_to_the_next(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="3"/>'))
    call = CallSeen("recv", "recv", 2.0, "a.py:3", "", ())
    for rank in ("0:0:0", "0:0:1", "0:0:2"):
        tree.take(change(rank, "running"))
    look = fact(MACHINE, RunSeen("running"))
    tree.take(look)
    for rank in ("0:0:0", "0:0:1"):
        tree.take(fact(rank, RankSeen("in recv", calls=(call,))))
    tree.take(fact(MACHINE, WaitExplained("cycle", "", ("0:0:0", "0:0:1"), "for ever")))
    assert drawn(tree)[2] == "   └─ 0:0 cluster0  stuck         ✗✗●"
    assert tree.phase() == "2 of 3 ranks can never go on"
    tree.take(look)  # what has not changed is not told again
    assert drawn(tree)[2] == "   └─ 0:0 cluster0  running       ◌◌●"
    tree.take(fact(MACHINE, WaitExplained("slow", "", ("0:0:0",), "for long")))
    assert drawn(tree)[2] == "   └─ 0:0 cluster0  running       ◌◌●"


def test_rates_and_walltimes_are_shown_while_ranks_run_and_where_there_is_room(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="2" ranks="1"/>'))
    tree.take(fact(FIRST, StateChanged("queued", "job 7 is PENDING (Priority)")))
    assert drawn(tree)[2].startswith("   ├─ 0:0 cluster0  job 7 is PENDING (Priority)  ·")
    tree.take(fact(FIRST, StateChanged("starting", "front-end", walltime=3600.0), 1.0))
    for name in ("0:0:0", "0:1:0"):
        tree.take(change(name, "running"))
    tree.take(fact(FIRST, MessagesCounted("0:1", (), 1, 3, 1_000_000), 1.0))
    tree.take(fact(FIRST, MessagesCounted("0:1", (), 1, 9, 4_000_000), 3.0))
    tree.take(fact("0:1", MessagesCounted("0:0", (), 1, 1, 800), 2.0))
    tree.take(fact("0:1", MessagesCounted("0:1", (), 1, 1, 800), 2.0))  # it stays there
    assert drawn(tree, width=100) == [
        "test  running  3 s  2 running  1.5 MB/s  0:59:57 of walltime left",
        "└─ 0 site0",
        "   ├─ 0:0 cluster0  running       ●  1.5 MB/s  0:59:57 of walltime left",
        "   └─ 0:1 cluster1  running       ●  400 B/s",
    ]
    assert drawn(tree, width=62)[2] == "   ├─ 0:0 cluster0  running       ●  1.5 MB/s"
    tree.take(change("0:0:0", "done"))
    assert drawn(tree)[0] == "test  running  3 s  1 done, 1 running  400 B/s"


def test_before_the_first_fact_there_is_no_machine() -> None:
    assert drawn(ProgressTree()) == ["  planned  3 s"]


def test_each_cluster_and_each_rank_has_its_own_state(plan: Plan) -> None:
    tree = tree_of(plan())
    tree.take(change(FIRST, "starting", "front-end"))
    tree.take(change("0:1", "up", "front-end"))
    tree.take(change("1:0", "starting", "ranks"))
    tree.take(change("1:0:1", "ready"))
    reach(tree, "1:1", 2)
    tree.take(change("1:1", "up", "handshake"))
    assert drawn(tree) == [
        "test  starting  3 s  4 planned, 1 starting, 3 ready",
        "├─ 0 site0",
        "│  ├─ 0:0 cluster0  reaching it   ··",
        "│  └─ 0:1 cluster1  reached       ··",
        "└─ 1 site1",
        "   ├─ 1:0 cluster0  starting MPI  ○◐",
        "   └─ 1:1 cluster1  ready         ◐◐",
    ]


def test_a_cluster_runs_until_its_last_rank_is_over(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="2"/>'))
    reach(tree, FIRST, 2)
    for rank in (0, 1):
        tree.take(change(f"{FIRST}:{rank}", "running"))
    assert (tree.phase(), drawn(tree)[2]) == ("running", "   └─ 0:0 cluster0  running       ●●")
    tree.take(change(f"{FIRST}:0", "done"))
    assert drawn(tree)[2].endswith("running       ✓●")
    tree.take(change(f"{FIRST}:1", "done"))
    assert drawn(tree)[2].endswith("done          ✓✓")
    assert tree.phase() == "ending"
    tree.take(change(FIRST, "done", "exit code 0"))
    tree.take(change(FIRST, "ended"))
    assert drawn(tree)[2].endswith("done          ✓✓")
    tree.take(fact(MACHINE, RunEnded(0)))
    assert drawn(tree)[0] == "test  ended, exit code 0  3 s  2 done"


def test_a_run_that_is_ended_does_not_look_as_if_it_started(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="2"/>'))
    reach(tree, FIRST, 2)
    for state in ("running", "ended"):
        for rank in (0, 1):
            tree.take(change(f"{FIRST}:{rank}", state))
    assert tree.phase() == "ending"
    tree.take(fact(MACHINE, CommandEnded(130)))
    assert tree.phase() == "ended, exit code 130"


def test_a_run_that_survives_a_loss_is_not_ending(plan: Plan) -> None:
    tree = ProgressTree()
    tree.take(fact(MACHINE, replace(RunPlanned.of(plan()), goes_on=True)))
    for rank in (0, 1):
        tree.take(change(f"{FIRST}:{rank}", "running"))
    tree.take(change(f"{FIRST}:1", "lost"))
    assert tree.phase() == "running"
    tree.take(change(f"{FIRST}:0", "done"))
    assert tree.phase() == "ending after a failure"


def test_a_failed_rank_marks_its_cluster_and_the_whole(plan: Plan) -> None:
    tree = tree_of(plan())
    tree.take(change(f"{FIRST}:0", "done"))
    tree.take(change(f"{FIRST}:1", "failed", "exit code 3"))
    tree.take(change(FIRST, "failed", "exit code 3"))
    assert tree.phase() == "ending after a failure"
    head, _, cluster, other, *_ = drawn(tree)
    assert head == "test  ending after a failure  3 s  1 done, 1 failed, 6 planned"
    assert cluster == "│  ├─ 0:0 cluster0  failed, exit code 3  ✓✗"
    assert other == "│  └─ 0:1 cluster1  planned              ··"


def test_a_run_that_goes_on_without_a_cluster_does_not_look_as_if_it_ended(plan: Plan) -> None:
    tree = tree_of(plan())
    tree.goes_on = True
    tree.take(change("0:0:0", "running"))
    tree.take(change("0:1", "lost", "job 5 is CANCELLED"))
    assert tree.phase() == "running"
    tree.take(change("0:0:0", "failed", "exit code 3"))
    assert tree.phase() == "ending after a failure"


def test_a_rank_that_can_never_go_on_does_not_look_as_if_it_ran(plan: Plan) -> None:
    tree = tree_of(plan())
    ranks = [f"0:0:{number}" for number in range(2)]
    for rank in ranks:
        tree.take(change(rank, "running"))
    tree.take(change(ranks[0], "stuck"))
    assert [(one.words, one.summed_up) for one in tree.clusters[:1]] == [("stuck", "stuck")]
    assert tree.phase() == f"1 of {tree.rank_states().total()} ranks can never go on"
    tree.take(change(ranks[0], "failed"))
    assert tree.phase() == "ending after a failure"


def test_replicas_of_a_rank_count_once(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="2" ranks="2"/>', replicas=2))
    for name in ("0:0:0", "0:0:1", "0:1:0", "0:1:1"):
        tree.take(change(name, "running"))
    for name in ("0:0:0", "0:1:0"):
        tree.take(change(name, "stuck"))
    assert tree.phase() == "1 of 2 ranks can never go on"


def test_a_lost_cluster_is_worse_than_a_failed_rank(plan: Plan) -> None:
    tree = tree_of(plan())
    tree.take(change(f"{FIRST}:0", "failed"))
    tree.take(change(FIRST, "lost"))
    assert tree.clusters[0].summed_up == "lost"


def test_more_ranks_than_fit_are_counted(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="60"/>'))
    tree.take(change(f"{FIRST}:7", "ready"))
    assert drawn(tree, width=60)[2] == "   └─ 0:0 cluster0  planned       59 planned, 1 ready"
    assert drawn(tree, width=100)[2].endswith("·" * 7 + "◐" + "·" * 52)


def test_a_large_grid_is_folded_and_its_failures_stand_out(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="2" clusters="30" ranks="1"/>'))
    tree.take(change(FIRST, "up", "front-end"))
    tree.take(change("1:4", "failed", "front-end"))
    assert drawn(tree) == [
        "test  ending after a failure  3 s  60 planned",
        "── 0 site0  30 clusters: 1 up, 29 planned",
        "── 1 site1  30 clusters: 29 planned, 1 failed",
        "   └─ 1:4 failed, front-end",
    ]


def test_what_does_not_fit_even_folded_is_counted(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="30" clusters="1" ranks="1"/>'))
    lines = drawn(tree, height=10)
    assert len(lines) == 10
    assert lines[8:] == ["── 7 site7  1 cluster: 1 planned", "   and 22 more"]


def test_helpers_and_nodes_are_shown_below_the_sites(plan: Plan) -> None:
    tree = tree_of(plan('<emulate sites="1" clusters="1" ranks="1"/>'))
    tree.take(change("prepare", "starting", "process"))
    assert drawn(tree)[1:] == [
        "├─ 0 site0",
        "│  └─ 0:0 cluster0  planned       ·",
        "└─ prepare  starting",
    ]


SIZES = st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 5))
ROOM = st.tuples(st.integers(1, 120), st.integers(1, 30))
STATES = st.sampled_from(["starting", "up", "ready", "running", "done", "failed", "ended", "odd"])
CHANGES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(-1, 5), STATES), max_size=20
)


@settings(max_examples=60)
@given(sizes=SIZES, room=ROOM, changes=CHANGES)
def test_no_picture_is_higher_than_it_may_be(
    sizes: tuple[int, int, int], room: tuple[int, int], changes: list[tuple[int, int, int, str]]
) -> None:
    sites, clusters, ranks = sizes
    text = f'<emulate sites="{sites}" clusters="{clusters}" ranks="{ranks}"/>'
    found = read_descriptor(
        f'<deployment><application script="a"/>{text}</deployment>'.encode(),
        surroundings=DescriptorContext("/home/me"),
        diagnostics=Diagnostics(),
    )
    assert found is not None
    tree = tree_of(make_plan(found))
    for site, cluster, rank, state in changes:
        below = f":{rank}" if rank >= 0 else ""
        tree.take(change(f"{site}:{cluster}{below}", state))
    lines = picture(tree, 1.0, width=room[0], height=room[1])
    assert 1 <= len(lines) <= room[1]
    assert tree.rank_states().total() == sites * clusters * ranks


def told(plan: DeploymentPlan, *changes: tuple[str, ...]) -> list[str]:
    lines = PlainLines()
    lines.line_of(planned(plan))
    return [text for text in (lines.line_of(change(*one)) for one in changes) if text]


def test_plain_lines_tell_the_life_of_a_cluster(plan: Plan) -> None:
    path = FIRST
    assert told(
        plan('<emulate sites="1" clusters="1" ranks="2"/>'),
        (path, "starting", "front-end"),
        (path, "up", "front-end"),
        (path, "starting", "ranks"),
        (f"{path}:0", "ready"),
        (f"{path}:1", "ready"),
        (path, "starting", "compiler"),
        (path, "up", "ranks"),
        (path, "starting", "handshake"),
        (path, "up", "handshake"),
        ("0", "starting", "handshake"),
        ("0", "up", "handshake"),
        ("", "up", "handshake"),
        (f"{path}:0", "running"),
        (f"{path}:1", "running"),
        (f"{path}:0", "done", "exit code 0"),
        (f"{path}:1", "done", "exit code 0"),
        (path, "done", "exit code 0"),
        (path, "ended"),
    ) == [
        "site0/cluster0: reached",
        "site0/cluster0: compiling the library for C programs, once for its MPI",
        "site0/cluster0: 2 ranks up",
        "running: 2 ranks in 1 cluster",
        "site0/cluster0: done, exit code 0",
    ]


@pytest.mark.parametrize(
    ("failure", "line"),
    [
        (
            (f"{FIRST}:1", "failed", "exit code 3"),
            "rank 1 (site0/cluster0 1): failed, exit code 3",
        ),
        ((f"{FIRST}:1", "lost"), "rank 1 (site0/cluster0 1): lost"),
        ((FIRST, "failed", "front-end"), "site0/cluster0: failed, front-end"),
        ((FIRST, "lost"), "site0/cluster0: lost"),
        (("1", "failed", "handshake"), "site 1 site1: failed, handshake"),
        (("", "failed", "start"), "grid: failed, start"),
        (("prepare", "failed", "process"), "prepare: failed, process"),
    ],
)
def test_every_failure_is_told(plan: Plan, failure: tuple[str, ...], line: str) -> None:
    assert told(plan(), failure) == [line]


def test_nothing_is_told_in_the_first_minute_and_then_a_line_a_minute(plan: Plan) -> None:
    now = [100.0]
    lines = MinuteLines(lambda: now[0])
    lines.line_of(planned(plan()))
    path = f"{FIRST}:0"
    assert lines.line_of(change(path, "running")) == lines.line_of(change(path, "lost")) == ""
    assert lines.due() == ""
    assert lines.wait() == 60.0
    now[0] = 161.0
    assert lines.due() == "test  ending after a failure  61 s  1 lost, 7 planned"
    assert (lines.due(), lines.wait()) == ("", 60.0)
    now[0] = 221.0
    assert lines.due()


def test_after_five_seconds_it_is_told_once_which_clusters_elsewhere_are_awaited(
    plan: Plan,
) -> None:
    now = [100.0]
    lines = MinuteLines(lambda: now[0], {FIRST, "1:0", "1:1"})
    lines.line_of(planned(plan()))
    lines.line_of(change(FIRST, "starting", "front-end"))
    lines.line_of(change("1:1", "up", "front-end"))
    assert (lines.due(), lines.wait()) == ("", 5.0)
    now[0] = 105.2
    awaited = "site0/cluster0 (reaching it), site1/cluster0 (planned)"
    assert lines.due() == f"after 5 s still waiting for {awaited}"
    assert (lines.due(), round(lines.wait(), 1)) == ("", 54.8)


def test_of_clusters_that_are_there_after_five_seconds_nothing_is_told(plan: Plan) -> None:
    now = [0.0]
    lines = MinuteLines(lambda: now[0], {FIRST})
    lines.line_of(planned(plan()))
    lines.line_of(change(FIRST, "up", "front-end"))
    now[0] = 6.0
    assert (lines.due(), lines.wait()) == ("", 54.0)


def test_a_loss_that_is_survived_is_told_at_once(plan: Plan) -> None:
    lines = MinuteLines(lambda: 0.0)
    goes_on = replace(RunPlanned.of(plan()), goes_on=True)
    lines.line_of(fact(MACHINE, goes_on))
    assert lines.line_of(change(f"{FIRST}:1", "lost")) == "rank 1 (site0/cluster0 1): lost"
    lines.line_of(change(f"{FIRST}:0", "running"))
    killed = lines.line_of(change(f"{FIRST}:1", "failed", "SIGKILL"))
    assert killed == "rank 1 (site0/cluster0 1): failed, SIGKILL; the run goes on"
    assert lines.line_of(change(f"{FIRST}:1", "failed", "SIGKILL")) == ""
    assert lines.line_of(change(FIRST, "failed", "exit code 137")) == ""
    assert lines.line_of(change(f"{FIRST}:1", "done", "exit code 0")) == ""


def test_the_run_goes_on_as_long_as_each_rank_has_a_replica(plan: Plan) -> None:
    lines = MinuteLines(lambda: 0.0)
    whole = RunPlanned.of(plan(replicas=2))
    lines.line_of(fact(MACHINE, whole))
    for number in (0, 1):
        lines.line_of(change(f"{FIRST}:{number}", "running"))
        lines.line_of(change(f"1:0:{number}", "running"))
    first = lines.line_of(change(f"{FIRST}:0", "failed", "exit code 1, ValueError: no"))
    assert first.endswith(": failed, exit code 1, ValueError: no; the run goes on")
    assert "goes on" not in lines.line_of(change("1:0", "lost"))


@pytest.mark.parametrize("lines", [MinuteLines(lambda: 0.0), PlainLines()])
def test_a_cluster_that_joins_a_run_is_told_at_once(
    plan: Plan, lines: MinuteLines | PlainLines
) -> None:
    lines.line_of(fact(MACHINE, replace(RunPlanned.of(plan()), goes_on=True)))
    assert lines.line_of(change(FIRST, "starting", "ranks")) == ""
    lines.line_of(change(f"{FIRST}:0", "running"))
    lines.line_of(change("1:0", "queued", "job 5 is PENDING"))
    assert lines.line_of(change("1:0", "starting", "ranks")) == "site1/cluster0: joins, ranks 4-5"


def test_many_clusters_are_not_told_one_by_one(plan: Plan) -> None:
    large = plan('<emulate sites="1" clusters="17" ranks="1"/>')
    changes = [(FIRST, "up", "ranks"), ("0", "up", "handshake"), (FIRST, "lost")]
    assert told(large, *changes) == ["site 0 site0: ready", "site0/cluster0: lost"]
    small = plan('<emulate sites="1" clusters="16" ranks="1"/>')
    assert told(small, (FIRST, "up", "ranks")) == ["site0/cluster0: 1 rank up"]
