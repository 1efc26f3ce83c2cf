"""One file of all clusters: each rank writes its columns of a matrix, and rank 0 reads rows.

    gcm-deploy --emulate 2x2x2 examples/33_files/one_file.py [FILE]

The file is on the disk of the cluster of rank 0, which the line says. Ranks elsewhere write to it
over the network, to their own columns: a view says which bytes of the file a rank sees, so that it
writes its part in one call.

Without a shared file each rank would send its columns to rank 0, which would put them together and
have room for all of them.
"""

from __future__ import annotations

import sys
from array import array

from mpi4py import MPI

ROWS, COLUMNS = 6, 2
"""The size of what each rank has."""


def main() -> None:
    """Write the matrix, and say at rank 0 what is in it."""
    world = MPI.COMM_WORLD
    path = sys.argv[1] if len(sys.argv) > 1 else "matrix"
    width = COLUMNS * world.size
    mode = MPI.MODE_RDWR | MPI.MODE_CREATE | MPI.MODE_DELETE_ON_CLOSE
    file = MPI.File.Open(world, path, mode)

    mine = MPI.DOUBLE.Create_subarray([ROWS, width], [ROWS, COLUMNS], [0, COLUMNS * world.rank])
    mine.Commit()
    file.Set_view(0, MPI.DOUBLE, mine)
    file.Write_all(array("d", [world.rank] * (ROWS * COLUMNS)))
    file.Sync()
    world.Barrier()

    if world.rank == 0:
        print(f"{file.size} bytes in {file.info.Get('gcm_home')}")
    file.Set_view(0, MPI.DOUBLE)
    if world.rank == 0:
        row = array("d", [0] * width)
        file.Read_at(width * (ROWS - 1), row)
        print("the last row:", *map(int, row))
    mine.Free()
    file.Close()


if __name__ == "__main__":
    main()
