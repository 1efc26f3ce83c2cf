"""The plan of a deployment: steps, their order, commands, files and places."""

from __future__ import annotations

from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.deployment.planning.opening import levels_at
from runtime.deployment.planning.steps import EVERYTHING, REST, FileMove, Step, in_order
from runtime.step_name import StepKind, StepName

named = StepName.parse

REMOTE = (
    '<grid><site><cluster><ssh host="h" user="u"/><front-end folder="/run" port="7000"/>'
    '<mpi flavour="{flavour}" ranks="3" options="-v"/>{nodes}</cluster></site></grid>'
)
PYTHON = "/usr/bin/python3"


def plan_of(read: Any, text: str, start: str = "") -> DeploymentPlan:
    begins = f' start="{start}"' if start else ""
    return make_plan(read(f"<deployment{begins}>{text}</deployment>").good)


def ranks_argv(read: Any, grid: str, application: str) -> tuple[str, ...]:
    return (
        plan_of(read, f"{grid}<application {application}</application>")
        .step(named("ranks:0:0"))
        .argv
    )


def test_a_small_grid_starts_level_by_level(read: Any) -> None:
    plan = plan_of(read, '<emulate sites="2"/><application script="a.py"/>')
    assert [(step.depth, step.name, step.depends_on) for step in plan.steps] == [
        (0, named("front-end:0:0"), ()),
        (0, named("front-end:1:0"), ()),
        (1, named("ranks:0:0"), (named("front-end:0:0"),)),
        (1, named("ranks:1:0"), (named("front-end:1:0"),)),
        (2, named("handshake:0:0"), (named("ranks:0:0"),)),
        (2, named("handshake:1:0"), (named("ranks:1:0"),)),
        (3, named("handshake:0"), (named("handshake:0:0"),)),
        (3, named("handshake:1"), (named("handshake:1:0"),)),
        (4, named("handshake:grid"), (named("handshake:0"), named("handshake:1"))),
        (5, named("start"), (named("handshake:grid"),)),
    ]
    assert plan.depth == 6
    assert plan.closing == ()


def test_the_front_end_of_the_first_cluster_hosts_the_levels_above(read: Any) -> None:
    plan = plan_of(read, '<emulate sites="2" clusters="2"/><application script="a.py"/>')
    levels = [levels_at(plan.deployment, one.position) for one in plan.deployment.clusters()]
    assert levels == [("L3", "L4", "L5"), ("L3",), ("L3", "L4"), ("L3",)]
    assert (plan.grid_front_end, plan.site_front_end(1)) == ((0, 0), (1, 0))


def test_the_descriptor_chooses_other_front_ends_for_the_levels_above(read: Any) -> None:
    plan = plan_of(
        read,
        '<grid front-end="b"><site name="a"><cluster/></site><site name="b" front-end="y">'
        '<cluster name="x"/><cluster name="y"/></site></grid><application script="a.py"/>',
    )
    levels = [levels_at(plan.deployment, one.position) for one in plan.deployment.clusters()]
    assert levels == [("L3", "L4"), ("L3",), ("L3", "L4", "L5")]
    assert plan.grid_front_end == (1, 1)


def test_what_may_come_late_leads_nobody_where_another_cluster_can(read: Any) -> None:
    queued = '<cluster name="{}"><batch system="slurm"/></cluster>'
    a, b, c = map(queued.format, "abc")
    plan = plan_of(
        read,
        f'<grid><site name="s">{a}</site><site name="t">{b}{c}</site></grid>'
        '<application script="a.py" recovery="rebuild"/>',
        start="1 of 3",
    )
    assert plan.grid_front_end == (0, 0)
    later = plan.deployment.led_without({"0:0", "1:0"})
    assert (later.leader, [site.leader for site in later.sites]) == (1, [0, 1])
    assert later.led_without({"0:0"}) == later.led_without(()) == later
    plan = plan_of(
        read,
        f'<grid><site name="s">{a}</site><site name="t">{b}<cluster/></site></grid>'
        '<application script="a.py" recovery="rebuild"/>',
        start="1 of 2",
    )
    assert plan.grid_front_end == (1, 1)


