"""The program of `gcm-deploy tune`: measures each plan of each operation over all ranks.

All ranks try the same plans in the same order. A time is that of one call and a barrier at rank 0,
which ends when the call has ended everywhere; all plans take turns, so that what else the machines
do meets them alike. Rank 0 writes a line of JSON for each plan.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

from mpi4py import MPI

from runtime.collectives.rules import shape_of
from runtime.collectives.tuning import Timing, candidates
from runtime.mpi.collectives.state import Collecting, state_of

TO_ALL = (8, 4096, 64 * 1024, 1024 * 1024)
TO_EACH = (8, 1024, 16 * 1024, 128 * 1024)
"""The sizes that are measured; of those with a block for each rank, of a block."""

LEAST, MOST = 2, 10
"""How many calls each plan has in a round."""

AIM = 0.05
"""The seconds that the calls of a round may take, if they can."""


def calls(comm: MPI.Comm, size: int) -> dict[str, Callable[[], object]]:
    """Return the operations that send data of a size to all, or a block of that size to each."""
    out, into = bytearray(size), bytearray(size)
    many, others = bytearray(size * comm.size), bytearray(size * comm.size)
    is_root = comm.rank == 0
    found: dict[str, Callable[[], object]] = {"Barrier": comm.Barrier} if size == TO_ALL[0] else {}
    if size in TO_ALL:
        found |= {
            "Bcast": lambda: comm.Bcast(out),
            "Reduce": lambda: comm.Reduce(out, into if is_root else None, MPI.BOR),
            "Allreduce": lambda: comm.Allreduce(out, into, MPI.BOR),
        }
    if size in TO_EACH:
        found |= {
            "Gather": lambda: comm.Gather(out, many if is_root else None),
            "Scatter": lambda: comm.Scatter(many if is_root else None, into),
            "Allgather": lambda: comm.Allgather(out, many),
            "Alltoall": lambda: comm.Alltoall(many, others),
        }
    return found


def measured(
    comm: MPI.Comm, fence: MPI.Comm, operation: str, size: int, rounds: int
) -> list[Timing]:
    """Measure all plans of an operation; the seconds are those of rank 0."""
    state: Collecting = state_of(comm._members)  # type: ignore[attr-defined]
    call = calls(comm, size)[operation]
    bytes_said = 0 if operation == "Barrier" else size
    state.choose_by("")
    usual = str(state.chosen(operation, bytes_said))
    tried = candidates(operation, bytes_said, state.offered(operation, bytes_said))
    seconds: dict[str, list[float]] = {choice: [] for choice in tried}
    count = 1
    for number in range(rounds + 1):  # the first one opens connections, and tells how many calls
        begun = time.perf_counter()
        for choice in tried:
            state.choose_by(f"{operation}={choice}")
            for _ in range(count):
                fence.Barrier()
                start = time.perf_counter()
                call()
                fence.Barrier()
                if number:
                    seconds[choice].append(time.perf_counter() - start)
        if not number:
            once = (time.perf_counter() - begun) / len(tried)
            count = fence.bcast(max(LEAST, min(MOST, int(AIM / once))))
    shape = shape_of(state.sites)
    return [
        Timing(operation, bytes_said, shape, choice, choice == usual, tuple(times))
        for choice, times in seconds.items()
    ]


def main() -> None:
    """Measure all in as many rounds as the argument says, and write what rank 0 has found."""
    rounds = int(sys.argv[1])
    comm = MPI.COMM_WORLD.Dup()
    fence = MPI.COMM_WORLD.Dup()
    for size in sorted({*TO_ALL, *TO_EACH}):
        for operation in calls(comm, size):
            for timing in measured(comm, fence, operation, size, rounds):
                if comm.rank == 0:
                    print(json.dumps(asdict(timing)), flush=True)


if __name__ == "__main__":
    main()
