"""What a run came to, from its facts: as text and tables, and as plain values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from gcm.cli.output import Paint
from runtime.deployment import DeploymentPlan
from runtime.lifecycle.outcome import (
    ComponentReport,
    Connections,
    ForwardedTraffic,
    HeldNodes,
    RouteTraffic,
    TunnelTraffic,
    Ways,
)
from runtime.views.account import RunAccount
from runtime.views.call_times import RankTimes, load_balance
from runtime.views.facts import (
    MACHINE,
    CallsCounted,
    CommandEnded,
    ConnectionsCounted,
    Fact,
    Logged,
    MessagesCounted,
    RankResult,
    RankSeen,
    RankStarted,
    RankUsed,
    Record,
    RunEnded,
    RunPlanned,
    RunStarted,
    StateChanged,
)
from runtime.views.summary import Summary, as_text, headline, tables
from tests.unit.views.told import change, fact, planned

Plan = Callable[..., DeploymentPlan]
MIXED = """<grid><site name="lyon"><cluster name="rhone"><ssh host="front"/>
<mpi ranks="3"/><nodes hosts="n[1-3]"/></cluster>
<cluster name="saone"><ssh host="gate"/><mpi ranks="1"/></cluster></site></grid>"""


def ended(
    plan: DeploymentPlan,
    codes: Mapping[str, int],
    *,
    code: int = 0,
    startup: float | None = 0.52049,
    traffic: tuple[RouteTraffic, ...] = (),
    connections: Connections = Connections(),  # noqa: B008 - it cannot be changed
) -> Summary:
    account = RunAccount()

    def take(time: float, name: str, *records: Record) -> None:
        for record in records:
            account.take(Fact(time, name, record))

    # only one rank has told where it is
    host = "localhost" if plan.grid.size == 8 else "n2.lyon"
    take(0.0, MACHINE, RunPlanned.of(plan))
    take(0.3, "0:0:1", RankStarted(host, 77, "MPICH"))
    if startup is not None:
        take(startup, MACHINE, RunStarted())
    take(1.0, "0:0:0", StateChanged("running"))
    take(2.23, "0:0:0", StateChanged("done"))
    take(3.06049, "0:0:1", StateChanged("failed"))
    for rank, rank_code in codes.items():
        take(3.1, rank, RankResult(rank_code))
    take(3.1, MACHINE, *traffic)
    take(3.14049, MACHINE, RunEnded(code, ("bad luck",)))
    return replace(account.summary(), connections=connections)


def test_replicas_are_no_ranks(plan: Plan) -> None:
    told = headline(replace(ended(plan(), {}), replicas={"application": 2}))
    assert told.startswith("test: exit code 0; 4 ranks with 2 replicas each in 4 clusters; ")


def test_a_good_run_is_told_cluster_by_cluster(plan: Plan) -> None:
    codes = {
        f"{site}:{cluster}:{rank}": 0 for site in (0, 1) for cluster in (0, 1) for rank in (0, 1)
    }
    traffic = (RouteTraffic("native", 1200, 5_000_000, 7), RouteTraffic("direct", 3, 20, 0))
    assert (
        as_text(ended(plan(), codes, traffic=traffic))
        == """\
test: exit code 0; 8 ranks in 4 clusters; 3.1 s, of which 0.5 s to start

cluster  name            runs on    application  ranks  seconds  exit codes
0:0      site0/cluster0  localhost  application      2      2.1  0
0:1      site0/cluster1  localhost  application      2        -  0
1:0      site1/cluster0  localhost  application      2        -  0
1:1      site1/cluster1  localhost  application      2        -  0

