"""Ctrl-C once and twice, a killed launcher, a stop from Python: nothing stays but what was said."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING

import pytest

from runtime.launchers import guard
from runtime.lifecycle.run_life import RunPhase
from runtime.processes.front_end.main import GRACE
from runtime.processes.rank import main as rank_main

if TYPE_CHECKING:
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi

TWO = (
    '<site name="s"><cluster name="a">{mpi}</cluster></site>'
    '<site name="t"><cluster name="b">{mpi}</cluster></site>'
)
POLITE = (
    "import os, signal, sys, time\n"
    "def bye(*_): print('told to end', flush=True); sys.exit(0)\n"
    "signal.signal(signal.SIGTERM, bye)\nprint('up', os.getpid(), flush=True)\ntime.sleep(1000)\n"
)
STUBBORN = (
    "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "print('up', os.getpid(), flush=True)\ntime.sleep(1000)\n"
)


def test_ctrl_c_ends_the_ranks_in_order_and_their_last_words_arrive(bench: Bench) -> None:
    with bench.running(POLITE, grid=TWO) as run:
        process = run.process
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=20)
        assert process.returncode == 130, errors
        assert output.count("told to end") == 4
    assert bench.left() == []


def test_ranks_that_do_not_listen_are_killed_after_a_while(bench: Bench) -> None:
    with bench.running(STUBBORN, grid=TWO) as run:
        process = run.process
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        assert process.returncode == 130
        assert time.monotonic() - began > 1.5
    assert bench.left() == []


def test_the_second_ctrl_c_does_not_wait_for_anybody(bench: Bench) -> None:
    taken: list[float] = []
    while len(taken) < 3 and min(taken, default=GRACE) >= GRACE:  # on a busy machine it may be late
        with bench.running(STUBBORN, grid=TWO) as run:
            process = run.process
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            time.sleep(0.3)  # two signals at once would be one
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)
            assert process.returncode == 130
            taken.append(time.monotonic() - began)
        assert bench.left() == []
    assert min(taken) < GRACE  # before which one Ctrl-C ends nobody who does not want to


def test_what_everything_waits_for_fits_into_five_seconds() -> None:
    assert max(2 * guard.GRACE, GRACE, rank_main.GRACE) < 5


def test_leaving_the_block_of_a_machine_stops_it(bench: Bench) -> None:
    up = threading.Semaphore(0)

    def count(_identifier: str, text: str) -> None:
        if text.startswith("up "):
            up.release()

    bench.recorder.on_line = count
    with bench.machine(bench.plan(POLITE)) as machine:
        assert up.acquire(timeout=60)
        assert up.acquire(timeout=60)
        assert machine.state is RunPhase.RUNNING
    assert machine.wait(0).exit_code == 0
    assert [line.split()[0] for line in bench.recorder.said_by("0:0:1")] == ["up", "told"]


def test_nothing_of_a_flood_of_lines_is_lost_and_each_rank_keeps_its_order(bench: Bench) -> None:
    program = "for i in range(20000): print(i, 'x' * (i % 97))\n"
    outcome = bench.deploy(bench.plan(program, grid=TWO))
    assert outcome.exit_code == 0
    expected = [f"{i} {'x' * (i % 97)}" for i in range(20000)]
    for rank in ("0:0:0", "0:0:1", "1:0:0", "1:0:1"):
        assert bench.recorder.said_by(rank) == expected


@pytest.mark.parametrize("ranks", [1, 2])
def test_the_rank_that_a_signal_ended_is_named_with_it(bench: Bench, ranks: int) -> None:
    program = (
        "import os, time\nfrom mpi4py import MPI\n"
        f"if MPI.COMM_WORLD.rank == {ranks - 1}: os.kill(os.getpid(), 11)\ntime.sleep(1000)\n"
    )
    outcome = bench.deploy(bench.plan(program, ranks=ranks))
    assert outcome.exit_code == 139
    assert outcome.exits[f"0:0:{ranks - 1}"] == 139
    assert outcome.first_cause is not None
    assert (outcome.first_cause.rank, outcome.first_cause.signal) == (f"0:0:{ranks - 1}", "SIGSEGV")
    assert f'{bench.folder}/program.py", line 7 in' in outcome.first_cause.traceback
