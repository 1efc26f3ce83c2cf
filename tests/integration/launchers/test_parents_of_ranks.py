"""A rank never outlives the process that is to tell how it ended."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.native_mpi import ManagedRanks
from runtime.processes.manager.rank_processes import RankProcess
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


FORK_SERVER = """
import os, sys

def die_at_the_look(event, args):
    if event == "open" and str(args[0]).startswith("/proc/") and str(args[0]).endswith("/maps"):
        os.kill(os.getpid(), 9)

sys.addaudithook(die_at_the_look)
from runtime.processes.front_end.rank_fork_server import main
sys.exit(main([sys.argv[1], "grid"]))
"""


def test_a_forked_rank_ends_though_who_forked_it_is_killed_while_it_looks(tmp_path: Path) -> None:
    """It has asked how the rank is, whose process manager has gone, in order to end it."""
    os.mkfifo(tmp_path / "0.stdout")  # nobody reads: there the rank waits, already a rank
    words = "--cluster", "0:0", "--application", "0", "--umask", "022", "--script", "program.py"
    rank = RankProcess(0, ManagedRanks((sys.executable,), (*words, "--room", str(tmp_path)), 1))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "fork-server"))
        listener.listen()
        server = subprocess.Popen(
            [sys.executable, "-c", FORK_SERVER, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    with server, rank.pmi, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # what it has loaded is what the rank would load
        rank.ask_for_fork(str(tmp_path / "fork-server"))
        assert rank.request is not None
        while not rank.pid:
            select.select([rank.request], [], [])
            assert rank.told() is None
        watched = os.pidfd_open(rank.pid)
        try:
            rank.forget_request()
            assert server.wait(20) == -signal.SIGKILL
            assert select.select([watched], [], [], 20)[0]
        finally:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched, signal.SIGKILL)
            os.close(watched)
            server.kill()


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
