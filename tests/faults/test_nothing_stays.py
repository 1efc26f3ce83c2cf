"""However a run ends: its processes, sockets, temporary files and shared memory are all gone."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.leftovers import wait_until_gone

if TYPE_CHECKING:
    from tests.faults.conftest import Bench, Running

pytestmark = pytest.mark.mpi

TWO = (
    '<site name="s"><cluster name="a">{mpi}</cluster></site>'
    '<site name="t"><cluster name="b">{mpi}</cluster></site>'
)
OBEDIENT = (
    "import os, signal, sys\nfrom mpi4py import MPI\n"
    "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(0))\n"
    "signal.signal(signal.SIGUSR2, lambda *_: sys.exit(7))\n"
    "print('up', os.getpid(), flush=True)\n"
    "while True: signal.pause()\n"
)
DEAF = OBEDIENT.replace("while", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile")

Ending = Callable[["Bench", "Running"], None]


def by_itself(_: Bench, run: Running) -> None:
    for rank in run.ranks:
        os.kill(rank, signal.SIGUSR1)


def with_a_failure(_: Bench, run: Running) -> None:
    os.kill(run.ranks[0], signal.SIGUSR2)
    for rank in run.ranks[1:]:
        os.kill(rank, signal.SIGUSR1)


def with_a_killed_rank(_: Bench, run: Running) -> None:
    os.kill(run.ranks[0], signal.SIGKILL)


def interrupted(_: Bench, run: Running) -> None:
    run.process.send_signal(signal.SIGINT)


def interrupted_twice(_: Bench, run: Running) -> None:
    """Press again when the first was understood: all front-ends tell their ranks then."""
    run.process.send_signal(signal.SIGINT)
    while run.process.poll() is None and not is_idle(run.process.pid):
        os.sched_yield()
    run.process.send_signal(signal.SIGINT)


def is_idle(pid: int) -> bool:
    """Tell whether a signal that was sent has been taken."""
    with open(f"/proc/{pid}/status") as file:
        words = dict(line.split(":", 1) for line in file)
    return not int(words["ShdPnd"], 16) & 1 << (signal.SIGINT - 1)


def killed(_: Bench, run: Running) -> None:
    run.process.kill()


def without_a_front_end(bench: Bench, _: Running) -> None:
    named = [pid for pid, line in bench.processes().items() if "gcm-front-end" in line]
    both = [pid for pid in named if parent_of(pid) == named[0]]
    os.kill(both[-1], signal.SIGKILL)


def without_its_guard(bench: Bench, run: Running) -> None:
    """Kill the guard of the launcher itself; what it guarded ends soon after."""
    (guard,) = (
        pid
        for pid, line in bench.processes().items()
        if "gcm-guard" in line and parent_of(pid) == run.process.pid
    )
    os.kill(guard, signal.SIGKILL)


def parent_of(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


@pytest.mark.parametrize(
    ("program", "end", "code"),
    [
        (OBEDIENT, by_itself, 0),
        (OBEDIENT, with_a_failure, 7),
        (OBEDIENT, with_a_killed_rank, 137),
        (OBEDIENT, interrupted, 130),
        (DEAF, interrupted_twice, 130),
        (DEAF, killed, -9),
        (DEAF, without_a_front_end, 204),
        (DEAF, without_its_guard, 204),
    ],
    ids=lambda one: one.__name__ if callable(one) else "",
)
def test_nothing_of_a_run_stays_when_it_ends(
    bench: Bench, program: str, end: Ending, code: int
) -> None:
    with bench.running(program, grid=TWO) as run:
        had = bench.belongings()
        assert len(had.processes) >= 1 + 2 + 4  # the launcher, front-ends and ranks at least
        assert had.sockets
        assert had.files
        end(bench, run)
        _, errors = run.process.communicate(timeout=30)
        assert run.process.returncode == code, errors
        if end not in (killed, without_its_guard):  # then others still clean up
            assert bench.left() == []
        assert bench.wait_until_gone() == []
        assert had.left() == []


def test_no_process_stays_when_the_launcher_and_its_guard_are_killed_at_once(bench: Bench) -> None:
    with bench.running(DEAF, grid=TWO) as run:
        run.process.send_signal(signal.SIGSTOP)  # it does not see how its guard ends
        without_its_guard(bench, run)
        run.process.kill()
        run.process.wait(timeout=30)
        left = wait_until_gone(lambda: [*bench.processes().values()], bench.processes)
        for folder in bench.temporary.iterdir():  # nobody could remove these
            shutil.rmtree(folder)
    assert left == []


def test_where_everything_is_killed_at_once_no_shared_memory_stays(bench: Bench) -> None:
    """Nobody is left to remove it, so it has no name any more once MPI has started."""
    with bench.running(DEAF, grid=TWO) as run:
        assert bench.segments()
        assert bench.belongings().memory == frozenset()
        for pid in bench.processes():
            with suppress(ProcessLookupError):  # its parent has ended it
                os.kill(pid, signal.SIGKILL)
        run.process.wait(timeout=30)
        for room in bench.temporary.iterdir():  # nobody could remove these either
            shutil.rmtree(room)
        assert bench.wait_until_gone() == []
