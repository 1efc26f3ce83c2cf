"""What is wrong with an assembly is told with what is wrong with its descriptor, before a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

MODULE = """
from typing import Protocol
from gcm import provides

class Run(Protocol):
    def run(self, times: int) -> None: ...

@provides("run", Run)
class Chief:
    def run(self, times): ...
"""
ADL = '<interface name="run" role="server" signature="parts.Run"/><content class="parts.{name}"/>'
MAPPING = '<virtual-node name="hands" nodes="office/desk/node7"/>'


def test_faults_of_assembly_and_descriptor_are_told_at_once(field_of_work: Field) -> None:
    field_of_work.write(MODULE, ADL.format(name="Chef"), MAPPING)
    code, output, errors = field_of_work.deploy("app.xml").end()
    assert (code, output) == (201, "")
    assert "app.fractal:1: error" in errors
    assert "did you mean 'Chief'" in errors
    assert "app.xml:1: error" in errors
    assert errors.endswith("2 faults\n")


def test_a_run_that_cannot_be_called_is_a_fault(field_of_work: Field) -> None:
    field_of_work.write(MODULE, ADL.format(name="Chief"), "")
    code, _, errors = field_of_work.deploy("--dry-run", "app.xml").end()
    assert code == 201
    assert "error[not-runnable]" in errors
    assert "with the parameters times" in errors
    assert errors.endswith("1 fault\n")


def test_arguments_of_the_descriptor_reach_the_definition(field_of_work: Field) -> None:
    module = MODULE.replace("times: int)", "times: int = 1)").replace(
        "times): ...", "times=1): ..."
    )
    field_of_work.write(module, '<content class="${class}"/>', "")
    adl, descriptor = field_of_work.folder / "app.fractal", field_of_work.folder / "app.xml"
    adl.write_text(adl.read_text().replace('name="app"', 'name="app" arguments="class"'))
    code, _, errors = field_of_work.deploy("--dry-run", "app.xml").end()
    assert code == 201
    assert "error[missing-argument]" in errors
    text = descriptor.read_text().replace(
        "app.fractal", 'app.fractal" arguments="class=parts.Chief'
    )
    descriptor.write_text(text)
    code, output, errors = field_of_work.deploy("--dry-run", "app.xml").end()
    assert (code, errors) == (0, "")
    assert output.startswith("deployment app: 2 sites, 2 clusters, 3 nodes, 0 ranks\n")
