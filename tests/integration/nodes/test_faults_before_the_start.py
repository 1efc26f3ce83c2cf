"""What is wrong with an assembly is told with what is wrong with its descriptor, before a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
    code, _, errors = field_of_work.deploy("app.xml").end()
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
    assert code == 0
    assert "gcm check" in errors
    assert output.startswith("deployment app: 2 sites, 2 clusters, 3 nodes, 0 ranks\n")


@pytest.mark.parametrize("option", ["--dry-run", "--show-variables", "--export-adl=m.fractal"])
def test_what_starts_nothing_runs_no_module_of_the_assembly(
    field_of_work: Field, option: str
) -> None:
    module = f"open({str(field_of_work.folder / 'ran')!r}, 'w').close()\n{MODULE}"
    field_of_work.write(module, ADL.format(name="Chief"), "")
    words = option.split("=")
    code, _, errors = field_of_work.deploy(*words, "app.xml").end()
    assert code == 0, errors
    assert not (field_of_work.folder / "ran").exists()
    if option == "--dry-run":
        assert f"gcm check {field_of_work.folder / 'app.fractal'}\n" in errors


def test_what_the_documents_say_is_checked_by_a_dry_run(field_of_work: Field) -> None:
    field_of_work.write(MODULE, '<component name="c" definition="Missing"/>', MAPPING)
    code, _, errors = field_of_work.deploy("--dry-run", "app.xml").end()
    assert code == 201
    assert "app.fractal:1: error[missing-definition]" in errors
    assert "app.xml:1: error" in errors
