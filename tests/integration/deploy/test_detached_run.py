"""A run in a session of its own continues without the terminal in which it was started."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.mpi
LONG = 60

DETACHED = """\
import os, sys, time
from mpi4py import MPI
folder = sys.argv[1]
open(f"{folder}/here", "w").close()
while not os.path.exists(f"{folder}/closed"):
    time.sleep(0.05)
print("done")
"""


ON_ITS_TERMINAL = """\
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY)
os.execvp("sh", ["sh", "-c", 'setsid nohup "$@" > log 2>&1 < /dev/null & read word', *sys.argv])
"""


def test_a_detached_run_survives_the_end_of_its_terminal_and_of_its_shell(
    command: tuple[str, ...], describe: Any, tmp_path: Path
) -> None:
    terminal, its = pty.openpty()
    words = [*command, "--quiet", str(describe(DETACHED)), "--", str(tmp_path)]
    shell = subprocess.Popen(
        [sys.executable, "-c", ON_ITS_TERMINAL, *words], stdin=its, stdout=its, stderr=its,
        start_new_session=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    os.close(its)
    try:
        _await(tmp_path / "here")
    finally:
        shell.kill()
        os.close(terminal)
        shell.wait()
        (tmp_path / "closed").touch()
    _await(tmp_path / "log", "done\n")


def _await(file: Path, text: str = "") -> None:
    deadline = time.monotonic() + LONG
    while not (file.exists() and text in file.read_text()):
        assert time.monotonic() < deadline, f"{file} never came"
        time.sleep(0.05)
