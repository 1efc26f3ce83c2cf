"""What the summary says was carried is what went over each way, in both directions."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

PROGRAM = "from mpi4py import MPI\nfor n in range({lines}): print('x' * 999)\n"
DESCRIPTOR = (
    '<deployment name="t"><application script="program.py"/>'
    '<emulate sites="1" clusters="2" ranks="2"/></deployment>'
)


def routes(folder: Path, lines: int) -> dict[str, tuple[int, int, int]]:
    (folder / "program.py").write_text(PROGRAM.format(lines=lines))
    (folder / "test.xml").write_text(DESCRIPTOR)
    run = subprocess.run(
        [*COMMAND, "--format", "json", str(folder / "test.xml")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    summary = json.loads(run.stdout.splitlines()[-1])
    return {
        one["route"]: (one["messages"], one["sent"], one["received"]) for one in summary["traffic"]
    }


def test_messages_and_bytes_are_counted_for_each_way(tmp_path: Path) -> None:
    few, many = routes(tmp_path, 1), routes(tmp_path, 3000)
    clusters = ("site0/cluster0", "site0/cluster1")
    names = [name for path in clusters for name in (f"launcher - {path}", f"{path} - its ranks")]
    assert list(few) == names
    assert list(many) == names
    for path in clusters:
        # Each of two ranks is ready, gets its view, its settings and the word to go, tells whom it
        # reached, and its end. One that outlives the other may be asked what it does, and
        # end before it answers.
        assert few[f"{path} - its ranks"][0] in (12, 13, 14)
        assert many[f"{path} - its ranks"][0] in (12, 13, 14)
        output = 2 * 3000 * 999
        before, after = few[f"launcher - {path}"], many[f"launcher - {path}"]
        assert before[0] >= 10  # handshake, go, stop and what the front-end says to them
        assert 2500 < before[2] < 20_000
        assert output < after[2] < output * 1.2
        assert after[0] > before[0]
        assert after[1] - before[1] < output / 1000  # only that it was taken, now and then
