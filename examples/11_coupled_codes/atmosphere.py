"""The atmosphere of two coupled codes: columns of air that give and take heat at the surface.

Its ranks are on two clusters, and there are more of them than of the ocean: each has its own
stretch of columns and exchanges pieces with those ranks of the ocean that lie below.
"""

from __future__ import annotations

import sys

import numpy as np
from surface import AIR, FLUX, STEPS, SURFACE, exchange, overlaps, stretch

from runtime import coupling


def main() -> int:
    """Compute for as many steps as are asked for; return the exit code."""
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else STEPS
    begin, end = stretch(coupling.rank, coupling.size)
    air = np.full(end - begin, AIR)
    neighbours = list(overlaps((begin, end), coupling.codes["ocean"]))
    for _ in range(steps):
        for rank, first, last in neighbours:
            below = coupling.recv(code="ocean", rank=rank, tag=SURFACE)
            flux = exchange(air[first:last], below)
            air[first:last] -= flux
            coupling.send(flux, code="ocean", rank=rank, tag=FLUX)
    print(f"atmosphere: cells {begin} to {end - 1}, heat {air.sum():.6f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
