"""A token goes around: every rank of the grid adds its number, and the first checks the sum.

A plain mpi4py program that does not mention clusters: under `gcm-deploy`, `COMM_WORLD` has the
ranks of all of them. It also runs alone, or under the `mpiexec` of one cluster.
"""

from __future__ import annotations

import sys

from mpi4py import MPI


def main() -> int:
    """Pass the token once around the ring; return the exit code."""
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    print(f"rank {rank} of {size} on {MPI.Get_processor_name()}", flush=True)
    before, after = (rank - 1) % size, (rank + 1) % size
    if rank == 0:
        sent = world.isend(0, after)  # alone in its cluster, a rank sends to itself
        token = world.recv(source=before)
        sent.wait()
        right = token == size * (size - 1) // 2
        print(f"the token came back with {token}: {'right' if right else 'wrong'}", flush=True)
        return 0 if right else 1
    world.send(world.recv(source=before) + rank, after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
