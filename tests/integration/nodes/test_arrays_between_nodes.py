"""Arrays that are spread over components on nodes go from node to node, past the launcher."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

ROUNDS, ROWS, COLUMNS = 3, 6, 100_000
ARRAY = ROWS * COLUMNS * 8

PARTS = f"""
import gc
from typing import Annotated, Protocol
import numpy as np
from gcm import Runnable, attribute, provides, redistribute, requires
from runtime.transport.channel import Channel

class Surface(Protocol):
    def put(self, heat: Annotated[np.ndarray, redistribute], step: int) -> np.ndarray: ...

class Model(Protocol):
    def advance(self, step: int) -> str: ...

class Models(Protocol):
    def advance(self, step: int) -> list[str]: ...

@provides("model", Model)
class Ocean:
    air: Annotated[Surface, requires()]
    first: Annotated[int, attribute()] = 0
    size: Annotated[int, attribute()] = 1
    def advance(self, step):
        rows = np.arange(self.first, self.first + self.size, dtype=float)
        wind = self.air.put(np.repeat(rows, {COLUMNS}).reshape(self.size, {COLUMNS}), step)
        return [float(row[0]) for row in wind if (row == row[0]).all()]

@provides("surface", Surface)
class Air:
    def put(self, heat, step):
        return heat * 10 + step + 100 * len(heat)

@provides("run", Runnable)
class Driver:
    ocean: Annotated[Models, requires()]
    def run(self):
        before = passed_here()
        for step in range({ROUNDS}):
            winds = self.ocean.advance(step)
        print(winds, (passed_here() - before) / {ROUNDS * ARRAY})

def passed_here():
    channels = [one for one in gc.get_objects() if type(one) is Channel]
    assert channels, "the launcher has a connection to each front-end"
    return sum(one.received_bytes + one.sent_bytes for one in channels)
"""


def documented(first: str) -> str:
    """Return the form of `examples/05_m_by_n`, the first member of the air on a node of its own."""
    ocean = "".join(
        f"""
        <component name="o{n}">
          <content class="parts.Ocean"/>
          <attributes><attribute name="first" value="{begin}"/>
            <attribute name="size" value="{size}"/></attributes>
          <controller desc="active"/><virtual-node name="{node}"/>
        </component>
        <binding client="this.models" server="o{n}.model"/>
        <binding client="o{n}.air" server="this.air"/>"""
        for n, (begin, size, node) in enumerate([(0, 2, "one"), (2, 3, "two"), (5, 1, "two")])
    )
    air = "".join(
        f"""
        <component name="a{n}"><content class="parts.Air"/>{place}</component>
        <binding client="this.surface" server="a{n}.surface"/>"""
        for n, place in enumerate([first, '<virtual-node name="three"/>'])
    )
    return f"""
      <interface name="run" role="server" signature="gcm.Runnable"/>
      <component name="driver"><content class="parts.Driver"/></component>
      <component name="ocean">
        <interface name="models" role="server" signature="parts.Models" cardinality="multicast"/>
        <interface name="air" role="client" signature="parts.Surface" cardinality="multicast"/>
        {ocean}
      </component>
      <component name="air">
        <interface name="surface" role="server" signature="parts.Surface"
          cardinality="gathercast"/>
        {air}
      </component>
      <binding client="this.run" server="driver.run"/>
      <binding client="driver.ocean" server="ocean.models"/>
      <binding client="ocean.air" server="air.surface"/>"""


MAPPING = (
    '<virtual-node name="one" nodes="office/desk/node0"/>'
    '<virtual-node name="two" nodes="office/desk/node1"/>'
    '<virtual-node name="three" nodes="lab/rack/blade1"/>'
)
WINDS = [[302, 312], [322, 332, 342], [352]]


@pytest.mark.parametrize(
    ("first", "most"),
    [
        pytest.param('<virtual-node name="one"/>', 0.05, id="all on nodes"),
        # Three rows come here and three results leave, each once.
        pytest.param("", 1.05, id="one member in the launcher"),
    ],
)
def test_the_launcher_passes_on_no_array_that_it_does_not_want(
    field_of_work: Field, first: str, most: float
) -> None:
    field_of_work.write(PARTS, documented(first), MAPPING)
    winds = [[float(one) for one in member] for member in WINDS]
    code, output, errors = field_of_work.deploy("--quiet", "app.xml").end()
    assert (code, errors) == (0, "")
    found, _, arrays = output.rpartition(" ")
    assert found == str(winds)
    assert float(arrays) < most
