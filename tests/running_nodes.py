"""A running machine whose nodes are on this host, for tests that make components on them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gcm.factory import ComponentPlace
from runtime import Machine, planned

ADL = """
<definition name="empty">
  <component name="box"><virtual-node name="all"/><controller desc="composite"/></component>
</definition>
"""
GRID = """
<deployment name="nodes">
  <assembly file="empty.fractal"/>
  <virtual-node name="all" nodes="here/rack"/>
  <grid><site name="here"><cluster name="rack"><nodes names="{names}" hosts="localhost"/>
  </cluster></site></grid>
</deployment>
"""


@contextmanager
def running_nodes(count: int) -> Iterator[ComponentPlace]:
    """Start a machine of so many nodes; primitives take turns on them in what it yields."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "empty.fractal").write_text(ADL)
        Path(folder, "nodes.xml").write_text(GRID.format(names=f"n[1-{count}]"))
        with Machine(planned(f"{folder}/nodes.xml"), steered=True) as machine:
            yield machine.taking_turns(60)
