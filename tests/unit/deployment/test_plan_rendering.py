"""How a plan looks: for people as text, for programs as plain values."""

from __future__ import annotations

import json
from typing import Any

from runtime.deployment import make_plan, plan_as_dict, render_plan

DESCRIPTOR = """<deployment name="show">
<variable name="n" value="3"/>
<application name="code" script="a.py" clusters="far">
<environment name="K" value="v"/></application>
<assembly file="f.fractal"/>
<virtual-node name="v" nodes="near/cluster0/x"/>
<file-transfer direction="out" source="out" clusters="far"/>
<file-transfer direction="out" source="." destination="r/{cluster}" clusters="far" every="1min"/>
<grid>
<site name="far"><ssh host="gate"/>
<cluster name="big" reachability="front-end"><ssh host="front" user="me"/>
<mpi flavour="mpich" ranks="${n}"/><nodes hosts="n[1-2]"/></cluster></site>
<site name="near"><cluster reachability="direct"><nodes names="x"/></cluster></site>
</grid>
</deployment>"""

TEXT = """\
deployment show: 2 sites, 2 clusters, 3 nodes, 3 ranks
starts in 6 waves

grid (led by the front-end of 0:0)
  site 0 far (led by the front-end of 0:0)
    cluster 0:0 big: over ssh gate -> me@front, reachability front-end, MPI mpich, runs code
      works in a copy of /home/me/grid
      n1: ranks 0-1
      n2: rank 2
  site 1 near (led by the front-end of 1:0)
    cluster 1:0 cluster0: on this machine, reachability direct, MPI auto, runs no application
      works in /home/me/grid
      x (localhost): no ranks
  virtual node v: near/cluster0/x

wave 1, all at once:
  front-end:0:0 at far/big
    copy /home/me/grid to .
    $ ssh -o BatchMode=yes -o ControlMaster=no \
-o 'ProxyCommand=ssh -o BatchMode=yes -o ControlMaster=no -W '"'"'[%h]:%p'"'"' -- gate' \
-- me@front 'python3 -P -m runtime.frontend --cluster 0:0 --levels L3,L4,L5'
  front-end:1:0 at near/cluster0
    $ /usr/bin/python3 -P -m runtime.frontend
wave 2, all at once:
  ranks:0:0 at far/big by front-end:0:0
    after front-end:0:0
    with K in its environment
    $ mpiexec -n 3 --host n1:2,n2:1 python3 -P -m runtime.rank --cluster 0:0 --application code \
--umask 022 --script a.py --
    (gcm-pmi starts them in its place)
  handshake:1:0 at near/cluster0
    after front-end:1:0
  node:near/cluster0/x at near/cluster0/x by front-end:1:0
    after front-end:1:0
    $ /usr/bin/python3 -P -m runtime.node --node near/cluster0/x
wave 3, all at once:
  handshake:0:0 at far/big
    after ranks:0:0
  handshake:1 at near
    after handshake:1:0
  assemble
    after node:near/cluster0/x
wave 4, all at once:
  handshake:0 at far
    after handshake:0:0
wave 5, all at once:
  handshake:grid at grid
    after handshake:0, handshake:1
wave 6, all at once:
  start at grid
    after handshake:grid, assemble
after the end, whatever it is, all at once:
  fetch:0:0 at far/big by front-end:0:0
    bring out home to /home/me/grid
    bring all that is new home to /home/me/grid/r/big, also every 60 s of the run
"""


def test_the_text_shows_the_machine_the_waves_and_the_exact_commands(read: Any) -> None:
    assert render_plan(make_plan(read(DESCRIPTOR).good)) == TEXT


def test_controllers_and_interceptors_are_shown_where_they_are_named(read: Any) -> None:
    part = "<cluster/><cluster/>"
    text = f"""<deployment><application script="a.py"/><grid>
    <controller role="plan-choice" class="plans.Row"/>
    <site name="north"><interceptor class="news.Count"/>{part}</site>
    <site name="south"><cluster name="elm">
    <interceptor class="news.Delay" between="sites"/></cluster></site>
    </grid></deployment>"""
    plan = make_plan(read(text).good)
    shown = [line for line in render_plan(plan).splitlines() if "s.Row" in line or "news." in line]
    assert shown == [
        "  plan-choice: plans.Row",
        "    interceptor between clusters: news.Count",
        "      interceptor between sites: news.Delay",
    ]
    assert plan_as_dict(plan)["named_classes"] == [
        {"role": "plan-choice", "class": "plans.Row", "between": "", "scope": []},
        {"role": "interceptor", "class": "news.Count", "between": "clusters", "scope": [0]},
        {"role": "interceptor", "class": "news.Delay", "between": "sites", "scope": [1, 0]},
    ]


