"""Messages of this process to itself: native MPI packs and unpacks any datatype."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from mpi4py import MPI

_one_at_a_time = threading.Lock()


def pack_natively(spec: Any) -> memoryview:
    """Return a packed copy of what a message specification describes.

    Raises what mpi4py raises for an invalid one.
    """
    with _one_at_a_time:
        comm, status = _self(), MPI.Status()
        request = comm.Isend(spec, 0)
        message = comm.Mprobe(0, status=status)
        data = bytearray(status.count)
        message.Recv([data, MPI.BYTE])
        request.Wait()
    return memoryview(data)


def unpack_natively(spec: Any, data: bytes | bytearray | memoryview) -> int:
    """Unpack bytes to where a message specification says; return how many.

    Raises what mpi4py raises for an invalid one, or when there are too many.
    """
    with _one_at_a_time:
        comm, status = _self(), MPI.Status()
        request = comm.Isend([data, MPI.BYTE], 0)
        comm.Recv(spec, 0, status=status)
        request.Wait()
    return status.count


@cache
def _self() -> MPI.Intracomm:
    comm = MPI.COMM_SELF.Dup()
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    return comm
