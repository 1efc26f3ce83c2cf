"""Random numbers that are the same in all replicas of a rank."""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

from runtime.mpi.progress.predefined import running_engine

if TYPE_CHECKING:
    import numpy as np


class Random(random.Random):
    """A generator that differs between ranks, and from run to run, but not between replicas.

    Each rank makes its own with `MPI.Random()`, and gets another one each time. With a seed it is
    like any `random.Random`. Replicas of a rank get the seed from the first live one.

        numbers = MPI.Random()
        numbers.gauss(0, 1)
        numbers.generator().normal(size=1000)  # the same for arrays
    """

    def __init__(self, seed: int | float | str | bytes | bytearray | None = None) -> None:
        super().__init__(_new_seed() if seed is None else seed)

    def __reduce__(self) -> tuple[type[Random], tuple[int], object]:
        """Be pickled without asking for a seed when it is made again."""
        return Random, (0,), self.getstate()

    def generator(self) -> np.random.Generator:
        """Return a generator of numpy, which is independent from here on."""
        from numpy.random import default_rng

        return default_rng(self.getrandbits(128))


def _new_seed() -> str:
    engine = running_engine()
    if engine is None or engine.decisions is None:
        return _fresh()
    return engine.decisions.seed(_fresh)


def _fresh() -> str:
    return os.urandom(16).hex()
