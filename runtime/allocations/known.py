"""The batch systems that are known, by the names they have in descriptors."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.allocations.contract import BatchSystem
from runtime.allocations.request import JobRequest
from runtime.allocations.slurm import SLURM

_KNOWN: tuple[BatchSystem, ...] = (SLURM,)

SYSTEMS = tuple(one.name for one in _KNOWN)


def batch_system(name: str) -> BatchSystem:
    """Return a batch system; the checks of a descriptor let no other name through."""
    return next(one for one in _KNOWN if one.name == name)


def present_job(environment: Mapping[str, str]) -> JobRequest | None:
    """Return the job in which a process with this environment runs; None if it is in none."""
    found = (one.present(environment) for one in _KNOWN)
    return next((one for one in found if one is not None), None)