route   messages  bytes sent  bytes received
native     1,200   5,000,000               7
direct         3          20               0
"""
    )


def test_failed_and_stopped_ranks_are_counted_and_the_first_is_named(plan: Plan) -> None:
    text = as_text(ended(plan(MIXED), {"0:0:0": 0, "0:0:1": 137}, code=137))
    assert text.splitlines() == [
        "test: exit code 137; 4 ranks in 2 clusters; 3.1 s, of which 0.5 s to start",
        "",
        "cluster  name        runs on        application  ranks  seconds  exit codes",
        "0:0      lyon/rhone  n1 and 2 more  application      3      2.1  "
        "137 (rank 1), stopped (rank 2)",
        "0:1      lyon/saone  gate           application      1        -  stopped",
    ]


def test_a_run_that_never_began_has_no_table(plan: Plan) -> None:
    text = as_text(ended(plan(), {}, code=3, startup=None))
    assert text == "test: did not run; ended after 3.1 s\n"


def test_of_many_clusters_those_that_failed_are_listed(plan: Plan) -> None:
    large = plan('<emulate sites="1" clusters="40" ranks="1"/>')
    codes = {f"0:{number}:0": 0 for number in range(40)} | {"0:33:0": 5}
    lines = as_text(ended(large, codes, code=5)).splitlines()
    assert len(lines) == 3 + 24 + 1 + 1
    assert lines[-2].startswith("0:33")
    assert lines[-1].strip() == "and 15 more, none of which failed"


def test_the_plain_values_hold_every_rank(plan: Plan) -> None:
    summary = ended(plan(MIXED), {"0:0:1": 2}, code=2, traffic=(RouteTraffic("native", 1, 8, 9),))
    plain = json.loads(json.dumps(summary.as_dict()))
    assert (plain["name"], plain["code"], plain["seconds"], plain["startup"]) == (
        "test", 2, 3.14, 0.52,
    )  # fmt: skip
    assert plain["traffic"] == [{"route": "native", "messages": 1, "sent": 8, "received": 9}]
    first, second = plain["clusters"]
    assert (first["cluster"], first["name"], second["name"]) == ("0:0", "lyon/rhone", "lyon/saone")
    assert first["ranks"][1] == {
        "rank": "0:0:1", "host": "n2.lyon", "pid": 77, "mpi": "MPICH", "seconds": 2.06, "code": 2,
        "signal": "", "number": 1, "replica": 0,
        "is_missing": False, "name": "rank 1 (lyon/rhone 1)",
            "memory": 0, "cpu": 0.0, "in_mpi": None, "waiting": None,
    }  # fmt: skip
    assert second["ranks"] == [
        {
            "rank": "0:1:0",
            "host": "gate",
            "pid": None,
            "mpi": "",
            "seconds": None,
            "code": None,
            "signal": "",
            "number": 3,
            "replica": 0,
            "is_missing": False,
            "name": "rank 3 (lyon/saone 0)",
            "memory": 0,
            "cpu": 0.0,
            "in_mpi": None,
            "waiting": None,
        }
    ]
    assert plain["errors"] == ["bad luck"]


def test_a_narrow_terminal_gets_each_row_in_lines(plan: Plan) -> None:
    summary = ended(plan(MIXED), {"0:0:1": 2}, code=2)
    wide = as_text(summary)
    assert as_text(summary, width=max(map(len, wide.splitlines()))) == wide
    assert (
        as_text(summary, Paint(enabled=True), 62)
        == """\
