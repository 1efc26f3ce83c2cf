r"""A master that reassigns the work of lost workers.

    gcm-deploy --emulate 2x2 --recovery blank --recovery-messages cont \
        examples/40_survival/farm.py

Rank 0 hands out numbers, the others return squares. Two workers end on purpose with unfinished
work. Calls that do not need the lost ranks still work, and at the end `Dup` returns a communicator
of the same size with gaps at the lost ranks.
"""

from __future__ import annotations

import os
from collections import deque

from mpi4py import MPI

JOBS = 40
DOOMED = {1, 3}
"""Which ranks end with their first job unfinished."""

RESULT, STOP = 1, -1


def master(comm: MPI.Intracomm) -> dict[int, int]:
    """Return the square of each number, even if workers are lost."""
    todo, results = deque(range(JOBS)), dict[int, int]()
    busy: dict[int, int] = {}
    idle = deque(range(1, comm.size))
    while len(results) < JOBS:
        while idle and todo:
            worker = idle.popleft()
            busy[worker] = todo.popleft()
            comm.isend(busy[worker], worker).wait()
        try:
            status = MPI.Status()
            job, result = comm.recv(source=MPI.ANY_SOURCE, tag=RESULT, status=status)
        except MPI.Exception as error:
            if error.Get_error_class() != MPI.ERR_PROC_FAILED:
                raise
            for worker in lost_ranks(comm):
                if worker in busy:
                    todo.append(busy.pop(worker))
                    print(f"rank {worker} is lost, its work is handed out again", flush=True)
            if not busy and not idle:
                raise
            continue
        results[job] = result
        busy.pop(status.source, None)
        idle.append(status.source)
    for worker in set(range(1, comm.size)) - set(lost_ranks(comm)):
        comm.send(STOP, worker)
    return results


def lost_ranks(comm: MPI.Intracomm) -> list[int]:
    """Acknowledge all losses known here, and return the ranks."""
    comm.Ack_failed()
    failed = comm.Get_failed()
    return failed.Translate_ranks(None, comm.Get_group())


def worker(comm: MPI.Intracomm) -> int:
    """Work until there is no more; return how much was done."""
    done = 0
    while (job := comm.recv(source=0)) != STOP:
        if comm.rank in DOOMED:
            os._exit(9)
        comm.send((job, job * job), 0, tag=RESULT)
        done += 1
    return done


def main() -> None:
    """Work as master or worker."""
    comm = MPI.COMM_WORLD
    results = master(comm) if comm.rank == 0 else {}
    done = worker(comm) if comm.rank else 0
    shares = comm.Dup().gather(done)
    if shares is not None:
        print(f"sum of squares: {sum(results.values())}, {len(results)} jobs", flush=True)
        print("gaps:", [rank for rank, share in enumerate(shares) if share is None], flush=True)


if __name__ == "__main__":
    main()
