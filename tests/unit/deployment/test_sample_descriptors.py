"""Every descriptor in descriptors/ is correct, fits the schema and can be planned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lxml import etree

from gcm.documents import Diagnostics
from runtime.deployment import (
    Deployment,
    DeploymentPlan,
    DescriptorContext,
    make_plan,
    plan_as_dict,
    read_descriptor,
    render_plan,
)
from runtime.step_name import StepName
from runtime.topology.tree import Reachability
from tools.on_grids import ROOT

SAMPLES = sorted((ROOT / "descriptors").glob("*.xml"))


def deployment_of(name: str) -> Deployment:
    diagnostics = Diagnostics()
    found = read_descriptor(
        ROOT / "descriptors" / name,
        surroundings=DescriptorContext(str(ROOT / "descriptors"), environment={"USER": "me"}),
        diagnostics=diagnostics,
    )
    assert [str(one) for one in diagnostics] == []
    assert found is not None
    return found


def plan_of(name: str) -> DeploymentPlan:
    return make_plan(deployment_of(name))


def test_the_samples_are_the_documented_ones() -> None:
    text = (ROOT / "docs" / "descriptor.md").read_text(encoding="utf-8")
    assert len(SAMPLES) == 9
    for sample in SAMPLES:
        assert f"| `{sample.name}` |" in text


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_fits_the_schema_and_can_be_planned_and_shown(sample: Path) -> None:
    schema = etree.XMLSchema(etree.parse(str(ROOT / "runtime" / "deployment" / "descriptor.xsd")))
    schema.assertValid(etree.parse(str(sample)))
    plan = plan_of(sample.name)
    text = render_plan(plan)
    assert text.startswith(f"deployment {plan.deployment.name}: ")
    assert all(str(step.name) in text for step in plan.steps)
    assert json.loads(json.dumps(plan_as_dict(plan)))["depth"] == plan.depth


def test_laptop_has_five_lines_and_eight_ranks() -> None:
    text = (ROOT / "descriptors" / "laptop.xml").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 5
    assert plan_of("laptop.xml").grid.size == 8


def test_quickstart_is_two_sites_of_two_clusters_of_two_ranks_on_this_machine() -> None:
    found = deployment_of("quickstart.xml")
    assert [[cluster.ranks for cluster in site.clusters] for site in found.sites] == [[2, 2]] * 2
    assert all(cluster.is_local for cluster in found.clusters())
    (ring,) = found.applications
    assert ring.path == str(ROOT / "examples" / "10_ring" / "ring.py")


def test_two_sites_have_a_jump_host_and_both_flavours_of_mpi() -> None:
    first, second = deployment_of("two-sites-ssh.xml").clusters()
    assert (len(first.hops), len(second.hops)) == (1, 2)
    assert (first.mpi.flavour, second.mpi.flavour) == ("mpich", "openmpi")
    assert second.reachability is Reachability.OUTWARDS


def test_the_ocean_waits_for_its_input_and_the_atmosphere_does_not() -> None:
    plan = plan_of("coupled-codes.xml")
    assert StepName.parse("process:prepare") in plan.step(StepName.parse("ranks:0:0")).depends_on
    assert plan.step(StepName.parse("ranks:1:0")).depends_on == (StepName.parse("front-end:1:0"),)


def test_components_are_placed_on_five_nodes() -> None:
    plan = plan_of("components-on-nodes.xml")
    control, workers = plan.deployment.virtual_nodes
    assert (len(control.nodes), len(workers.nodes)) == (1, 4)
    assert sum(step.kind == "node" for step in plan.steps) == 5
