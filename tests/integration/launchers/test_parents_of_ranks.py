"""A rank never outlives the process that is to tell how it ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

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
