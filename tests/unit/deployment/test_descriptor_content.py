"""What a correct descriptor runs: applications, assembly, virtual nodes, processes, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DescriptorContext, read_descriptor
from runtime.deployment.model import CommWorld, Direction, NodeAddress, ProcessKind, ProgramKind

GRID = '<emulate sites="2" clusters="2" nodes="2"/>'
ONE_CLUSTER = '<emulate sites="1" clusters="1" nodes="2"/>'


@pytest.mark.parametrize(
    ("program", "kind", "path", "staged"),
    [
        ('script="a.py"', ProgramKind.SCRIPT, "/home/me/grid/a.py", True),
        ('script="/x/../b.py"', ProgramKind.SCRIPT, "/b.py", True),
        ('script="~/a.py"', ProgramKind.SCRIPT, "~/a.py", True),
        ('script="a.py" stage="no"', ProgramKind.SCRIPT, "/home/me/grid/a.py", False),
        ('module="pkg.main"', ProgramKind.MODULE, "pkg.main", True),
        ('executable="bin/solver"', ProgramKind.EXECUTABLE, "/home/me/grid/bin/solver", True),
        ('executable="solver"', ProgramKind.EXECUTABLE, "solver", True),
    ],
)
def test_a_program_is_a_script_a_module_or_an_executable(
    read: Any, program: str, kind: ProgramKind, path: str, staged: bool
) -> None:
    (found,) = read(f"<deployment>{GRID}<application {program}/></deployment>").good.applications
    assert (found.kind, found.path, found.staged) == (kind, path, staged)


def test_a_file_that_is_not_staged_may_be_missing_here(read: Any) -> None:
    text = f'<deployment>{GRID}<application script="a.py" stage="no"/></deployment>'
    assert read(text, exists=lambda _path: False).found == ()


def test_an_application_has_arguments_environment_and_a_world(read: Any) -> None:
    text = (
        f'<deployment>{GRID}<application script="a" arguments="-n \'two words\'" '
        'comm-world="cluster"><argument value="a b"/><argument/><environment name="X" value="1"/>'
        '<environment name="Y"/></application></deployment>'
    )
    (found,) = read(text, environment={"Y": "mine", "Z": "2"}).good.applications
    assert found.arguments == ("-n", "two words", "a b", "")
    assert found.environment == {"X": "1", "Y": "mine"}
    assert found.comm_world is CommWorld.CLUSTER
    assert found.clusters == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert found.name == "application"


@pytest.mark.parametrize(
    ("program", "world"),
    [
        ('script="a.py"', CommWorld.GRID),
        ('module="m"', CommWorld.GRID),
        ('script="a.py" comm-world="cluster"', CommWorld.CLUSTER),
        ('executable="x"', CommWorld.GRID),
        ('executable="x" comm-world="cluster"', CommWorld.CLUSTER),
    ],
)
def test_the_world_is_the_grid_where_it_can_be(read: Any, program: str, world: CommWorld) -> None:
    (found,) = read(f"<deployment>{GRID}<application {program}/></deployment>").good.applications
    assert found.comm_world is world


@pytest.mark.parametrize(
    ("needed", "world"),
    [
        (["libmpi.so.12", "libc.so.6"], CommWorld.GRID),
        (["libc.so.6"], CommWorld.CLUSTER),
        (None, CommWorld.GRID),
    ],
)
def test_a_native_program_without_mpi_has_no_world_of_all_clusters(
    read: Any, needed: list[str] | None, world: CommWorld
) -> None:
    text = f'<deployment>{GRID}<application executable="x"/></deployment>'
    (found,) = read(text, needed_libraries=lambda _: needed).good.applications
    assert found.comm_world is world


def test_a_native_program_that_cannot_share_a_world_is_refused_unless_it_has_its_own(
    read: Any,
) -> None:
    needed = ["libmpifort.so.12", "libmpi.so.12"]
    text = f'<deployment>{GRID}<application executable="x"/></deployment>'
    found = read(text, needed_libraries=lambda _: needed)
    assert [code for code, _ in found.codes] == ["no-shared-world"]
    assert "it is written in Fortran: it needs libmpifort.so.12" in str(found.found[0])
    one = text.replace(GRID, ONE_CLUSTER)
    assert read(one, needed_libraries=lambda _: needed).good
    own = text.replace('"x"', '"x" comm-world="cluster"')
    assert read(own, needed_libraries=lambda _: needed).good


def test_applications_are_mapped_to_clusters_by_path_range_or_site(read: Any) -> None:
    text = (
        f'<deployment>{GRID}<application name="a" script="a" clusters="site1 site0/cluster1"/>'
        '<application name="b" script="b" clusters="site0/cluster[0]"/></deployment>'
    )
    first, second = read(text).good.applications
    assert first.clusters == ((0, 1), (1, 0), (1, 1))
    assert second.clusters == ((0, 0),)


def test_virtual_nodes_stand_for_nodes_and_for_whole_clusters(read: Any) -> None:
    text = (
        f'<deployment>{GRID}<assembly file="f" arguments="n=3 \'title=a b\'"/>'
        '<virtual-node name="w" nodes="site1/cluster0 site0/cluster0/node1 site1/cluster0/node0"/>'
        '<virtual-node name="c" cardinality="single" nodes="site0/cluster0/node0"/></deployment>'
    )
    found = read(text, virtual_nodes=lambda *_: ("w", "c", "w")).good
    assert found.assembly is not None
    assert found.assembly.file == "/home/me/grid/f"
    assert found.assembly.arguments == {"n": "3", "title": "a b"}
    workers, control = found.virtual_nodes
    assert workers.nodes == (
        NodeAddress((1, 0), 0),
        NodeAddress((1, 0), 1),
        NodeAddress((0, 0), 1),
    )
    assert (workers.single, control.single) == (False, True)


def test_virtual_nodes_with_capacities_have_nodes_for_themselves(read: Any) -> None:
    found = read.body(
        f'{GRID}<assembly file="f"/>'
        '<virtual-node name="one" nodes="site0" capacity="1"/>'
        '<virtual-node name="rest" nodes="site0 site1" capacity="max"/>'
        '<virtual-node name="both" nodes="site1" capacity="2">'
        '<provider nodes="site0/cluster0" capacity="1"/></virtual-node>'
        '<virtual-node name="all" nodes="site0/cluster0"/>'
    ).good
    paths = {one.name: [*map(found.path_of, one.nodes)] for one in found.virtual_nodes}
    assert paths == {
        "one": ["site0/cluster0/node0"],
        "rest": ["site0/cluster1/node0", "site0/cluster1/node1", "site1/cluster0/node1",
                 "site1/cluster1/node0", "site1/cluster1/node1"],
        "both": ["site0/cluster0/node1", "site1/cluster0/node0"],
        "all": ["site0/cluster0/node0", "site0/cluster0/node1"],
    }  # fmt: skip


def test_a_virtual_node_that_the_assembly_does_not_use_is_worth_a_warning(read: Any) -> None:
    text = (
        f'<deployment>{GRID}<assembly file="f"/>'
        '<virtual-node name="worker" nodes="site0/cluster0"/></deployment>'
    )
    found = read(text, virtual_nodes=lambda *_: ())
    assert [(one.code, str(one.severity), one.hint) for one in found.found] == [
        ("unused-virtual-node", "warning", "the assembly does not use it")
    ]
    assert found.deployment is not None


def test_processes_keep_what_the_descriptor_says(read: Any) -> None:
    found = read.body(
        f'{GRID}<process id="p" kind="ssh" program="serve" arguments="-p 1" hosts="h[1-2]" '
        'command-path="myssh" options="-4" number="2" folder="/d" ready-line="up">'
        '<argument value="x"/><environment name="E" value="1"/><ssh host="gate"/></process>'
        '<process id="q" kind="mpi" program="prep" on="site0/cluster1" ready="finished"/>'
    ).good
    first, second = found.processes
    assert first.kind is ProcessKind.SSH
    assert (first.program, first.arguments) == ("serve", ("-p", "1", "x"))
    assert (first.hosts, first.number, first.folder) == (("h1", "h2"), 2, "/d")
    assert (first.command_path, first.options) == ("myssh", ("-4",))
    assert [hop.host for hop in first.hops] == ["gate"]
    assert (first.ready_line, first.ready_when_finished) == ("up", False)
    assert dict(first.environment) == {"E": "1"}
    assert (second.kind, second.on, second.ready_when_finished) == (ProcessKind.MPI, (0, 1), True)


def test_sequences_add_up_to_what_has_to_be_up_before(read: Any) -> None:
    members = [("a", "b", "application"), ("a", "application"), ("b", "application", "c")]
    sequences = "".join(
        "<dependent-sequence>"
        + "".join(f'<process-reference refid="{name}"/>' for name in names)
        + "</dependent-sequence>"
        for names in members
    )
    processes = "".join(f'<process id="{name}" program="x"/>' for name in "abc")
    found = read.body(GRID + processes + sequences).good
    assert found.dependencies == {"b": ("a",), "application": ("b", "a"), "c": ("application",)}


def test_transfers_have_full_paths_here_before_the_start_and_patterns_afterwards(read: Any) -> None:
    found = read.body(
        f'{GRID}<file-transfer direction="in" source="data/input/"/>'
        '<file-transfer direction="in" source="/etc/x" destination="y/z" clusters="site1"/>'
        '<file-transfer direction="out" source="out/a..b" clusters="site0/cluster0"/>'
        '<file-transfer direction="out" source="logs/" destination="." every="2min"/>'
        '<file-transfer direction="out" source="*.npy" destination="r/{site}" every="90"/>'
    ).good
    assert [(one.direction, one.source, one.destination) for one in found.transfers] == [
        (Direction.IN, "/home/me/grid/data/input", "input"),
        (Direction.IN, "/etc/x", "y/z"),
        (Direction.OUT, "out/a..b", ""),
        (Direction.OUT, "logs", "."),
        (Direction.OUT, "*.npy", "r/{site}"),
    ]
    assert [len(one.clusters) for one in found.transfers] == [4, 2, 1, 4, 4]
    assert [one.every for one in found.transfers] == [0, 0, 0, 120, 90]


def test_a_deployment_has_its_own_name_or_that_of_its_file(read: Any) -> None:
    assert read.body(GRID).good.name == "test"
    named = read(f'<deployment name="n">{GRID}<application script="a"/></deployment>').good
    assert (named.name, named.folder) == ("n", "/home/me/grid")


def test_a_document_that_cannot_be_read_is_a_fault_and_not_an_exception(tmp_path: Path) -> None:
    diagnostics = Diagnostics()
    missing = tmp_path / "none.xml"
    found = read_descriptor(
        missing, surroundings=DescriptorContext(str(tmp_path)), diagnostics=diagnostics
    )
    assert found is None
    assert len(diagnostics.errors) == 1


def test_errors_that_were_there_before_do_not_spoil_a_correct_descriptor() -> None:
    diagnostics = Diagnostics()
    surroundings = DescriptorContext("/d")
    good = b'<deployment><emulate/><application script="a"/></deployment>'
    for document, correct in ((b"<x/>", False), (good, True)):
        found = read_descriptor(
            document, name="d", surroundings=surroundings, diagnostics=diagnostics
        )
        assert (found is not None) is correct
