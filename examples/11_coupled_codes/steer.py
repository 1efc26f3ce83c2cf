"""Drives the two codes from Python: watches the ocean, stops and starts codes, reads their output.

Needs the package's `mpi` extra. Run it from the folder of the project:

    python examples/11_coupled_codes/steer.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from runtime import Machine, planned

DESCRIPTOR = Path(__file__).parents[2] / "descriptors" / "coupled-codes.xml"


def main() -> int:
    """Run the codes, restart them; return the exit code."""
    with Machine(planned(DESCRIPTOR), steered=True, idle=True) as machine:
        ocean, atmosphere = machine.code("ocean"), machine.code("atmosphere")
        for run in (1, 2):
            atmosphere.control.start()
            ocean.control.start()
            means = [ocean.messages.recv(rank=0) for _ in range(10)]
            codes = ocean.control.wait(), atmosphere.control.wait()
            print(f"run {run}: mean {means[0]:.3f} to {means[-1]:.3f}, exit codes {codes}")
        for line in ocean.control.output():
            print(line.text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
