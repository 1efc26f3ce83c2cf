"""The atmosphere of two coupled codes: columns of air that give and take heat at the surface.

It has more ranks than the ocean, on two clusters: each has its own stretch of columns and exchanges
pieces with the ranks of the ocean below it.
"""

from __future__ import annotations

import sys

import numpy as np
from surface import AIR, FLUX, STEPS, SURFACE, exchange, overlaps, stretch

from runtime import coupling


def main() -> int:
    """Compute the requested number of steps; return the exit code."""
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
