"""Sends arrays of a type of 93 elements there and back, and the same bytes in a row.

The type has characters, integers and doubles with gaps between them, as a compiler aligns them. The
first rank prints one JSON object for each figure, as `mpi_ranks.py` does.
"""

import json
import sys
import time

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
other = 1 - world.rank
budget = float(sys.argv[1])

EXTENT = 31 * 24
places = [24 * block + at for block in range(31) for at in (0, 4, 8)]
kinds = [MPI.CHAR, MPI.INT, MPI.DOUBLE] * 31
struct = MPI.Datatype.Create_struct([1] * 93, places, kinds).Create_resized(0, EXTENT).Commit()
packed = struct.Get_size()

Buffer = list[object]


def trip(one: Buffer, two: Buffer) -> float:
    """Send there and back; return the seconds of one way."""
    begun = time.perf_counter()
    if world.rank == 0:
        world.Send(one, other)
        world.Recv(two, other)
    else:
        world.Recv(two, other)
        world.Send(one, other)
    return (time.perf_counter() - begun) / 2


for elements in (12093 // packed, 95700 // packed + 1):
    size = elements * packed
    for name in ("derived", "contiguous"):
        sent = np.full(elements * EXTENT, world.rank + 1, np.uint8)
        received = np.zeros(elements * EXTENT, np.uint8)
        what = (elements, struct) if name == "derived" else (size, MPI.BYTE)
        one, two = [sent, *what], [received, *what]
        times = max(7, int(budget / 2 / max(world.allgather(trip(one, two)))))
        seconds = [trip(one, two) for _ in range(times)]
        assert received[8] == other + 1, "the first double did not arrive"
        assert name != "derived" or received[1] == 0, "a gap was written"
        if world.rank == 0:
            print(json.dumps({"what": name, "size": size, "seconds": seconds}), flush=True)