def test_the_commands_of_an_emulated_cluster_run_here(read: Any) -> None:
    plan = plan_of(read, '<emulate/><application name="x" script="a.py" arguments="1 \'2 3\'"/>')
    assert plan.step(named("front-end:0:0")).argv == (PYTHON, "-P", "-m", "runtime.frontend")
    ranks = plan.step(named("ranks:0:0"))
    assert ranks.argv == (
        "mpiexec", "-n", "2", PYTHON, "-P", "-m", "runtime.rank", "--cluster", "0:0",
        "--application", "x", "--umask", "022", "--on-one-host", "yes", "--script", "a.py",
        "--", "1", "2 3",
    )  # fmt: skip
    assert (ranks.by, ranks.place) == (named("front-end:0:0"), "site0/cluster0")
    assert plan.step(named("front-end:0:0")).files == ()


def test_the_front_ends_of_this_machine_begin_as_one_process_for_each_python(read: Any) -> None:
    other = '<cluster name="c"><front-end python="p"/></cluster>'
    plan = plan_of(
        read,
        f'<grid><site name="s"><cluster name="a"/><cluster name="b"/>{other}<cluster name="d">'
        '<ssh host="h"/></cluster></site></grid><application module="m"/>',
    )
    found = [plan.step(named(f"front-end:0:{number}")) for number in range(4)]
    assert [one.within for one in found] == [None, named("front-end:0:0"), None, None]
    assert found[0].argv == (PYTHON, "-P", "-m", "runtime.frontend")
    assert found[1].argv == ()
    assert found[2].argv == ("p", "-P", "-m", "runtime.frontend")
    assert found[3].argv[-1] == "python3 -P -m runtime.frontend --cluster 0:3 --levels L3"


def test_the_commands_of_a_cluster_elsewhere_lead_there_and_stage_the_program(read: Any) -> None:
    grid = REMOTE.format(flavour="mpich", nodes="")
    plan = plan_of(read, f'{grid}<application script="a.py" comm-world="cluster"/>')
    front_end = plan.step(named("front-end:0:0"))
    assert front_end.argv == (
        "ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "--", "u@h",
        "python3 -P -m runtime.frontend --cluster 0:0 --levels L3,L4,L5 --port 7000",
    )  # fmt: skip
    assert front_end.files == (FileMove("/home/me/grid", "."),)
    assert front_end.folder == "/run"
    assert plan.step(named("ranks:0:0")).argv == (
        "mpiexec", "-n", "3", "-v", "python3", "-P", "-m", "runtime.rank", "--cluster", "0:0",
        "--application", "application", "--umask", "022", "--script", "a.py", "--",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "hosts"),
    [
        ("", ()),
        ('<nodes hosts="h"/>', ()),
        ('<nodes names="a b" hosts="localhost"/>', ()),
        ('<nodes hosts="n[1-2]"/>', ("--host", "n1:2,n2:1")),
        ('<nodes hosts="h n1"/>', ("--host", "h:2,n1:1")),
        ('<nodes names="a b" hosts="n1"/><nodes hosts="n2"/>', ("--host", "n1:2,n2:1")),
        ('<nodes hosts="n[1-4]"/>', ("--host", "n1:1,n2:1,n3:1")),
    ],
)
def test_mpiexec_is_told_the_hosts_when_they_are_other_machines(
    read: Any, nodes: str, hosts: tuple[str, ...]
) -> None:
    argv = ranks_argv(read, REMOTE.format(flavour="auto", nodes=nodes), 'script="a.py">')
    assert argv[3 : argv.index("-v")] == hosts


@pytest.mark.parametrize(
    ("program", "there"),
    [
        ('script="x/a.py"', ("--script", "a.py")),
        ('script="x/a.py" folder="."', ("--script", "x/a.py")),
        ('script="/nfs/a.py" stage="no"', ("--script", "a.py")),
        ('module="m.n"', ("--module", "m.n")),
        ('executable="bin/s"', ("--executable", "./s")),
        ('executable="bin/s" folder="."', ("--executable", "./bin/s")),
        ('executable="s"', ("--executable", "s")),
        ('executable="bin/{site}-{cluster}/s"', ("--executable", "./site0-cluster0/s")),
    ],
)
def test_a_program_is_named_as_its_cluster_sees_it(
    read: Any, program: str, there: tuple[str, str]
) -> None:
    argv = ranks_argv(read, REMOTE.format(flavour="auto", nodes=""), f"{program}>")
    assert argv[-3:-1] == there


SECRET = 'script="a.py"><environment name="TOKEN" value="s3cret"/>'


