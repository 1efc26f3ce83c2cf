"""A run in the kernel of a notebook shows its progress in a widget, where ipywidgets is there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = "from mpi4py import MPI\nprint(MPI.COMM_WORLD.allreduce(1))\n"
CELL = """\
from runtime import run
assert run("program.py", machine="1x2x1").output == "2\\n2\\n"
"""
NOTEBOOK = """
import json, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel()
asked, shown = client.execute(sys.argv[1]), []
while True:
    told = client.get_iopub_msg(timeout=60)
    kind, content = told["msg_type"], told["content"]
    assert kind != "error", content
    state = content.get("data", {}).get("state", {})
    if kind in ("comm_open", "comm_msg") and "value" in state:
        shown.append(state["value"])
    is_ours = told["parent_header"].get("msg_id") == asked
    if is_ours and kind == "status" and content["execution_state"] == "idle":
        break
client.stop_channels()
manager.shutdown_kernel()
print(json.dumps(shown))
"""
"""Runs a cell in a kernel, and tells what its widgets have shown, one after the other."""


def test_the_tree_changes_below_the_cell_and_stays_as_it_ended(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, CELL], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path)}, timeout=120,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert any("starting" in one for one in shown)
    assert shown[-1].startswith("<pre>program  ")
    assert shown[-1].count("✓") == 2
