"""What a front-end is sent, made of the plan and of what was found at its place."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from gcm.documents import Diagnostics
from runtime.deployment import DeploymentPlan, DescriptorContext, make_plan, read_descriptor
from runtime.processes.configuration import FrontEndSettings
from runtime.processes.launcher.configuring import (
    PreparedPlace,
    StartTerms,
    front_end_settings,
    keys_of,
)
from runtime.transport.keys import RunKeys
from tools.on_grids import ROOT

PLACE = PreparedPlace("/opt/bin/python", "/tmp/gcm-run", "/home/me", library="/lib", search="/lib")


@pytest.fixture(scope="module")
def plan() -> DeploymentPlan:
    folder, diagnostics = ROOT / "descriptors", Diagnostics()
    context = DescriptorContext(str(folder), environment={"USER": "me"})
    found = read_descriptor(
        folder / "monte-carlo.xml", surroundings=context, diagnostics=diagnostics
    )
    assert found is not None, [str(one) for one in diagnostics]
    return make_plan(found)


def settings(
    plan: DeploymentPlan, number: int = 0, *, idle: bool = False, is_late: bool = False
) -> FrontEndSettings:
    cluster = [*plan.deployment.clusters()][number]
    keys = keys_of(plan, cluster, RunKeys(b"secret"), is_dialling=False)
    return front_end_settings(plan, cluster, PLACE, StartTerms(keys, idle=idle, is_late=is_late))


def test_paths_are_those_of_the_place_and_not_of_the_plan(plan: DeploymentPlan) -> None:
    made = settings(plan)
    assert made.job is not None
    assert made.job.program.python == PLACE.python
    assert made.job.environment["PYTHONPATH"] == "/lib"
    assert (made.run_directory, made.folder) == (PLACE.run_directory, PLACE.folder)


def test_ranks_are_told_what_the_plan_says_of_all(plan: DeploymentPlan) -> None:
    one, two = settings(plan, 0), settings(plan, 1)
    assert one.cluster != two.cluster
    assert one.settings.is_joined
    assert one.settings.explain_waits == two.settings.explain_waits
    assert one.settings.explain_waits == plan.deployment.explain_waits


def test_ranks_that_wait_for_somebody_are_not_started_at_once(plan: DeploymentPlan) -> None:
    assert settings(plan, is_late=True).at_once
    assert not settings(plan, is_late=True, idle=True).at_once
    late = settings(plan, is_late=True).job
    assert late is not None
    assert late.is_late


def test_the_settings_of_a_front_end_stay_as_they_are(plan: DeploymentPlan) -> None:
    made = settings(plan)
    with pytest.raises(FrozenInstanceError):
        made.folder = "/elsewhere"  # type: ignore[misc]
