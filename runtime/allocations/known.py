"""The batch systems that are known, by the names they have in descriptors."""

from __future__ import annotations

from runtime.allocations.contract import BatchSystem
from runtime.allocations.slurm import SLURM

_KNOWN: tuple[BatchSystem, ...] = (SLURM,)

SYSTEMS = tuple(one.name for one in _KNOWN)


def batch_system(name: str) -> BatchSystem:
    """Return a batch system; the checks of a descriptor let no other name through."""
    return next(one for one in _KNOWN if one.name == name)
