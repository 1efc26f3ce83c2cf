"""The heat equation with checkpoints: killed ten times at random, it comes to the same result."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.on_grids import ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.needs_sshd]

HEAT = ROOT / "examples" / "30_heat" / "heat.py"
ENDLESS, MORE = 1_000_000, 600
"""How many steps a run has that is killed, and how many the last one has beyond them."""

LONGEST = 1.0
"""How many seconds it runs at most before it is killed."""


def slowly(text: str) -> str:
    """Return the program with a pause in each step, so that there is time to kill it."""
    slow = text.replace("EVERY = 50, 100", "EVERY = 50, 20").replace(
        "    if step % EVERY == 0:",
        "    __import__('time').sleep(0.002)\n    if step % EVERY == 0:",
    )
    assert slow.count("sleep(0.002)") == slow.count("50, 20") == 1
    return slow


def undisturbed(folder: Path, steps: int) -> bytes:
    """Return the result of a run of four plain MPI processes that nobody disturbs."""
    folder.mkdir()
    mpiexec = Path(sys.executable).parent / "mpiexec"
    subprocess.run(
        [str(mpiexec), "-n", "4", sys.executable, str(HEAT), str(steps)], cwd=folder, check=True
    )
    return (folder / "rod.txt").read_bytes()


def ranks_in(folders: list[Path]) -> Iterator[int]:
    """Yield the processes of this program that work in some folders."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            works_in = Path(os.readlink(entry / "cwd"))
            words = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if works_in in folders and (b"runtime.rank" in words or b"heat.py" in words):
            yield int(entry.name)


def kill_a_rank(bench: Any, run: Any, dice: random.Random) -> None:
    ranks = sorted(ranks_in(bench.kept))
    if ranks:
        os.kill(dice.choice(ranks), signal.SIGKILL)
    else:
        run.process.send_signal(signal.SIGINT)


def interrupt(_bench: Any, run: Any, _dice: random.Random) -> None:
    run.process.send_signal(signal.SIGINT)


def kill_the_command(_bench: Any, run: Any, _dice: random.Random) -> None:
    run.process.kill()


WAYS = [kill_a_rank, interrupt, kill_the_command]


def take_what_was_kept(bench: Any) -> None:
    """Bring home by hand what a killed command left, as its note says, once nothing runs there.

    The command may have been killed while files of one moment came home, so that only some did: of
    each checkpoint the latest counts.
    """
    deadline = time.monotonic() + 60
    while any((one / "program.py").exists() for one in bench.kept):  # until only results are left
        assert time.monotonic() < deadline, bench.kept
        time.sleep(0.2)
    for note in bench.notes:
        for line in note.splitlines():
            if line.startswith("    ") and any(str(one) in line for one in bench.kept):
                subprocess.run(line, shell=True, check=True)
    for folder in bench.kept:
        shutil.rmtree(folder, ignore_errors=True)
    for path in bench.home.glob(".gcm-kept-*"):
        path.unlink()
    (bench.home / "checkpoints").mkdir(exist_ok=True)
    for folder in bench.home.glob("kept.*"):
        for path in (folder / "checkpoints").glob("[0-3]-[01].npz"):
            target = bench.home / "checkpoints" / path.name
            if not target.exists() or step_of(path) > step_of(target):
                path.replace(target)
        shutil.rmtree(folder)


def step_of(checkpoint: Path) -> int:
    with np.load(checkpoint) as found:
        return int(found["step"])


@pytest.mark.timeout(600)
def test_heat_that_is_killed_again_and_again_comes_to_the_same_result(
    bench: Any, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(1_000_000)
    print("seed", seed)
    dice = random.Random(seed)
    kills = 4 if bench.way else 10  # each takes long over ssh
    ways = [WAYS[number % len(WAYS)] for number in range(kills)]
    dice.shuffle(ways)
    bench.write(
        slowly(HEAT.read_text()),
        '<file-transfer direction="out" source="checkpoints" every="1s" replace="yes"/>'
        '<file-transfer direction="out" source="rod.txt"/>',
    )
    begins, begun = [], time.monotonic()
    for way in ways:
        run = bench.start(str(ENDLESS))
        (line,) = run.await_lines("4 ranks begin at step", 1)
        begins.append(int(line.split()[5]))
        time.sleep(dice.uniform(0, LONGEST))
        way(bench, run, dice)
        ended = run.end()
        passed = time.monotonic() - begun
        print(f"{passed:.0f} s: {line}; {way.__name__}, exit code {ended.code}")
        take_what_was_kept(bench)
    assert begins == sorted(begins), "it goes on from what came home"
    assert begins[-1] > 0
    steps = begins[-1] + MORE
    ended = bench.run(str(steps))
    assert ended.code == 0, ended.errors
    assert (bench.home / "rod.txt").read_bytes() == undisturbed(tmp_path / "undisturbed", steps)
    assert bench.kept == []
    assert bench.notes == []
