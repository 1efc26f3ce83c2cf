"""A rank never outlives the process that is to tell how it ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

from runtime.native_mpi import ManagedRanks
from tools.on_grids import ROOT

RANK = """
import os, sys, time
from runtime.launchers.ranks import run_below, tag_output

{begin}
os.write({stream}, f"{{os.getpid()}} {{os.getppid()}}\\n".encode())
while True:
    pass  # in one call of C it would not come to itself either
"""


@pytest.mark.parametrize("begin", ["run_below('/nowhere', 0)", "tag_output(0)"])
def test_a_rank_ends_with_its_parent(begin: str) -> None:
    reads, writes = os.pipe()
    program = RANK.format(begin=begin, stream=writes)
    started = subprocess.Popen(
        [sys.executable, "-c", program],
        pass_fds=[writes],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with os.fdopen(reads) as told:
        rank, parent = map(int, told.readline().split())
        assert parent == started.pid
        watched = os.pidfd_open(rank)
        try:
            os.kill(parent, signal.SIGKILL)
            ready, _, _ = select.select([watched], [], [], 20)
            assert ready
        finally:
            os.close(watched)
            os.close(writes)
    started.wait()


GUARD = """
import subprocess, sys
manager = [sys.executable, "-m", "runtime.processes.manager.main"]
started = subprocess.Popen(manager, stdin=subprocess.PIPE)
started.stdin.write(bytes.fromhex(sys.argv[1]))
started.stdin.close()
started.wait()
"""


@pytest.mark.parametrize("stays", [False, True])
def test_ranks_end_with_the_guard_of_their_manager(*, stays: bool) -> None:
    told = "import os, time; os.write(1, b'%d\\n' % os.getpid()); time.sleep(600)"
    ranks = ManagedRanks((sys.executable,), ("-c", told), 2, stays=stays)
    with subprocess.Popen(
        [sys.executable, "-c", GUARD, ranks.line.hex()],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as guard:
        assert guard.stdout is not None
        watched: list[int] = []
        try:
            for _ in range(2):
                watched.append(os.pidfd_open(int(guard.stdout.readline())))
            guard.kill()
            for rank in watched:
                assert select.select([rank], [], [], 20)[0]
        finally:
            guard.kill()
            for rank in watched:
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(rank, signal.SIGKILL)
                os.close(rank)
