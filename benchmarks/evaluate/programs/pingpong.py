"""Sends 1000 messages there and back between two ranks: prints sizes and seconds of each trip."""

import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = 1 - world.rank
for size in (1 << 10, 8 << 10, 64 << 10, 128 << 10):
    times = 1000 if size < 1 << 16 else 300
    sent, received = np.ones(size, "b"), np.empty(size, "b")
    world.Barrier()
    begun = time.perf_counter()
    for _ in range(times):
        if world.rank == 0:
            world.Send(sent, other)
            world.Recv(received, other)
        else:
            world.Recv(received, other)
            world.Send(sent, other)
    seconds = time.perf_counter() - begun
    if world.rank == 0:
        print(size, seconds / times, flush=True)
