"""The assembly of a machine says what its processes answer about their own bindings."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gcm.adl.writing.describe import export
from gcm.documents import Diagnostics
from gcm.errors import GcmError
from gcm.membranes.content import ContentController
from gcm.membranes.interceptor import InterceptorController
from runtime.deployment import DeploymentPlan, make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.launcher.bindings import ReportedBinding, bindings_of
from runtime.processes.launcher.machine import Machine
from runtime.processes.part_controllers import HealthController

pytestmark = pytest.mark.mpi

SLEEP = "import time; time.sleep(600)"
NATIVE = ("/bin/sleep", "600")
PATIENCE = 60.0


def answered(
    machine: Machine, *, until: Callable[[set[ReportedBinding], dict[str, str]], bool]
) -> None:
    """Ask until the answers are as they should be, or it has taken too long."""
    deadline = time.monotonic() + PATIENCE
    while machine.state is not RunPhase.RUNNING:  # before that there is nobody to ask
        assert time.monotonic() < deadline, machine.state
        time.sleep(0.05)
    while not until(*(said := machine.bindings())):
        assert time.monotonic() < deadline, said
        time.sleep(0.05)


def planned(folder: Path, descriptor: str) -> DeploymentPlan:
    (folder / "program.py").write_text(SLEEP)
    path = folder / "grid.xml"
    path.write_text(descriptor)
    faults = Diagnostics()
    around = surroundings_of(str(path), python=sys.executable)
    read = read_descriptor(str(path), surroundings=around, diagnostics=faults)
    assert read is not None, list(map(str, faults))
    return make_plan(read)


def test_each_process_is_bound_as_the_assembly_says_before_and_after_a_restart(
    steer: Callable[..., Machine],
) -> None:
    machine = steer(ranks=2, air=SLEEP, native=NATIVE)
    whole = bindings_of(machine.assembly)
    up, down = "/grid/here/air/wrapper1.health-up", "/grid/here/air/clustering.control-down"
    assert ReportedBinding(up, "/grid/here/air/clustering.health") in whole
    assert ReportedBinding(down, "/grid/here/air/wrapper1.control") in whole
    answered(machine, until=lambda found, silent: (found, silent) == (whole, {}))
    part = machine.assembly.find("here/air")
    assert [one.state for one in (machine.assembly, part, *part.children)] == ["started"] * 5

    machine.code("air").control.kill()
    answered(
        machine,
        until=lambda found, silent: (
            found == {one for one in whole if "/air/wrapper" not in f"{one}"}
            and set(silent) == {"/grid/here/air/wrapper0", "/grid/here/air/wrapper1"}
        ),
    )
    assert set(machine.bindings()[1].values()) == {"it does not run: it is stopped"}
    states = {one.name: one.state for one in part.children}
    assert states == {"clustering": "started", "wrapper0": "stopped", "wrapper1": "stopped"}
    machine.code("air").control.start()
    answered(machine, until=lambda found, silent: (found, silent) == (whole, {}))
    assert {one.state for one in part.children} == {"started"}
    machine.stop()
    machine.wait(PATIENCE)
    assert {one.state for one in (machine.assembly, *part.children)} == {"terminated"}


def test_a_forwarded_cluster_is_bound_as_any_other_and_has_its_own_name(tmp_path: Path) -> None:
    plan = planned(
        tmp_path,
        '<deployment name="t"><application script="program.py"/><grid><mpi ranks="1"/>'
        '<site name="north"><cluster name="alder"/></site>'
        '<site name="south"><cluster name="cedar" reachability="front-end"/></site>'
        "</grid><failure-detector/></deployment>",
    )
    with Machine(plan) as machine:
        assert machine.assembly.find("north/alder").path == "/grid/north/alder"
        whole = bindings_of(machine.assembly)
        top = ReportedBinding("/grid/clustering.views-down", "/grid/south/clustering.views")
        peers = "/grid/north/alder/wrapper0.peers", "/grid/south.delivery-application"
        assert {top, ReportedBinding(*peers)} <= whole
        answered(machine, until=lambda found, silent: (found, silent) == (whole, {}))
        check_that_it_is_not_changed(machine)
        exported = export(machine.assembly)
        assert 'name="cedar"' in exported
        assert "site1" not in exported


def check_that_it_is_not_changed(machine: Machine) -> None:
    """Try what would change nothing in the processes, and ask what they can answer."""
    part: Any = machine.assembly.find("north/alder")
    clustering, rank = part.find("clustering"), part.find("wrapper0")
    assert {one.state for one in (machine.assembly, part, clustering, rank)} == {"started"}
    attempts: list[tuple[Callable[[], object], str]] = [
        (machine.assembly.stop, "Machine.stop() ends the run"),
        (lambda: rank.controller(InterceptorController).add(Seen()), "<interceptor class="),
        (lambda: rank.unbind("health-up"), "deploy it again"),
        (lambda: machine.assembly.controller(ContentController).remove(part), "deploy it again"),
        (rank.server("control").stub.stop, "machine.code(name)"),
        (lambda: part.server("views").stub.view(b""), "machine.code(name)"),
    ]
    for attempt, cure in attempts:
        begun = time.monotonic()
        with pytest.raises(GcmError) as caught:
            attempt()
        assert cure in caught.value.cure
        assert time.monotonic() - begun < 5  # a stopped component would hold the call
    assert {one.state for one in (machine.assembly, part, clustering, rank)} == {"started"}
    assert clustering.controller(HealthController).suspects() == []
    assert clustering.content.ask("lifecycle-controller", "state") == "started"


class Seen:
    def before(self, call: object) -> None: ...
    def after(self, call: object, error: BaseException | None) -> None: ...


def test_ranks_of_one_code_are_bound_to_each_other_also_once_it_was_started_again(
    tmp_path: Path,
) -> None:
    plan = planned(
        tmp_path,
        '<deployment name="t"><application name="air" script="program.py"'
        ' clusters="north/alder north/birch south/cedar"/>'
        '<application name="sea" script="program.py" clusters="south/fir"/><grid><mpi ranks="1"/>'
        '<controller role="plan-choice" class="plans.Chain"/>'
        '<site name="north"><cluster name="alder"/><cluster name="birch"/></site>'
        '<site name="south"><cluster name="cedar" reachability="front-end"/><cluster name="fir"/>'
        "</site></grid></deployment>",
    )
    with Machine(plan, steered=True) as machine:
        whole = bindings_of(machine.assembly)
        assert {str(one) for one in whole if "/birch/wrapper0.peers" in one.client} == {
            "/grid/north/birch/wrapper0.peers -> /grid/north/alder.delivery",
            "/grid/north/birch/wrapper0.peers -> /grid/south.delivery-air",
        }
        assert not any("/fir/wrapper0.peers" in one.client for one in whole)
        answered(machine, until=lambda found, silent: (found, silent) == (whole, {}))
        machine.code("air").control.kill()
        machine.code("air").control.start()
        answered(machine, until=lambda found, silent: (found, silent) == (whole, {}))
        assert "plan-choice: plans.Chain" in export(machine.assembly)
