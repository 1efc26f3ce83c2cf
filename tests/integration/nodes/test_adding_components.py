"""Components that another terminal adds to an assembly that runs: `gcm-deploy add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from runtime import UsageError, add_component
from tests.leftovers import marked_processes

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

PARTS = """
import os
from typing import Annotated, Protocol
from gcm import provides, requires

class Work(Protocol):
    def work(self, text: str) -> str: ...

@provides("work", Work)
class Worker:
    def on_start(self):
        print("the worker serves", flush=True)
    def work(self, text):
        return f"{text} on {os.environ['GCM_NODE']}"

class Spy:
    work: Annotated[Work, requires()]
    def on_start(self):
        print("the spy on", os.environ["GCM_NODE"], "sees", self.work.work("work"), flush=True)

class Broken:
    def on_start(self):
        raise ValueError("no part of it")
"""
ADL = """
<component name="worker"><content class="parts.Worker"/><virtual-node name="head"/></component>
"""
MAPPING = """
<virtual-node name="head" nodes="office/desk/node0"/>
<virtual-node name="spare" nodes="lab/rack/blade1"/>
"""
SPY = """
<definition name="{name}">
  <interface name="work" role="client" signature="parts.Work"/>
  <component name="inner"><content class="parts.Spy"/></component>
  <binding client="inner.work" server="this.work"/>
</definition>
"""
BROKEN = '<definition name="broken"><content class="parts.Broken"/></definition>'
THERE = "lab/rack/blade1"


def test_another_terminal_adds_a_component_on_a_node_that_calls_one_that_runs(
    field_of_work: Field,
) -> None:
    field_of_work.write(PARTS, ADL, MAPPING)
    files = {
        "spy": SPY.format(name="spy"),
        "second": SPY.format(name="second"),
        "broken": BROKEN,
        "third": SPY.format(name="third"),
    }
    for name, text in files.items():
        (field_of_work.folder / f"{name}.fractal").write_text(text)
    running = field_of_work.deploy()
    running.until("the worker serves")
    process = str(running.process.pid)

    def add(*words: str) -> tuple[int, str, str]:
        return field_of_work.start("runtime.cli", "add", process, *words).end()

    wanted = "spy.fractal", "--node", THERE, "--bind", "spy.work=app/worker.work"
    assert add(*wanted) == (0, f"added /spy on {THERE}\n", "")
    running.until(f"the spy on {THERE} sees work on office/desk/node0")
    code, _, errors = add(*wanted)
    assert code == 202
    assert "spy" in errors
    code, _, errors = add("second.fractal", "--node", "lab/rack/blade2")
    assert code == 202
    assert "there is no node 'lab/rack/blade2' that components can live on" in errors
    code, _, errors = add("second.fractal", "--node", THERE)  # what it needs is not bound
    assert code == 202
    assert "work" in errors
    code, _, errors = add("broken.fractal", "--node", THERE)
    assert code == 202
    assert "ValueError: no part of it" in errors
    second = field_of_work.folder / "second.fractal"
    bind = ["second.work=app/worker.work"]
    added = add_component(running.process.pid, str(second), node=THERE, bind=bind)
    assert added == "/second"  # nothing of it was left before
    bind = ["third.work=nowhere.work"]
    with pytest.raises(UsageError, match="'nowhere.work' is no interface of a component here"):
        add_component(
            running.process.pid, str(field_of_work.folder / "third.fractal"), node=THERE, bind=bind
        )
    running.interrupt()
    code, output, errors = running.end()
    assert code == 130, errors
    assert output.count("the spy on") == 2
    assert field_of_work.wait_until_gone() == []


def test_nothing_is_added_to_what_is_no_run_of_an_assembly(field_of_work: Field) -> None:
    (field_of_work.folder / "broken.fractal").write_text(BROKEN)
    code, _, errors = field_of_work.start(
        "runtime.cli", "add", "1", "broken.fractal", "--node", THERE
    ).end()
    assert code == 202
    assert "process 1 is not one of your runs" in errors
    assert marked_processes("GCM_TEST_NODES", field_of_work.mark) == {}
