"""Adds a worker to the farm while it runs, from a second terminal.

    gcm-deploy descriptors/components-on-nodes.xml      # in the first one; gcm-deploy ps names it
    python examples/12_components_on_nodes/add_worker.py 4711

`gcm-deploy add 4711 examples/12_components_on_nodes/worker.fractal --node lab/rack/blade03` does
the same. The worker lives beside the farm, until that ends; with `bind` it would be bound to it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from runtime import add_component

WORKER = Path(__file__).with_name("worker.fractal")


def main(run: str, node: str = "lab/rack/blade03") -> None:
    path = add_component(run, str(WORKER), node=node)
    print(f"{path} lives on {node}")


if __name__ == "__main__":
    main(*sys.argv[1:])
