"""The log of a run: what it has, where it is, and when it stays."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from runtime.cli.screens.run_log import MOST_KEPT, RunLog
from tests.integration.deploy.conftest import Describe, Start
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


def run(start: Start, state: Path, *words: str | Path) -> tuple[int, str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(state)}
    process = start(*words, env=env)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def test_a_run_that_lost_a_rank_leaves_a_log_and_its_last_line_names_it(
    start: Start, describe: Describe, tmp_path: Path
) -> None:
    code, err = run(start, tmp_path, "-x", "KEY=secret", describe(KILLED))
    assert code == 137
    last = err.splitlines()[-1].removeprefix("gcm-deploy: the log of this run: ")
    (log,) = (tmp_path / "gcm" / "logs").iterdir()
    assert last == str(log)
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    text = log.read_text()
    assert "-x 'KEY=***' " in text
    assert "secret" not in text
    for line in (
        r"INFO process \d+: ",
        r"INFO ranks:0:0 begins$",
        r"INFO site0/cluster0: local: process \d+ is process-manager$",
        r"INFO rank 0 is process \d+ on ",
        r"INFO rank 0: running -> failed, was killed by SIGKILL$",
        r"INFO the run: ending -> failed, all has ended, code 137$",
    ):
        assert re.search(line, text, re.MULTILINE), f"{line} is not in\n{text}"


@pytest.mark.parametrize("program", ["print('hello')", "raise ValueError('no good')"])
def test_a_run_whose_program_told_its_end_leaves_a_log_only_where_that_is_asked_for(
    start: Start, describe: Describe, tmp_path: Path, program: str
) -> None:
    grid, kept = describe(program), tmp_path / "run.log"
    _, err = run(start, tmp_path, grid)
    assert "the log of this run" not in err
    assert list((tmp_path / "gcm" / "logs").iterdir()) == []
    run(start, tmp_path, "--log", kept, grid)
    assert "the run: ending -> " in kept.read_text()


def test_of_the_logs_of_failed_runs_the_newest_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "gcm" / "logs"
    folder.mkdir(parents=True)
    for number in range(MOST_KEPT):
        (folder / f"20000101-0000{number:02}-1.log").touch()
    log = RunLog()
    log.stays = True
    path = log.close()
    left = sorted(one.name for one in folder.iterdir())
    assert (len(left), left[0], left[-1]) == (
        MOST_KEPT,
        "20000101-000001-1.log",
        os.path.basename(path),
    )
