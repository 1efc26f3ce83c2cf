"""M x N: three components with an array between them hand it to two others, block by block.

    gcm run examples/05_m_by_n/coupling.fractal

The ocean is a parallel component of three members, the air one of two. Each member of the ocean
holds a block of the sea's surface and calls `put` with it; because of `redistribute`, each member
of the air is called with its own, larger block. The blocks are sent directly from member to member,
each byte once, and the result comes back in the blocks of the callers. Neither side knows how many
members the other one has.
"""

from __future__ import annotations

from typing import Annotated, Protocol

import numpy as np

from gcm import Runnable, attribute, provides, redistribute, requires


class Surface(Protocol):
    def put(self, heat: Annotated[np.ndarray, redistribute], step: int) -> np.ndarray: ...


class Model(Protocol):
    def advance(self, step: int) -> str: ...


class Models(Protocol):
    def advance(self, step: int) -> list[str]: ...


@provides("model", Model)
class OceanMember:
    air: Annotated[Surface, requires()]
    first: Annotated[int, attribute()] = 0
    size: Annotated[int, attribute()] = 1

    def advance(self, step: int) -> str:
        heat = np.arange(self.first, self.first + self.size, dtype=float)
        wind = self.air.put(heat, step)
        return f"heat {heat.tolist()} -> wind {wind.tolist()}"


@provides("surface", Surface)
class AirMember:
    def put(self, heat: np.ndarray, step: int) -> np.ndarray:
        return heat * 10 + len(heat)


@provides("run", Runnable)
class Driver:
    ocean: Annotated[Models, requires()]

    def run(self) -> None:
        for line in self.ocean.advance(1):
            print(line)
