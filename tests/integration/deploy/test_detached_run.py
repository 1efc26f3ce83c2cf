"""Runs that go on without their terminal, attached to by the commands that a user types."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runtime.launchers.family import is_alive
from tests.integration.deploy.conftest import Describe, Start
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

PATIENCE = 60

PROGRAM = """\
import os, sys, time
from mpi4py import MPI
folder, world = sys.argv[1], MPI.COMM_WORLD
print("begun", world.rank, flush=True)
open(f"{folder}/here{world.rank}", "w").write(str(os.getpid()))
while not os.path.exists(f"{folder}/end"):
    time.sleep(0.05)
for line in range(2_000):
    print(world.rank, line, "x" * 60)
print("a word", file=sys.stderr)
sys.exit(7 if world.rank else 0)
"""

# Becomes the foreground of a terminal, starts a detached run there, and waits like a shell.
ON_ITS_TERMINAL = """\
import fcntl, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY)
subprocess.run(sys.argv[1:])
sys.stdin.read()
"""

Answer = Callable[..., tuple[int, str, str]]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user's, whose detached runs are in a folder of their own."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def answer(start: Start, environment: dict[str, str]) -> Answer:
    """Run `gcm-deploy` to its end; return its exit code and what it printed."""

    def run(*words: str | Path) -> tuple[int, str, str]:
        process = start(*words, env=environment)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    return run


@pytest.fixture
def begin(answer: Answer, describe: Describe, tmp_path: Path) -> Callable[[], str]:
    """Start a detached run of two ranks; return its name once both are there."""

    def detached() -> str:
        code, out, err = answer("--detach", describe(PROGRAM, clusters=2), "--", tmp_path)
        assert (code, err) == (0, "")
        await_true((tmp_path / "here0").exists)
        await_true((tmp_path / "here1").exists)
        return out.split()[0]

    return detached


def await_true(is_so: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def rank_has_gone(folder: Path, rank: int) -> bool:
    return not is_alive(int((folder / f"here{rank}").read_text()))


def whole() -> list[str]:
    lines = [f"{rank} {line} {'x' * 60}" for rank in range(2) for line in range(2_000)]
    return sorted([*lines, "begun 0", "begun 1"])


def test_the_terminal_is_closed_and_the_output_is_whole_afterwards(
    command: tuple[str, ...],
    environment: dict[str, str],
    answer: Answer,
    describe: Describe,
    tmp_path: Path,
) -> None:
    terminal, its = pty.openpty()
    words = [*command, "--detach", str(describe(PROGRAM, clusters=2)), "--", str(tmp_path)]
    shell = subprocess.Popen(
        [sys.executable, "-c", ON_ITS_TERMINAL, *words], stdin=its, stdout=its, stderr=its,
        start_new_session=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    os.close(its)
    try:
        await_true((tmp_path / "here1").exists)
    finally:
        os.close(terminal)  # the foreground gets SIGHUP, as when a window is closed
        shell.wait(PATIENCE)
    assert shell.returncode == -signal.SIGHUP
    (tmp_path / "end").touch()
    code, out, err = answer("attach")
    assert (code, sorted(out.splitlines())) == (7, whole())
    assert err.count("a word\n") == 2
    assert "rank 1 (site0/cluster1 0) on " in err
    assert answer("list") == (0, "", "gcm-deploy: you have no detached runs on this machine\n")
    again = answer("logs")
    assert (again[0], sorted(again[1].splitlines())) == (0, whole())


def test_who_attaches_may_be_killed_and_come_back(
    begin: Callable[[], str],
    answer: Answer,
    start: Start,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    name = begin()
    for number, code in ((signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)):
        attached = start("attach", name[:-1], env=environment)
        assert attached.stdout is not None
        assert attached.stdout.readline().startswith("begun")
        attached.send_signal(number)
        attached.wait(PATIENCE)
        assert attached.returncode == code
    (listed,) = json.loads(answer("list", "--format", "json")[1])
    assert (listed["name"], listed["state"]) == (name, "running")
    await_true(lambda: answer("logs")[1].count("begun") == 2)  # a line is on its way for a moment
    assert sorted(answer("logs")[1].splitlines()) == ["begun 0", "begun 1"]
    (tmp_path / "end").touch()
    await_true(lambda: "ended, exit code 7" in answer("list")[1])
    code, out, _ = answer("attach", name)
    assert (code, sorted(out.splitlines())) == (7, whole())


def test_nothing_stays_after_a_stop_but_the_output(
    begin: Callable[[], str], answer: Answer, tmp_path: Path
) -> None:
    name = begin()
    assert answer("stop") == (
        0, f"{name} has ended; gcm-deploy logs {name} shows its output\n", ""
    )  # fmt: skip
    await_true(partial(rank_has_gone, tmp_path, 0))
    await_true(partial(rank_has_gone, tmp_path, 1))
    code, out, _ = answer("attach")
    assert (code, sorted(out.splitlines())) == (143, ["begun 0", "begun 1"])
    assert answer("attach")[0] == 202
    assert answer("attach", name)[0] == 143


def test_what_is_printed_is_followed_to_the_end(
    begin: Callable[[], str],
    answer: Answer,
    start: Start,
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    name = begin()
    shown = tmp_path / "shown"
    with shown.open("wb") as file:
        follower = start("logs", "--follow", name, env=environment, stdout=file)
    await_true(lambda: sorted(shown.read_text().splitlines()) == ["begun 0", "begun 1"])
    (tmp_path / "end").touch()
    follower.wait(PATIENCE)
    assert (follower.returncode, sorted(shown.read_text().splitlines())) == (0, whole())
    assert answer("attach")[0] == 7, "who only follows has not seen its end"


def test_any_run_of_mine_is_stopped_by_its_process(
    answer: Answer, start: Start, describe: Describe, environment: dict[str, str], tmp_path: Path
) -> None:
    run = start(describe(PROGRAM), "--", tmp_path, env=environment)
    await_true((tmp_path / "here0").exists)
    assert answer("stop", str(run.pid)) == (0, f"the run of process {run.pid} has ended\n", "")
    assert run.wait(PATIENCE) == 143
    await_true(partial(rank_has_gone, tmp_path, 0))
    code, _, err = answer("stop", str(os.getpid()))
    assert (code, f"process {os.getpid()} is no run of yours" in err) == (202, True)


def test_a_run_whose_process_was_killed_is_no_riddle(
    begin: Callable[[], str], answer: Answer, tmp_path: Path
) -> None:
    name = begin()
    (listed,) = json.loads(answer("list", "--format", "json")[1])
    os.kill(listed["process"], signal.SIGKILL)
    code, out, err = answer("attach")
    assert (code, sorted(out.splitlines())) == (204, ["begun 0", "begun 1"])
    assert f"{name} has ended without a word: it was killed" in err
    await_true(partial(rank_has_gone, tmp_path, 0))
    assert answer("stop")[0] == 0


@pytest.mark.parametrize("recorded", ["", '{"facts of'])
def test_a_run_that_was_killed_before_its_first_fact_is_listed_and_explained(
    answer: Answer, describe: Describe, tmp_path: Path, recorded: str
) -> None:
    name = answer("--detach", describe(PROGRAM), "--", tmp_path)[1].split()[0]
    (listed,) = json.loads(answer("list", "--format", "json")[1])
    os.kill(listed["process"], signal.SIGKILL)
    await_true(lambda: not is_alive(listed["process"]))
    (tmp_path / "state" / "gcm" / "runs" / name / "run.facts").write_text(recorded)
    code, out, err = answer("list")
    assert (code, err) == (0, "")
    assert f"{name}  ended without a word  " in out
    assert answer("logs") == (
        0, "", f"gcm-deploy: {name} has printed nothing until now: ended without a word\n"
    )  # fmt: skip
    code, out, err = answer("attach")
    assert (code, out) == (204, "")
    assert f"{name} has ended without a word: it was killed" in err


def test_of_a_run_that_fails_one_traceback_is_shown_and_the_log_has_all(
    answer: Answer, describe: Describe, tmp_path: Path
) -> None:
    program = "from mpi4py import MPI\nraise ValueError(f'no {MPI.COMM_WORLD.rank}')\n"
    code, out, err = answer("--detach", describe(program, clusters=2))
    assert (code, err) == (0, "")
    name = out.split()[0]
    await_true(lambda: "ended, exit code 1" in answer("list")[1])
    logged = answer("logs", name)[2]
    assert [logged.count(f"ValueError: no {rank}\n") for rank in range(2)] == [1, 1]
    code, out, err = answer("attach", name)
    assert (code, out, err.count("Traceback")) == (1, "", 1)


def test_faults_are_told_before_anything_is_detached(answer: Answer, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<deployment><grid/></deployment>")
    code, out, err = answer("--detach", tmp_path / "bad.xml")
    assert (code, out) == (201, "")
    assert "error[" in err
    assert not (tmp_path / "state").exists()


def test_only_the_user_can_read_what_is_kept(begin: Callable[[], str], tmp_path: Path) -> None:
    name = begin()
    folder = tmp_path / "state" / "gcm" / "runs" / name
    modes = {one.name: one.stat().st_mode & 0o777 for one in (folder, *folder.iterdir())}
    assert modes == {name: 0o700, "about.json": 0o600, "run.facts": 0o600, "log": 0o600}
    (tmp_path / "end").touch()
    await_true(partial(rank_has_gone, tmp_path, 1))
