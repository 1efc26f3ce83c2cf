"""The atmosphere of two coupled codes: columns of air that give and take heat at the surface.

It has more ranks than the ocean, on two clusters, so its columns are divided differently. It need
not know how: what it takes at a port comes from whichever ranks of the ocean are below.
"""

from __future__ import annotations

import numpy as np
from surface import AIR, heat_flow, stretch

from runtime import coupling


def main() -> None:
    """Compute the requested number of steps."""
    begin, end = stretch(coupling.rank, coupling.size)
    air = np.full(end - begin, AIR)
    below = np.empty_like(air)
    for _ in range(coupling.setting("steps", int)):
        coupling.exchange("surface", below)
        flux = heat_flow(air, below)
        air -= flux
        coupling.exchange("flux", flux)
    print(f"atmosphere: cells {begin} to {end - 1}, heat {air.sum():.6f}", flush=True)


if __name__ == "__main__":
    main()
