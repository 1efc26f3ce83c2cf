"""Shared memory of MPI that nobody has any more is told from what somebody uses."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from runtime.launchers.segments import FOLDER, orphaned_segments

pytestmark = pytest.mark.skipif(not os.path.isdir(FOLDER), reason="there is no /dev/shm")


def test_only_new_memory_of_mpi_that_nobody_has_is_orphaned() -> None:
    began = time.time() - 1
    path = Path(FOLDER, f"mpich_shm_test_{os.urandom(4).hex()}")
    other = Path(FOLDER, f"someone_{os.urandom(4).hex()}")
    try:
        other.touch()
        with path.open("wb"):
            assert str(path) not in orphaned_segments(began)
        assert str(path) in orphaned_segments(began)
        assert str(path) not in orphaned_segments(time.time() + 1)
        assert str(other) not in orphaned_segments(began)
    finally:
        path.unlink(missing_ok=True)  # a run beside this test removes orphans too
        other.unlink()