@pytest.mark.parametrize("flavour", ["auto", "mpich", "openmpi"])
def test_values_of_the_environment_stay_out_of_every_command(read: Any, flavour: str) -> None:
    grid = REMOTE.format(flavour=flavour, nodes='<nodes hosts="n1"/>')
    plan = plan_of(read, f"{grid}<application {SECRET}</application>")
    assert plan.step(named("ranks:0:0")).environment == {"TOKEN": "s3cret"}
    assert not any("s3cret" in word for step in plan.steps for word in step.argv)
    assert "s3cret" not in str(plan.step(named("ranks:0:0")).as_dict())
    exported = ("--tag-output", "-x", "TOKEN") if flavour == "openmpi" else ()
    argv = plan.step(named("ranks:0:0")).argv
    assert argv[argv.index("n1:3") + 1 : argv.index("-v")] == exported


def test_ranks_on_this_machine_have_the_environment_of_the_descriptor(read: Any) -> None:
    here = plan_of(read, f"<emulate/><application {SECRET}</application>").step(named("ranks:0:0"))
    assert dict(here.environment) == {"TOKEN": "s3cret"}


def sequence(*names: str) -> str:
    members = "".join(f'<process-reference refid="{name}"/>' for name in names)
    return f"<dependent-sequence>{members}</dependent-sequence>"


def test_an_application_waits_for_the_helper_before_it(read: Any) -> None:
    plan = plan_of(
        read,
        '<emulate clusters="2"/><application script="a"/>'
        '<process id="p" program="x" number="2" ready-line="up" folder="/d"/>'
        + sequence("p", "application"),
    )
    for cluster in ("0:0", "0:1"):
        assert plan.step(named(f"ranks:{cluster}")).depends_on == (
            named(f"front-end:{cluster}"), named("process:p#0"), named("process:p#1"),
        )  # fmt: skip
    step = plan.step(named("process:p#1"))
    assert (step.argv, step.place, step.by) == (("x",), "here", None)
    assert (step.ready_line, step.ready_when_finished, step.folder) == ("up", False, "/d")
    assert plan.step(named("start")).depends_on == (
        named("handshake:grid"),
        named("process:p#0"),
        named("process:p#1"),
    )


def test_what_follows_an_application_waits_for_the_handshakes_of_its_clusters(read: Any) -> None:
    plan = plan_of(
        read,
        '<emulate clusters="2"/><application name="a" script="a" clusters="site0/cluster0"/>'
        '<application name="b" script="b" clusters="site0/cluster1"/>'
        '<process id="p" kind="mpi" program="x" number="3" on="site0/cluster1" options="-v" '
        'ready="finished"/>' + sequence("a", "b", "p"),
    )
    assert plan.step(named("ranks:0:0")).depends_on == (named("front-end:0:0"),)
    assert plan.step(named("ranks:0:1")).depends_on == (
        named("front-end:0:1"),
        named("handshake:0:0"),
    )
    helper = plan.step(named("process:p"))
    assert helper.depends_on == (named("front-end:0:1"), named("handshake:0:1"))
    assert (helper.by, helper.place) == (named("front-end:0:1"), "site0/cluster1")
    assert helper.argv == ("mpiexec", "-n", "3", "-v", "x")
    assert helper.ready_when_finished


def test_a_helper_over_ssh_runs_on_each_of_its_hosts(read: Any) -> None:
    plan = plan_of(
        read,
        '<emulate/><application script="a"/><process id="p" kind="ssh" program="x" folder="/d" '
        'hosts="n[1-2]" options="-4"><ssh host="gate"/></process>',
    )
    helpers = [step for step in plan.steps if step.kind is StepKind.PROCESS]
    assert [(step.name, step.place) for step in helpers] == [
        (named("process:p@n1"), "n1"),
        (named("process:p@n2"), "n2"),
    ]
    assert helpers[1].argv == (
        "ssh", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-4",
        "-o", "ProxyCommand=ssh -o BatchMode=yes -o ControlMaster=no -W '[%h]:%p' -- gate",
        "--", "n2", "cd /d && exec x",
    )  # fmt: skip


def test_a_local_helper_of_a_cluster_is_started_by_its_front_end(read: Any) -> None:
    plan = plan_of(
        read,
        '<emulate/><application script="a"/>'
        '<process id="p" program="x" on="site0/cluster0" arguments="-q"/>',
    )
    helper = plan.step(named("process:p"))
    assert (helper.by, helper.depends_on, helper.argv) == (
        named("front-end:0:0"),
        (named("front-end:0:0"),),
        ("x", "-q"),
    )


