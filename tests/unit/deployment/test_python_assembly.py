"""An `Assembly` made in Python, on the machine of a descriptor or of a shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.adl import Assembly, outline_of_plan, plan_document
from gcm.documents import Diagnostics
from runtime.deployment.planning.spreading import spread_components
from runtime.deployment.python_assembly import deployment_of_assembly
from runtime.errors import GridError


class Part:
    pass


def app() -> Assembly:
    made = Assembly("app")
    made.primitive("a", Part, node="head")
    made.primitive("b", Part, node="hands")
    made.composite("box", node="hands").primitive("c", Part)
    return made


def placed(machine: str) -> dict[str, str]:
    made = app()
    return dict(
        spread_components(outline_of_plan(made.plan().root), deployment_of_assembly(made, machine))
    )


def test_on_a_shape_each_virtual_node_begins_at_another_node() -> None:
    assert placed("1x2x1") == {
        "/app/a": "site0/cluster0/node0",
        "/app/b": "site0/cluster1/node0",
        "/app/box": "site0/cluster0/node0",
        "/app/box/c": "site0/cluster0/node0",
    }


def test_a_document_of_it_places_the_same_components(tmp_path: Path) -> None:
    (tmp_path / "app.fractal").write_text(app().to_xml())
    plan = plan_document(tmp_path / "app.fractal", diagnostics=Diagnostics())
    assert plan is not None
    deployment = deployment_of_assembly(app(), "1x2x1")
    assert dict(spread_components(outline_of_plan(plan.root), deployment)) == placed("1x2x1")


GRID = (
    '<grid><site name="s"><cluster name="c"><nodes names="n[1-2]" hosts="localhost"/>'
    "</cluster></site></grid></deployment>"
)


def test_a_descriptor_maps_the_virtual_nodes_and_has_its_faults_at_its_lines(
    tmp_path: Path,
) -> None:
    lab = tmp_path / "lab.xml"
    mapping = '\n<virtual-node name="head" nodes="s/c/n2"/>'
    lab.write_text(f'<deployment>{mapping}<virtual-node name="hands" nodes="s"/>{GRID}')
    assert placed(str(lab))["/app/a"] == "s/c/n2"
    lab.write_text(f"<!-- not <deployment> but -->{lab.read_text()}")
    assert placed(str(lab))["/app/a"] == "s/c/n2"
    lab.write_text(f"<deployment>{mapping}\n{GRID}")
    with pytest.raises(GridError) as caught:
        placed(str(lab))
    assert "uses virtual node 'hands', which is mapped to no node" in caught.value.cause
    lab.write_text("<deployment/>")
    with pytest.raises(GridError, match="the assembly 'app' cannot be deployed there"):
        placed(str(lab))


def test_a_machine_that_is_not_there_is_named() -> None:
    with pytest.raises(GridError, match=r"the machine 'absent.xml' cannot be read: No such file"):
        placed("absent.xml")