def test_long_lists_of_dependencies_are_cut_short(read: Any) -> None:
    text = '<deployment><emulate sites="8"/><application script="a"/></deployment>'
    shown = render_plan(make_plan(read(text).good))
    first = ", ".join(f"handshake:{number}" for number in range(6))
    assert f"    after {first} and 2 more\n" in shown


def test_the_plain_values_survive_json(read: Any) -> None:
    plain = plan_as_dict(make_plan(read(DESCRIPTOR).good))
    assert json.loads(json.dumps(plain)) == plain
    assert (plain["name"], plain["ranks"], plain["depth"]) == ("show", 3, 6)
    assert plain["variables"] == [
        {"name": "descriptor.folder", "value": "/home/me/grid", "origin": "built in",
         "source": "test.xml"},
        {"name": "descriptor.name", "value": "test", "origin": "built in", "source": "test.xml"},
        {"name": "n", "value": "3", "origin": "descriptor", "source": "test.xml:2"},
    ]  # fmt: skip
    assert plain["virtual_nodes"] == {"v": ["near/cluster0/x"]}


def test_the_plain_values_hold_clusters_and_steps(read: Any) -> None:
    plain: dict[str, Any] = plan_as_dict(make_plan(read(DESCRIPTOR).good))
    assert [site["name"] for site in plain["sites"]] == ["far", "near"]
    assert plain["sites"][0]["clusters"] == [
        {
            "name": "big",
            "identifier": "0:0",
            "levels": ["L3", "L4", "L5"],
            "route": ["gate", "me@front"],
            "address": "front",
            "reachability": "front-end",
            "application": "code",
            "works_in": {"folder": "/home/me/grid", "copy": True, "staged": True},
            "batch": None,
            "flavour": "mpich",
            "nodes": [
                {"name": "n1", "host": "n1", "ranks": 2, "first_number": 0},
                {"name": "n2", "host": "n2", "ranks": 1, "first_number": 2},
            ],
            "spares": [],
        }
    ]
    (ranks,) = (step for step in plain["steps"] if step["kind"] == "ranks")
    assert (ranks["environment"], ranks["depends_on"]) == (["K"], ["front-end:0:0"])
    assert ranks["depth"] == 1
    assert [step["files"] for step in plain["closing"]] == [
        [
            {"from": "out", "to": "/home/me/grid"},
            {"from": ".", "to": "/home/me/grid/r/big", "every": 60.0},
        ]
    ]


def test_spare_hosts_are_shown_where_lost_ranks_are_restarted(read: Any) -> None:
    text = """<deployment><application script="a.py" recovery="rebuild"/><grid><site><cluster>
    <mpi ranks="3"/><nodes hosts="n[1-2]"/><nodes hosts="n3" spare="yes"/>
    <nodes hosts="n4" slots="8" spare="yes"/></cluster></site></grid></deployment>"""
    plan = make_plan(read(text).good)
    shown = render_plan(plan).splitlines()
    assert [line.strip() for line in shown if line.startswith("      n")] == [
        "n1: ranks 0-1",
        "n2: rank 2",
        "n3: spare, for 2 ranks",
        "n4: spare, for 8 ranks",
    ]
    assert "    once for each host, with its ranks" in shown
    plain: dict[str, Any] = plan_as_dict(plan)
    assert plain["sites"][0]["clusters"][0]["spares"] == [
        {"host": "n3", "places": 2},
        {"host": "n4", "places": 8},
    ]
    (ranks,) = (step for step in plain["steps"] if step["kind"] == "ranks")
    assert ranks["for_each_host"]
    text = '<deployment><application script="a.py"/><grid><site><cluster><mpi ranks="1"/>'
    text += '<nodes hosts="n[1-2]"/></cluster></site></grid></deployment>'
    plan = make_plan(read(text).good)
    without: dict[str, Any] = plan_as_dict(plan)
    assert without["sites"][0]["clusters"][0]["spares"] == []
    shown = render_plan(plan).splitlines()
    assert "      n2: no ranks" in shown
    assert "    once for each host, with its ranks" not in shown


def test_several_queues_are_told_to_begin_together_and_for_how_long_nodes_wait(read: Any) -> None:
    def shown(*batches: str, system: str = "slurm") -> list[str]:
        clusters = "".join(
            f'<cluster><batch system="{system}" {batch}/></cluster>' for batch in batches
        )
        plan = make_plan(read.body(f'<grid><site name="s">{clusters}</site></grid>').good, {})
        return [line for line in render_plan(plan).splitlines() if "queues" in line]

    assert shown('idle="5min"', 'walltime="20min"', 'job="17"') == [
        "begins when all queues have granted nodes; until then they wait, at most 300 s in"
        " s/cluster0, 300 s in s/cluster1, are given back, and asked for again"
    ]
    assert shown('idle="5min"') == shown("", 'job="17"') == []
    assert shown('walltime="1h"', 'walltime="2h"', system="oar")[0] == (
        "reserves nodes from a common start on, the earliest that all queues take; else"
    )