ASSEMBLY = (
    '<grid><site name="s"><cluster name="c"><nodes names="n[0-1]"/></cluster><cluster name="d">'
    '<ssh host="h"/><nodes hosts="h m"/></cluster></site></grid><assembly file="f.fractal"/>'
    '<virtual-node name="v" nodes="s/d s/c/n1"/>'
)


def test_components_live_in_processes_of_their_nodes(read: Any) -> None:
    plan = plan_of(read, ASSEMBLY)
    nodes = {step.name: step for step in plan.steps if step.kind is StepKind.NODE}
    assert list(nodes) == [named("node:s/c/n1"), named("node:s/d/h"), named("node:s/d/m")]
    assert nodes[named("node:s/c/n1")].argv == (
        PYTHON,
        "-P",
        "-m",
        "runtime.node",
        "--node",
        "s/c/n1",
    )
    assert nodes[named("node:s/d/h")].argv == (
        "python3",
        "-P",
        "-m",
        "runtime.node",
        "--node",
        "s/d/h",
    )
    assert nodes[named("node:s/d/m")].argv[-3:] == (
        "--",
        "m",
        "python3 -P -m runtime.node --node s/d/m",
    )
    assert nodes[named("node:s/d/m")].by == named("front-end:0:1")
    assemble = plan.step(named("assemble"))
    assert assemble.depends_on == tuple(nodes)
    assert (assemble.place, assemble.by, assemble.files) == ("here", None, ())
    assert plan.step(named("start")).depends_on == (named("handshake:grid"), named("assemble"))
    assert plan.step(named("handshake:0:0")).depends_on == (named("front-end:0:0"),)
    assert not [step for step in plan.steps if step.kind is StepKind.RANKS]


@pytest.mark.parametrize("order", [("application", "assembly"), ("assembly", "application")])
def test_an_application_and_an_assembly_can_wait_for_each_other(
    read: Any, order: tuple[str, str]
) -> None:
    plan = plan_of(read, f'{ASSEMBLY}<application script="a"/>{sequence(*order)}')
    ranks, assemble = plan.step(named("ranks:0:0")), plan.step(named("assemble"))
    assert (ranks.depth < assemble.depth) == (order[0] == "application")


def fetches(read: Any, *elements: str) -> list[tuple[str, tuple[FileMove, ...]]]:
    """Return what comes home of two local clusters, one remote one, and one that gets a file."""
    clusters = "".join(
        f'<cluster name="{name}">{inside}<mpi ranks="1"/></cluster>'
        for name, inside in (("a", ""), ("far", '<ssh host="h"/>'), ("given", ""), ("last", ""))
    )
    moves = '<file-transfer direction="in" source="d" clusters="s/given"/>' + "".join(elements)
    plan = plan_of(
        read, f'<grid><site name="s">{clusters}</site></grid><application script="a"/>{moves}'
    )
    return [(step.place, step.files) for step in plan.closing]


def test_everything_new_comes_home_from_copies_where_nothing_is_asked_for(read: Any) -> None:
    everything = (FileMove(".", "/home/me/grid"),)
    assert fetches(read) == [("s/far", everything), ("s/given", everything)]


@pytest.mark.parametrize("source", [".", "**", "./**", "**/*"])
def test_a_pattern_of_everything_does_not_ask_for_what_is_ignored(read: Any, source: str) -> None:
    found = fetches(read, f'<file-transfer direction="out" source="{source}" clusters="s/far"/>')
    assert ("s/far", (FileMove(".", "/home/me/grid"),)) in found


def test_what_is_asked_for_comes_home_to_its_own_path_in_the_program_folder(read: Any) -> None:
    found = fetches(
        read,
        '<file-transfer direction="out" source="out/*.npy" clusters="s/far" every="5s"/>',
        '<file-transfer direction="out" source="log" destination="logs/{site}/{cluster}" '
        'clusters="s/far s/last"/>',
        '<file-transfer direction="out" source="x" destination="copies" clusters="s/a"/>',
    )
    assert found == [
        ("s/a", (FileMove("x", "/home/me/grid/copies"),)),
        (
            "s/far",
            (
                FileMove("out/*.npy", "/home/me/grid", 5.0),
                FileMove("log", "/home/me/grid/logs/s/far"),
                FileMove(REST, "/home/me/grid"),
            ),
        ),
        ("s/given", (FileMove(EVERYTHING, "/home/me/grid"),)),
        (
            "s/last",
            (FileMove("log", "/home/me/grid/logs/s/last"), FileMove(REST, "/home/me/grid")),
        ),
    ]


