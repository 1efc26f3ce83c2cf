"""Replicas: ping-pong and IS with r = 1 to 4, and against checkpoints (000 4.16 to 4.18, 001 9)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.evaluate.figure import Claim, Figure, Sample, Setting
from benchmarks.evaluate.runs import EXAMPLES, TIMEOUT, seconds_said
from benchmarks.grid.networks import ROOT
from benchmarks.mpi_launch import RunFailed

KIB = 1 << 10
PROGRAMS = Path(__file__).parents[1] / "programs"


def deploy(
    shape: str, options: Sequence[str], scripts: Sequence[Path], *words: str
) -> tuple[str, int]:
    """Run the first script on emulated clusters; return what it printed, and the exit code.

    All scripts are copied to a folder of their own, as a program comes with its folder.
    """
    with tempfile.TemporaryDirectory(prefix="gcm-bench-") as folder:
        for one in scripts:
            shutil.copy(one, folder)
        command = [sys.executable, "-m", "runtime.cli", "--quiet", "--emulate", shape, *options]
        done = subprocess.run(
            [*command, scripts[0].name, *words],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=TIMEOUT,
        )
    return done.stdout, done.returncode


def _folder(name: str, first: str = "") -> list[Path]:
    found = sorted((EXAMPLES / name).glob("*.py"))
    return sorted(found, key=lambda path: path.name != first)


SORT = _folder("24_npb", "integer_sort.py")
PINGPONG = [PROGRAMS / "pingpong.py"]
DYING = [PROGRAMS / "dying.py", *_folder("23_poisson")]


def _replicated(ranks: int, replicas: int, scripts: Sequence[Path], *words: str) -> str:
    said, code = deploy(f"{ranks * replicas}x1", ["--replicas", str(replicas)], scripts, *words)
    if code:
        raise RunFailed(f"r = {replicas}: {said[-400:]}", [])
    return said


def pingpong(setting: Setting) -> Iterator[Sample]:
    """Send there and back with one to four replicas, each in a cluster of its own."""
    degrees = (1, 2) if setting.short else (1, 2, 3, 4)
    for name in setting.order([f"r = {degree}" for degree in degrees]):
        said = _replicated(2, int(name[-1]), PINGPONG)
        for line in said.splitlines():
            size, seconds = line.split()
            yield Sample("ping-pong", int(size), name, float(seconds))


def integer_sort(setting: Setting) -> Iterator[Sample]:
    """Run IS, class S, by two logical ranks with one to three replicas."""
    degrees = (1, 2) if setting.short else (1, 2, 3)
    for name in setting.order([f"r = {degree}" for degree in degrees]):
        said = _replicated(2, int(name[-1]), SORT, "S")
        yield Sample("IS S", 2, name, seconds_said(said))


def recovery(setting: Setting) -> Iterator[Sample]:
    """Solve Poisson's equation while a rank is killed: with replicas, or from its checkpoints."""
    steps = "60" if setting.short else "400"
    for name in setting.order(("replicas, a fault", "checkpoints, a fault", "replicas",
                               "checkpoints")):  # fmt: skip
        kind, _, fault = name.partition(", ")
        with tempfile.TemporaryDirectory(prefix="gcm-bench-") as folder:
            words = [f"{folder}/died" if fault else "", steps]
            begun = time.monotonic()
            if kind == "replicas":
                _replicated(2, 2, DYING, *words)
            else:
                _until_it_ends([*words, folder])
            yield Sample("Poisson, 32³ cells", 2, name, time.monotonic() - begun)


def _until_it_ends(words: list[str]) -> None:
    said = ""
    for _ in range(3):
        said, code = deploy("2x1", [], DYING, *words)
        if not code:
            return
    raise RunFailed(f"it does not get to its end from its checkpoints: {said[-400:]}", [])


FIGURES = (
    Figure(
        "replicated-ping-pong", "Ping-pong with one to four replicas", ("000 4.17", "001 9"),
        "t_r < r·t_1 for all sizes from 1 to 128 KiB; 64 KiB: r = 2 nothing, r = 3 17 %, r = 4 "
        "50 % more; 128 KiB: 42 % and 73 % more.",
        tuple(
            Claim(f"r = {degree} ≤ {degree} × r = 1", f"r = {degree}", degree, "r = 1")
            for degree in (2, 3, 4)
        )
        + tuple(
            Claim(f"64 KiB, r = {degree}: ≤ {more} % more than r = 1", f"r = {degree}",
                  1 + more / 100, "r = 1", sizes=(64 * KIB,))
            for degree, more in ((2, 0), (3, 17), (4, 50))
        ),
        pingpong, unit="µs", factor=1e6, seconds=120, needs_grid=False,
        remark="Both ranks are replicated, over Unix sockets of one machine with two cores, "
        "on which eight processes take part with r = 4; in the source each has a host, and the "
        "first rank is not replicated.",
        why_not="each replica sends all of it to each of its peer's, on the same two cores.",
    ),
    Figure(
        "replicated-is", "IS class S with one to three replicas, two ranks",
        ("000 4.16", "000 4.18"),
        "class B: the time grows linearly with the replicas.",
        tuple(
            Claim(f"r = {degree} ≤ {degree} × r = 1", f"r = {degree}", degree, "r = 1")
            for degree in (2, 3)
        ),
        integer_sort, across="ranks", seconds=170, needs_grid=False,
        why_not="in 26 ms almost only messages: each of the replicas on two cores receives all.",
        remark="Replicas share two cores here, so that computing alone takes r times as long.",
    ),
    Figure(
        "replicas-or-checkpoints", "A rank is killed: replicas against checkpoint and restart",
        ("001 7 (a comparison that it calls for)",),
        "the comparison is named as future work: overhead by the number of injected faults.",
        (
            Claim("with a fault: replicas ≤ 1.0 × checkpoints", "replicas, a fault", 1.0,
                  "checkpoints, a fault"),
            Claim("without: checkpoints ≤ 1.0 × replicas", "checkpoints", 1.0, "replicas"),
            Claim("a fault costs replicas ≤ 1.2 × none", "replicas, a fault", 1.2, "replicas"),
        ),
        recovery, across="ranks", unit="s", factor=1, seconds=200, needs_grid=False,
        why_not="the second replica shares the cores all the time, a restart costs 0.5 s once.",
        remark="From the command to its end. Rank 1 (of its replicas the first that gets there) "
        "kills itself in the middle; checkpoints are a fourth of the steps apart.",
    ),
)  # fmt: skip
