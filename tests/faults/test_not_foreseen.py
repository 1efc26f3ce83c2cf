"""Faults of the package itself and of the user's listener end a run too, and never hang it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Bench

pytestmark = pytest.mark.mpi

COMMAND = "import sys; from runtime.cli import main; sys.exit(main())"
AWAY = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
WAITS = "from mpi4py import MPI\nimport time\nprint('up', flush=True)\ntime.sleep(1000)\n"


def test_a_run_does_not_need_the_folder_where_it_was_called(bench: Bench) -> None:
    bench.plan("import os\nfrom mpi4py import MPI\nprint(os.getcwd(), flush=True)\n")
    gone = bench.folder / "gone"
    gone.mkdir()
    root = Path(__file__).parents[2]
    command = [sys.executable, "-P", "-c", COMMAND]
    run = subprocess.run(
        ["/bin/sh", "-c", AWAY, "sh", str(gone), *command, str(bench.folder / "test.xml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert run.returncode == 0, run.stderr
    assert set(run.stdout.splitlines()) == {str(bench.folder)}
    assert bench.left() == []


def test_a_listener_that_raises_ends_the_run(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    def strike(_identifier: str, text: str) -> None:
        raise LookupError(f"nobody knows {text}")

    bench.recorder.on_line = strike
    outcome = bench.deploy(bench.plan(WAITS))
    assert outcome.exit_code == 203
    assert outcome.errors == (
        "the engine failed: LookupError: nobody knows up."
        " Everything was ended; the log has the traceback",
    )
    assert [one.getMessage() for one in caplog.records] == ["the engine failed"]
    assert bench.left() == []