def test_only_what_is_asked_for_comes_home_where_the_descriptor_says_so(read: Any) -> None:
    found = fetches(
        read,
        '<file-transfer direction="out" source="*.npy" clusters="s/far" others="discard"/>',
        '<file-transfer direction="out" source="log" others="bring"/>',
    )
    log = FileMove("log", "/home/me/grid")
    assert found == [
        ("s/far", (FileMove("*.npy", "/home/me/grid"), log)),
        ("s/given", (log, FileMove(REST, "/home/me/grid"))),
    ]


def test_every_rank_has_a_place(read: Any) -> None:
    plan = plan_of(
        read, '<emulate sites="2" clusters="2" ranks="3" nodes="2"/><application script="a"/>'
    )
    placed = [(str(one.identifier), one.cluster.path, one.node.name) for one in plan.placements()]
    assert placed[:4] == [
        ("0:0:0", "site0/cluster0", "node0"),
        ("0:0:1", "site0/cluster0", "node0"),
        ("0:0:2", "site0/cluster0", "node1"),
        ("0:1:0", "site0/cluster1", "node0"),
    ]
    assert [one.identifier for one in plan.placements()] == list(plan.grid.identifiers())
    for one in plan.placements():
        assert plan.grid.cluster_of(one.identifier).node_of(one.identifier.rank) == one.node


def test_the_implied_components_are_those_of_the_grid(read: Any) -> None:
    plan = plan_of(read, '<emulate ranks="3"/><application script="a"/>')
    paths = [part.path for part in plan.components().walk()]
    assert paths[-1] == "/grid/site0/cluster0/wrapper2"
    assert len(paths) == 6


def test_a_step_that_is_not_there_is_a_key_error(read: Any) -> None:
    plan = plan_of(read, '<emulate/><application script="a"/>')
    with pytest.raises(KeyError, match="ranks:9:9"):
        plan.step(named("ranks:9:9"))


@given(st.integers(1, 4), st.integers(1, 4))
def test_the_number_of_waves_does_not_grow_with_the_clusters(sites: int, clusters: int) -> None:
    document = (
        f'<deployment><emulate sites="{sites}" clusters="{clusters}"/>'
        '<application script="a"/></deployment>'
    )
    diagnostics = Diagnostics()
    found = read_descriptor(
        document.encode(), name="d", surroundings=DescriptorContext("/d"), diagnostics=diagnostics
    )
    assert found is not None
    plan = make_plan(found)
    assert plan.depth == 6
    depths = {step.name: step.depth for step in plan.steps}
    for step in plan.steps:
        assert all(depths[before] < step.depth for before in step.depends_on)


def test_steps_sort_by_depth_and_keep_their_order_within() -> None:
    a, b, c, z = (StepName(StepKind.PROCESS, one) for one in "abcz")
    steps = [
        Step(c, "here", depends_on=(a, b)),
        Step(b, "here", depends_on=(a,)),
        Step(a, "here"),
        Step(z, "here"),
    ]
    assert [(step.name, step.depth) for step in in_order(steps)] == [
        (a, 0),
        (z, 0),
        (b, 1),
        (c, 2),
    ]


def test_a_thousand_clusters_of_a_hundred_nodes_are_planned_in_seconds() -> None:
    nodes = '<ssh host="front"/><nodes hosts="node[001-100]"/>'
    cluster = f'<cluster reachability="front-end">{nodes}</cluster>'
    site = f'<site><ssh host="gate"/>{cluster * 100}</site>'
    document = f'<deployment><application script="a.py"/><grid>{site * 10}</grid></deployment>'
    begin = process_time()
    found = read_descriptor(
        document.encode(), name="d", surroundings=DescriptorContext("/d"), diagnostics=Diagnostics()
    )
    assert found is not None
    plan = make_plan(found)
    assert process_time() - begin < 5
    assert plan.grid.size == 100_000
    assert plan.depth == 6
