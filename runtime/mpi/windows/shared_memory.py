"""Memory that ranks of several clusters on one machine map together."""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any

from runtime.mpi.values.faults import Wrong, WrongArgument

_SHARED_FOLDER = "/dev/shm"


class SharedMemory:
    """Memory that all ranks of a window map, with the parts of all one behind the other."""

    def __init__(self, whole: mmap.mmap, sizes: Sequence[int]) -> None:
        self._whole = memoryview(whole)
        self._starts = [0, *accumulate(sizes)]
        self.sizes = sizes

    def part(self, rank: int) -> memoryview:
        """Return the part of a rank."""
        return self._whole[self._starts[rank] : self._starts[rank] + self.sizes[rank]]


def share(comm: Any, size: int) -> SharedMemory:
    """Return memory that all ranks of a communicator have; raises WrongArgument if none can be."""
    m = comm._members
    sizes = comm.allgather(size)
    wrong = next((one for one in sizes if one < 0), None)
    if wrong is not None:
        raise WrongArgument(Wrong.SIZE, f"memory of {wrong} bytes was asked for")
    connections = m.engine.connections
    is_one = connections is not None and connections.share_a_machine(m.peers)
    name, descriptor, problem = "", -1, ""
    all_share = all(comm.allgather(is_one))
    if all_share and comm.rank == 0:
        try:
            descriptor, name = _file(max(sum(sizes), 1))
        except (OSError, OverflowError) as error:
            problem = str(error)
    try:
        if all_share:
            name, problem = comm.bcast((name, problem))
            if name and comm.rank:
                with suppress(OSError):
                    descriptor = os.open(name, os.O_RDWR | os.O_CLOEXEC)
        found = comm.allgather(descriptor >= 0)
        if problem:
            text = (
                f"{_SHARED_FOLDER} has no room for {sum(sizes)} bytes that ranks share: {problem}"
            )
            raise WrongArgument(Wrong.MEMORY, text)
        if not all(found):
            raise WrongArgument(
                Wrong.SHARED,
                "Allocate_shared needs ranks that share the memory of one machine: those of"
                " comm.Split_type(MPI.COMM_TYPE_SHARED) do, and Win.Allocate serves all",
            )
        return SharedMemory(mmap.mmap(descriptor, max(sum(sizes), 1)), sizes)
    finally:  # also where a rank was lost meanwhile
        if name and comm.rank == 0:
            os.unlink(name)
        if descriptor >= 0:
            os.close(descriptor)


def _file(size: int) -> tuple[int, str]:
    """Make a file of memory; return its descriptor and its name. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix="gcm-window-", dir=_SHARED_FOLDER)
    try:
        os.posix_fallocate(descriptor, 0, size)
    except BaseException:
        os.close(descriptor)
        os.unlink(name)
        raise
    return descriptor, name
