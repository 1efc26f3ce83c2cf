"""What ranks do in a world of programs, step by step, and what each step has to find."""

from __future__ import annotations

from array import array
from typing import Any

from mpi4py import MPI

from runtime.mpi.communicators.attributes import FT_ERRORS
from runtime.mpi.errors import ProcessGone
from runtime.mpi.surface.checkpoint import Checkpoint
from runtime.testing.world.program_load import JointStep, ProgramScenario, ProgramStep, SurvivalKind
from runtime.testing.world.program_process import ProgramProcess

MOST_RECOVERIES = 12


def content(number: int, rank: int, size: int) -> bytes:
    """Return what a rank sends in a step."""
    return bytes(((number * 7 + rank * 31) % 251,)) * size


def expected(made: ProgramScenario, number: int, rank: int) -> object:
    """Return what a step finds at a rank, by a sequential model."""
    step, ranks = made.steps[number], made.ranks
    after, before = (step.root + 1) % ranks, (rank - 1) % ranks
    match step.kind:
        case JointStep.RING:
            return before, step.size
        case JointStep.ANY if rank == step.root:
            return sum(one for one in range(ranks) if one != rank)
        case JointStep.LATE if rank == after:
            return step.root, step.size
        case JointStep.ALLREDUCE:
            return sum(range(ranks)) + number * ranks
        case JointStep.BCAST:
            return step.root, step.size
        case JointStep.GATHER if rank == step.root:
            return tuple(range(ranks))
        case JointStep.ALLTOALL:
            return tuple(range(ranks))
    return None


def run_step(process: ProgramProcess, comm: Any, made: ProgramScenario, number: int) -> object:
    """Do one step; return what it has found."""
    step = made.steps[number]
    if step.kind in (JointStep.RING, JointStep.ANY, JointStep.LATE):
        return _exchange(process, comm, step, number)
    rank, ranks = comm.rank, comm.size
    match step.kind:
        case JointStep.COMPUTE if rank == step.root:
            process.compute(step.seconds)
        case JointStep.ALLREDUCE:
            is_odd = number == made.odd_step and rank == made.odd_rank
            count = max(1, step.size // 8) + (is_odd and max(1, step.size // 80))
            total = array("q", bytes(8 * count))
            comm.Allreduce(array("q", [rank + number]) * count, total)
            assert len(set(total)) == 1, f"the sums of one array differ: {set(total)}"
            return total[0]
        case JointStep.BCAST:
            is_root = rank == step.root
            data = bytearray(content(number, rank, step.size) if is_root else bytes(step.size))
            comm.Bcast([data, MPI.BYTE], step.root)
            return _sender(data, number, ranks)
        case JointStep.GATHER:
            found = comm.gather(rank, step.root)
            return None if found is None else tuple(found)
        case JointStep.ALLTOALL:
            data = bytearray(content(number, rank, step.size * ranks))
            got = bytearray(step.size * ranks)
            comm.Alltoall([data, MPI.BYTE], [got, MPI.BYTE])
            parts = (got[at * step.size : (at + 1) * step.size] for at in range(ranks))
            return tuple(_sender(one, number, ranks)[0] for one in parts)
        case JointStep.BARRIER:
            comm.Barrier()
    return None


def _exchange(process: ProgramProcess, comm: Any, step: ProgramStep, number: int) -> object:
    rank, ranks = comm.rank, comm.size
    data, got = bytearray(content(number, rank, step.size)), bytearray(step.size)
    if step.kind is JointStep.RING:
        request = comm.Isend([data, MPI.BYTE], (rank + 1) % ranks, number)
        comm.Recv([got, MPI.BYTE], (rank - 1) % ranks, number)
        request.Wait()
        return _sender(got, number, ranks)
    if step.kind is JointStep.ANY:
        if rank != step.root:
            comm.Send([data, MPI.BYTE], step.root, number)
            return None
        found = 0
        for _ in range(ranks - 1):
            status = MPI.Status()
            comm.Recv([got, MPI.BYTE], MPI.ANY_SOURCE, number, status)
            sender, _ = _sender(got, number, ranks)
            assert sender == status.source, f"{status.source} has sent what is of {sender}"
            found += sender
        return found
    if rank == step.root:
        comm.Send([data, MPI.BYTE], (rank + 1) % ranks, number)
    elif rank == (step.root + 1) % ranks:
        process.compute(step.seconds)
        comm.Recv([got, MPI.BYTE], step.root, number)
        return _sender(got, number, ranks)
    return None


def _sender(data: bytearray, number: int, ranks: int) -> tuple[int, int]:
    """Return whose data came, and how much."""
    for rank in range(ranks):
        if data == content(number, rank, len(data)):
            return rank, len(data)
    raise AssertionError(f"step {number} has brought {bytes(data[:20])!r}, which nobody has sent")


def program_of(made: ProgramScenario) -> Any:
    """Return the program that all ranks run."""
    of_kind = {
        SurvivalKind.PLAIN: _run_straight,
        SurvivalKind.REPLICAS: _run_straight,
        SurvivalKind.RESTARTS: _run_with_checkpoints,
        SurvivalKind.SURVIVES: _run_with_recoveries,
    }[made.kind]
    return lambda process: of_kind(process, made)


def _timed(process: ProgramProcess, comm: Any, made: ProgramScenario, number: int) -> None:
    begun = process.process.now
    process.results[number] = run_step(process, comm, made, number)
    process.waited[number] = process.process.now - begun


def _run_straight(process: ProgramProcess, made: ProgramScenario) -> None:
    process.has_joined = True
    for number in range(len(made.steps)):
        _timed(process, process.world, made, number)


def _run_with_checkpoints(process: ProgramProcess, made: ProgramScenario) -> None:
    if process.incarnation > 1:
        process.compute(made.slow_start)
    number, process.results = Checkpoint((0, process.results))
    process.has_joined = True
    while number < len(made.steps):
        _timed(process, process.world, made, number)
        number += 1
        begun = process.process.now
        number, process.results = Checkpoint((number, process.results))
        process.waited[-number] = process.process.now - begun


def _run_with_recoveries(process: ProgramProcess, made: ProgramScenario) -> None:
    comm, last = process.world, len(made.steps)
    is_new = is_broken = process.incarnation > 1
    process.has_joined = not is_new
    if is_new:
        process.compute(min(made.slow_start, 1.0))
    number, recoveries = 0, 0
    while number < last or is_broken:
        try:
            if is_broken:
                comm = comm.Dup()
                process.has_joined = True
                number = comm.allreduce(last if is_new else number, MPI.MIN)
                is_new = is_broken = False
                continue
            _timed(process, comm, made, number)
            number += 1
        except ProcessGone:
            recoveries += 1
            if is_new and not process.has_joined:
                raise
            if not comm.Get_attr(FT_ERRORS):
                process.is_short = True  # somebody has ended who had done all steps
                return
            if recoveries > MOST_RECOVERIES:
                raise
            is_broken = True
