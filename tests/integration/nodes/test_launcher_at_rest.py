"""Components on nodes need no launcher for what they have to say to each other."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

PARTS = """
import time
from pathlib import Path
from typing import Annotated, Protocol
import numpy as np
from gcm import Runnable, provides, redistribute, requires

class Work(Protocol):
    def work(self, number: int) -> int: ...

class Surface(Protocol):
    def put(self, heat: Annotated[np.ndarray, redistribute]) -> np.ndarray: ...

@provides("work", Work)
class Worker:
    def work(self, number):
        return number + 1

@provides("surface", Surface)
class Taker:
    def put(self, heat):
        return heat + 1

@provides("run", Runnable)
class Chief:
    work: Annotated[Work, requires()]
    air: Annotated[Surface, requires()]
    def run(self):
        print("ready", flush=True)
        while not Path("at-rest").exists():
            time.sleep(0.02)
        begin, number = time.monotonic(), 0
        while time.monotonic() - begin < 10:
            number = self.work.work(number)
            sums = self.air.put(np.full((10, 4096), number)).sum(axis=1)
            assert (sums == 4096 * (number + 1)).all()
            time.sleep(0.01)
        Path("found.part").write_text(str(number))
        Path("found.part").rename("found")
        return "gone on"
"""
ADL = """
<interface name="run" role="server" signature="gcm.Runnable"/>
<binding client="this.run" server="left.run"/>
<component name="left">
  <interface name="run" role="server" signature="gcm.Runnable"/>
  <binding client="this.run" server="chief.run"/>
  <interface name="out" role="client" signature="parts.Work"/>
  <interface name="air" role="client" signature="parts.Surface"/>
  <component name="chief"><content class="parts.Chief"/><virtual-node name="head"/></component>
  <binding client="chief.work" server="this.out"/>
  <binding client="chief.air" server="this.air"/>
  <virtual-node name="head"/>
</component>
<component name="right">
  <interface name="in" role="server" signature="parts.Work"/>
  <component name="worker"><content class="parts.Worker"/><virtual-node name="hands"/></component>
  <binding client="this.in" server="worker.work"/>
</component>
<component name="air">
  <interface name="surface" role="server" signature="parts.Surface" cardinality="multicast"/>
  <component name="one"><content class="parts.Taker"/></component>
  <component name="two"><content class="parts.Taker"/><virtual-node name="other"/></component>
  <binding client="this.surface" server="one.surface"/>
  <binding client="this.surface" server="two.surface"/>
  <virtual-node name="hands"/>
</component>
<binding client="left.out" server="right.in"/>
<binding client="left.air" server="air.surface"/>
"""
MAPPING = (
    '<virtual-node name="head" nodes="office/desk/node0"/>'
    '<virtual-node name="other" nodes="office/desk/node1"/>'
    '<virtual-node name="hands" nodes="lab/rack/blade1"/>'
)
LONG = 40.0


@pytest.mark.parametrize("reachability", ["direct"])
def test_components_go_on_while_the_launcher_is_stopped(
    field_of_work: Field, reachability: str
) -> None:
    field_of_work.write(PARTS, ADL, MAPPING, reachability=reachability)
    running = field_of_work.deploy("--quiet", "app.xml")
    running.until("ready")
    running.process.send_signal(signal.SIGSTOP)
    try:
        (field_of_work.folder / "at-rest").touch()
        found = field_of_work.folder / "found"
        deadline = time.monotonic() + LONG
        while not found.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert int(found.read_text()) > 10
    finally:
        running.process.send_signal(signal.SIGCONT)
    assert running.end() == (0, "ready\ngone on\n", "")
