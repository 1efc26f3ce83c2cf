"""The batch systems that are known, by the names they have in descriptors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.allocations.contract import BatchSystem
from runtime.allocations.flux import FLUX
from runtime.allocations.grid_engine import GRID_ENGINE
from runtime.allocations.lsf import LSF
from runtime.allocations.oar import OAR
from runtime.allocations.pbs import PBS
from runtime.allocations.request import JobRequest
from runtime.allocations.slurm import SLURM

_KNOWN: tuple[BatchSystem, ...] = (SLURM, GRID_ENGINE, OAR, PBS, LSF, FLUX)

SYSTEMS = tuple(one.name for one in _KNOWN)


def batch_system(name: str) -> BatchSystem:
    """Return a batch system; the checks of a descriptor let no other name through."""
    return next(one for one in _KNOWN if one.name == name)


def can_reserve(requests: Sequence[JobRequest]) -> bool:
    """Tell whether nodes can be reserved from a common start on: for several, and all of them."""
    several = len(requests) > 1
    return several and all(batch_system(one.system).reserve(one, "", 0.0) for one in requests)


def present_job(environment: Mapping[str, str]) -> JobRequest | None:
    """Return the job in which a process with this environment runs; None if it is in none."""
    found = (one.present(environment, _lines(environment.get(one.places_file))) for one in _KNOWN)
    return next((one for one in found if one is not None), None)


def _lines(path: str | None) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines() if path else []
    except OSError:
        return []  # a process elsewhere that only has the environment of the job
