"""Batch systems: what is asked of them, and how each is spoken to. Pure text: nothing is run here.

`request` has the values, `contract` what a batch system is, and each system has a file of its own.
"""

from runtime.allocations.contract import BatchSystem
from runtime.allocations.known import SYSTEMS, batch_system, can_reserve, present_job
from runtime.allocations.request import BatchJob, GrantedJob, JobPhase, JobRequest
from runtime.allocations.written import places_of, written_places

__all__ = [
    "SYSTEMS",
    "BatchJob",
    "BatchSystem",
    "GrantedJob",
    "JobPhase",
    "JobRequest",
    "batch_system",
    "can_reserve",
    "places_of",
    "present_job",
    "written_places",
]
