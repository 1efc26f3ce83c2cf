"""An assembly in one process or on nodes: the same file, the same result, the same rules."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

PARTS = """
import os, sys
from typing import Annotated, Any, Protocol
from gcm import Cardinality, provides, requires

class Run(Protocol):
    def run(self) -> object: ...

class Work(Protocol):
    def where(self, number: int) -> tuple[str, int, int]: ...

@provides("work", Work)
class Worker:
    def where(self, number):
        if number < 0:
            raise LookupError(f"there is no {number}")
        return os.environ.get("GCM_NODE", "nowhere"), os.getpid(), 2 * number

@provides("run", Run)
class Chief:
    work: Annotated[Work, requires()]
    def run(self):
        return CALL
"""
ADL = """
<interface name="run" role="server" signature="parts.Run"/>
<component name="chief"><content class="parts.Chief"/>{chief}</component>
<component name="worker"><content class="parts.Worker"/>{worker}</component>
<binding client="this.run" server="chief.run"/>
<binding client="chief.work" server="worker.work"/>
"""
HEAD, HANDS = '<virtual-node name="head"/>', '<virtual-node name="hands"/>'
MAPPING = (
    '<virtual-node name="head" nodes="office/desk/node0"/>'
    '<virtual-node name="hands" nodes="lab/rack/blade1"/>'
)
BOTH = ADL.format(chief=HEAD, worker=HANDS)


def parts(call: str) -> str:
    return PARTS.replace("CALL", call)


def test_the_same_file_has_the_same_result_here_and_on_nodes(field_of_work: Field) -> None:
    field_of_work.write(parts('f"answer {self.work.where(21)[2]}"'), BOTH, MAPPING)
    assert field_of_work.run() == (0, "answer 42\n", "")
    code, output, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert (code, output, errors) == (0, "answer 42\n", "")


def test_each_component_lives_on_the_node_it_is_mapped_to(field_of_work: Field) -> None:
    call = "os.environ['GCM_NODE'], os.getpid(), *self.work.where(1)[:2]"
    field_of_work.write(parts(call), BOTH, MAPPING)
    code, output, _ = field_of_work.deploy().end()
    assert code == 0
    found = re.fullmatch(r"\('office/desk/node0', (\d+), 'lab/rack/blade1', (\d+)\)\n", output)
    assert found is not None, output
    assert found[1] != found[2]


def test_parts_of_a_composite_take_turns_and_nodes_that_get_none_are_named(
    field_of_work: Field,
) -> None:
    call = "os.environ['GCM_NODE'], self.work.where(1)[0]"
    inner = ADL.format(chief="", worker="")
    exported = inner.split("/>", 1)[0] + "/>"
    adl = (
        f'{exported}<component name="box">{inner}<virtual-node name="all"/></component>'
        '<binding client="this.run" server="box.run"/>'
    )
    mapping = '<virtual-node name="all" nodes="office/desk lab/rack"/>'
    field_of_work.write(parts(call), adl, mapping)
    code, output, errors = field_of_work.deploy().end()
    assert (code, output) == (0, "('office/desk/node0', 'office/desk/node1')\n")
    words = "gcm-deploy: lab/rack/blade1 of the virtual node 'all' has no component"
    assert words in errors


def test_a_component_without_a_virtual_node_lives_in_the_launcher(field_of_work: Field) -> None:
    field_of_work.write(
        parts("os.getpid(), os.environ.get('GCM_NODE'), self.work.where(1)[0]"),
        ADL.format(chief="", worker=HANDS),
        MAPPING.split("/>")[1] + "/>",
    )
    running = field_of_work.deploy()
    code, output, errors = running.end()
    assert (code, output) == (0, f"({running.process.pid}, None, 'lab/rack/blade1')\n"), errors


def test_nodes_that_cannot_be_reached_directly_talk_through_their_front_ends(
    field_of_work: Field,
) -> None:
    field_of_work.write(parts("self.work.where(4)[0::2]"), BOTH, MAPPING, reachability="front-end")
    code, output, _ = field_of_work.deploy().end()
    assert (code, output) == (0, "('lab/rack/blade1', 8)\n")


@pytest.mark.parametrize(("returned", "code"), [("0", 0), ("7", 7)])
def test_an_int_is_the_exit_code(field_of_work: Field, returned: str, code: int) -> None:
    field_of_work.write(parts(returned), BOTH, MAPPING)
    assert field_of_work.run() == (code, "", "")
    assert field_of_work.deploy("--quiet", "app.xml").end() == (code, "", "")


def test_an_int_that_is_no_exit_code_is_a_fault_in_both_ways(field_of_work: Field) -> None:
    field_of_work.write(parts("1000"), BOTH, MAPPING)
    code, out, words = field_of_work.run()
    assert (code, out) == (1, "")
    assert words.startswith("gcm run: `run` returned 1000, ")
    deployed = field_of_work.deploy("--quiet", "app.xml").end()
    assert deployed == (1, "", words.replace("gcm run: ", "gcm-deploy: "))


def test_what_components_print_arrives_complete(field_of_work: Field) -> None:
    call = "[print('line', n) for n in range(3000)] and print('no newline', end='')"
    field_of_work.write(parts(call), BOTH, MAPPING)
    code, output, _ = field_of_work.deploy("--tag-output", "--quiet", "app.xml").end()
    expected = [f"[office/desk/node0] line {n}" for n in range(3000)]
    assert (code, output.splitlines()) == (0, [*expected, "[office/desk/node0] no newline"])


def test_the_output_of_each_node_goes_to_a_file_of_its_own(field_of_work: Field) -> None:
    field_of_work.write(parts("print('hello') or 'done'"), BOTH, MAPPING)
    code, _, errors = field_of_work.deploy("--output-dir", "logs", "app.xml").end()
    assert code == 0, errors
    files = {path.name: path.read_text() for path in (field_of_work.folder / "logs").iterdir()}
    assert files == {"office.desk.node0.stdout": "hello\n", "assembly.stdout": "done\n"}


def test_an_exception_on_a_node_shows_its_own_lines(field_of_work: Field) -> None:
    field_of_work.write(parts("self.work.where(-3)"), BOTH, MAPPING)
    code, output, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert (code, output) == (1, "")
    assert "LookupError: there is no -3" in errors
    assert 'raise LookupError(f"there is no {number}")' in errors
    assert f'File "{field_of_work.folder}/parts.py", line 16, in where' in errors
    assert "raised in /app/worker, in the process /nodes/lab/rack/blade1" in errors
    assert field_of_work.run()[2].endswith("LookupError: there is no -3\n")


def test_components_of_one_virtual_node_are_dealt_out_over_its_nodes(
    field_of_work: Field,
) -> None:
    module = PARTS.replace(
        "work: Annotated[Work, requires()]",
        "works: Annotated[dict[str, Work], requires(cardinality=Cardinality.COLLECTION)]",
    ).replace("CALL", "sorted(one.where(0)[0] for one in self.works.values())")
    workers = "".join(
        f'<component name="w{n}"><content class="parts.Worker"/>{HANDS}</component>'
        f'<binding client="chief.works{n}" server="w{n}.work"/>'
        for n in range(4)
    )
    adl = (
        '<interface name="run" role="server" signature="parts.Run"/>'
        '<component name="chief"><content class="parts.Chief"/></component>'
        f'{workers}<binding client="this.run" server="chief.run"/>'
    )
    field_of_work.write(module, adl, '<virtual-node name="hands" nodes="lab/rack office/desk"/>')
    code, output, errors = field_of_work.deploy().end()
    expected = ["lab/rack/blade1", "lab/rack/blade1", "office/desk/node0", "office/desk/node1"]
    assert (code, output) == (0, f"{expected}\n"), errors
