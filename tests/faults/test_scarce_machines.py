"""A machine that lacks something is told so by name, and nothing is left on it."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, environment

pytestmark = pytest.mark.mpi

PROGRAM = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"


def run(folder: Path, before: str, *wrapper: str) -> subprocess.CompletedProcess[str]:
    """Run a program on four ranks in a shell that does something before."""
    (folder / "program.py").write_text(PROGRAM)
    words = [*COMMAND, "--quiet", "-n", "4", str(folder / "program.py")]
    return subprocess.run(
        [*wrapper, "/bin/sh", "-c", f"{before}; {shlex.join(words)}; ls -A /dev/shm >&2"],
        capture_output=True, text=True, timeout=120, env=environment(), check=False,
    )  # fmt: skip


@pytest.mark.needs_root
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/shm")
def test_shared_memory_that_is_too_small_is_named_and_none_is_left(tmp_path: Path) -> None:
    tiny = "mount -t tmpfs -o size=1m none /dev/shm"
    ended = run(tmp_path, tiny, "unshare", "--mount")
    assert "/dev/shm, in which they share memory, has 1 MiB" in ended.stderr
    assert "mpich_shm" not in ended.stderr
    assert "processors left" not in ended.stderr


def test_too_few_open_files_are_named(tmp_path: Path) -> None:
    ended = run(tmp_path, "ulimit -n 24")
    assert "a process may have 24 open files here" in ended.stderr
    assert "ulimit -n 1024" in ended.stderr
