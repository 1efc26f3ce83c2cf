"""Broadcast an array to all ranks, and print what was sent between sites.

gcm-deploy descriptors/between-sites.xml
"""

import time

import between_sites
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
news = np.full(1_000_000, comm.rank == 0, np.uint8)
comm.Barrier()
between_sites.SENT.clear()
began = time.monotonic()
comm.Bcast(news)
taken = np.array([time.monotonic() - began])
assert news.all()
counts = comm.gather(between_sites.SENT.copy())
slowest = np.empty(1)
comm.Reduce(taken, slowest, op=MPI.MAX)
for count in counts or ():
    for (source, target), size in sorted(count.items()):
        print(f"site {source} to site {target}: {size} bytes for {news.nbytes}")
if comm.rank == 0:
    print("it took", "less" if slowest[0] < 0.1 else "more", "than 0.1 s")
