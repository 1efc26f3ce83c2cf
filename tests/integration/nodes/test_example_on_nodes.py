"""The example of components on nodes has the same result here and there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.on_grids import ROOT

if TYPE_CHECKING:
    from tests.integration.nodes.conftest import Field

EXAMPLE = ROOT / "examples" / "12_components_on_nodes" / "farm.fractal"
DESCRIPTOR = ROOT / "descriptors" / "components-on-nodes.xml"


def test_the_farm_finds_the_same_here_and_on_five_nodes(field_of_work: Field) -> None:
    code, output, errors = field_of_work.run(str(EXAMPLE))
    assert (code, output) == (0, "primes below 20000: 2262\n")
    assert errors.count("lives on no node") == 5
    code, deployed, errors = field_of_work.deploy("--quiet", str(DESCRIPTOR)).end()
    assert (code, deployed) == (0, output)
    found = re.findall(r"^(.*) lives on (\S+): process (\d+) of", errors, re.MULTILINE)
    assert sorted((who, node) for who, node, _ in found) == [
        ("a worker", "lab/rack/blade01"),
        ("a worker", "lab/rack/blade02"),
        ("a worker", "lab/rack/blade03"),
        ("a worker", "office/desk/node1"),
        ("the farmer", "office/desk/node0"),
    ]
    assert len({pid for *_, pid in found}) == 5