\033[1;31mtest: exit code 2; 4 ranks in 2 clusters; 3.1 s, of which 0.5 s to start\033[0m

0:0
    name: lyon/rhone  runs on: n1 and 2 more
    application: application  ranks: 3  seconds: 2.1
    exit codes: stopped (rank 0 and 1 more), 2 (rank 1)
0:1
    name: lyon/saone  runs on: gate  application: application
    ranks: 1  seconds: -  exit codes: stopped
"""
    )


def test_many_routes_are_summed_up(plan: Plan) -> None:
    traffic = tuple(RouteTraffic(f"route {number}", 1, 10, 100) for number in range(30))
    lines = as_text(ended(plan(), {}, traffic=traffic)).splitlines()
    assert lines[-2].split() == ["route", "23", "1", "10", "100"]
    assert lines[-1].split() == ["6", "more", "6", "60", "600"]


def test_how_ranks_found_each_other_is_one_line(plan: Plan) -> None:
    ways = (Ways(("lyon/rhone", "lyon/saone"), {"direct": 2, "through lyon/rhone": 1}),)
    relays = (ForwardedTraffic("lyon/rhone", ways=1, bytes=77, hits=1, misses=0),)
    found = Connections(
        tries=12,
        failures=2,
        hits=1234,
        misses=10,
        evictions=1,
        resumptions=3,
        lanes=7,
        ways=ways,
        relays=relays,
        tunnels=(TunnelTraffic("lyon/rhone", "porto/douro", 4, 1234, 56, 0.0084),),
    )
    summary = ended(plan(), {}, connections=found)
    *_, head, row, blank, tunnels, tunnel = as_text(summary).splitlines()
    assert blank == ""
    assert [tunnels, tunnel] == [
        "tunnel over this machine  connections  bytes there  bytes back  round trip",
        "lyon/rhone - porto/douro            4        1,234          56      8.4 ms",
    ]
    assert [head, row] == [
        "connections    tries  failures   hits  misses  evictions  resumptions  lanes",
        "between ranks     12         2  1,234      10          1            3      7",
    ]
    assert json.loads(json.dumps(summary.as_dict()))["connections"] == {
        "tries": 12, "failures": 2, "hits": 1234, "misses": 10, "evictions": 1,
        "resumptions": 3, "lanes": 7,
        "ways": [{
            "between": ["lyon/rhone", "lyon/saone"],
            "routes": {"direct": 2, "through lyon/rhone": 1},
        }],
        "relays": [
            {"cluster": "lyon/rhone", "ways": 1, "bytes": 77, "hits": 1, "misses": 0}
        ],
        "tunnels": [{
            "first": "lyon/rhone", "second": "porto/douro", "connections": 4, "sent": 1234,
            "received": 56, "round_trip": 0.0084,
        }],
    }  # fmt: skip


def test_where_nothing_was_tried_no_connections_are_told(plan: Plan) -> None:
    assert "connections" not in as_text(ended(plan(), {}))


def test_a_rank_has_run_from_the_common_start_to_its_end(plan: Plan) -> None:
    account = RunAccount()
    for one in (
        planned(plan()),
        change("0:0", "up", time=10.5),
        change("0:0:0", "ready", time=11.0),
    ):
        account.take(one)
    assert account.seconds("0:0:0") is None
    for one in (
        change("0:0:0", "running", time=12.0),
        change("0:0:1", "running", time=12.1),
        change("0:0:0", "done", time=13.5),
        change("0:0:0", "ended", time=14.0),
    ):
        account.take(one)
    assert account.seconds("0:0:0") == 1.5
    assert account.seconds("0:0:1") is None


def test_a_rank_that_fails_before_the_start_has_not_run(plan: Plan) -> None:
    account = RunAccount()
    account.take(planned(plan()))
    account.take(change("0:0:0", "failed", time=1.0))
    assert account.seconds("0:0:0") is None


def test_what_ended_the_command_comes_before_what_ended_the_run(plan: Plan) -> None:
    account = RunAccount()
    for record in (RunPlanned.of(plan()), RunEnded(130, ("bad",)), CommandEnded(143, ("worse",))):
        account.take(Fact(2.0, MACHINE, record))
    account.take(Fact(9.0, MACHINE, Logged("after the end")))
    summary = account.summary()
    assert (summary.code, summary.errors, summary.seconds) == (143, ("worse",), 2.0)
    assert (account.outcome().exit_code, account.outcome().errors) == (130, ("bad",))


def test_components_are_told_with_their_nodes() -> None:
    placed = tuple(
        ComponentReport(f"/app/w{n}", f"s/c/n{n % 2}", "host", 70 + n) for n in range(30)
    )
    summary = Summary("test", 0, 2.0, 1.0, (), (), (), placed)
    assert headline(summary) == (
        "test: exit code 0; 30 components on 2 nodes; 2.0 s, of which 1.0 s to start"
    )
    (table,) = tables(summary)
    assert table.heading == ("component", "node", "runs on", "process")
    assert table.rows[:2] == (
        ("/app/w0", "s/c/n0", "host", "70"),
        ("/app/w1", "s/c/n1", "host", "71"),
    )
    assert len(table.rows) == 25
    assert table.rows[-1] == ("6 more", "", "", "")


def test_what_clusters_have_sent_is_known_before_the_end(plan: Plan) -> None:
    account = RunAccount()
    account.take(planned(plan()))
    for name, row in (
        ("0:0", MessagesCounted("0:1", (), 1, 1, 10)),
        ("0:0", MessagesCounted("0:1", (), 2, 5, 70)),
        ("0:1", MessagesCounted("0:0", None, 2, 3, 30)),
    ):
        account.take(fact(name, row))
    so_far = RouteTraffic("ranks of site0/cluster0 - site0/cluster1, direct", 8, 70, 30)
    assert account.summary().traffic == (so_far,)
    assert account.summary().code is None
    account.take(fact("0:0:1", MessagesCounted("0:1", (), 2, 6, 90)))
    account.take(fact(MACHINE, RunEnded(0)))
    ended = replace(so_far, messages=6, sent=90, received=0)
    assert account.summary().traffic == (ended,)


def test_what_is_told_of_no_part_of_the_machine_is_passed_over(plan: Plan) -> None:
    account = RunAccount()
    account.take(planned(plan()))
    for name, record in (
        ("0:0:7", RankStarted("host", 1, "MPI")),
        ("ghost", RankResult(1)),
        ("0:0:0", MessagesCounted("7:7", (), 1, 1, 1)),
        ("0:0:0", MessagesCounted("0:1", ("7:7",), 1, 1, 1)),
        ("0:0:0", ConnectionsCounted({"tries": 2, "ghost": 3})),
    ):
        account.take(fact(name, record))
    account.take(fact(MACHINE, RunEnded(0)))
    outcome = account.outcome()
    assert (outcome.ranks, outcome.exits, outcome.traffic) == ((), {}, ())
    assert outcome.connections == Connections(tries=2)


def test_core_hours_are_added_up_by_site(plan: Plan) -> None:
    summary = replace(
        ended(plan(), {}),
        held=(
            HeldNodes("lyon/rhone", "16", 2, 8, 450.0, idle=450.0),
            HeldNodes("lyon/rhone", "17", 2, 8, 1800.0),
            HeldNodes("lyon/saone", "18", 1, 4, 3600.0),
            HeldNodes("nice/var", "5", 1, 1, 36.0),
        ),
    )
    assert as_text(summary).splitlines()[-4:] == [
        "",
        "nodes of  jobs        nodes  cores  seconds  core-hours   idle",
        "lyon      16, 17, 18      3     12   3600.0       9.000  1.000",
        "nice      5               1      1     36.0       0.010  0.000",
    ]


def counted_run(plan: Plan) -> RunAccount:
    """Return the account of a run of four ranks, three of which wait two seconds for the last."""
    account = RunAccount()
    account.take(planned(plan('<emulate sites="2" clusters="1" ranks="2"/>')))
    ranks = ("0:0:0", "0:0:1", "1:0:0", "1:0:1")
    for one in ranks:
        account.take(change(one, "running", time=1.0))
    account.take(fact("", RunStarted(), time=1.0))
    for one in ranks:
        seconds = 0.5 if one == "1:0:1" else 2.5
        account.take(fact(one, CallsCounted("Allreduce", 5, seconds), time=6.0))
        account.take(fact(one, RankUsed(40_000_000, 3.25), time=6.0))
        account.take(change(one, "done", time=6.0))
    account.take(fact("", RunEnded(0), time=6.1))
    return account


def test_the_time_in_a_call_beyond_that_of_the_quickest_rank_is_waiting(plan: Plan) -> None:
    times = counted_run(plan).times()
    assert times["0:0:0"] == RankTimes("0:0:0", 5.0, 2.5, 2.0)
    assert times["1:0:1"] == RankTimes("1:0:1", 5.0, 0.5, 0.0)
    assert load_balance([*times.values()]) == pytest.approx((3 * 2.5 + 4.5) / 4 / 4.5)


def test_a_summary_begins_with_where_the_time_went_and_only_a_whole_one_has_routes(
    plan: Plan,
) -> None:
    account = counted_run(plan)
    account.take(fact("0:0", RouteTraffic("native", 1, 8, 9)))
    lines = as_text(account.summary(), is_whole=False).splitlines()
    assert lines[1] == (
        "Of the time of 4 ranks 60% was computing, 30% waiting for other ranks, 10% other MPI; "
        "load balance 67%."
    )
    heading = " ".join(lines[3].split())
    assert heading.endswith("ranks seconds computing waiting other MPI exit codes")
    assert lines[4].split()[-5:-1] == ["5.0", "50%", "40%", "10%"]
    assert not any("native" in one for one in lines)
    whole = as_text(account.summary())
    assert "native" in whole
    assert re.search(r"^rank 0 \(site0/cluster0 0\) +\S+ +50% +40% +10% +40 MB +3.2$", whole, re.M)


def test_while_ranks_run_their_time_is_that_of_the_last_look(plan: Plan) -> None:
    account = RunAccount()
    account.take(planned(plan('<emulate sites="1" clusters="1" ranks="1"/>')))
    account.take(change("0:0:0", "running", time=1.0))
    account.take(fact("0:0:0", RankSeen("in recv", memory=7, cpu=0.5, in_mpi=1.5), time=3.0))
    assert account.times() == {"0:0:0": RankTimes("0:0:0", 2.0, 1.5)}
    assert account.used("0:0:0") == (7, 0.5)
