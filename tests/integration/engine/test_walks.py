"""The walks of docs/architecture.md: a run calls these functions, in this order."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tools.on_grids import COMMAND, ROOT

pytestmark = pytest.mark.mpi

# Python imports it in each process before anything else; processes that part go on with it.
FOLLOWING = """
import os, sys, threading

wanted = {line.rstrip() for line in open(os.environ["GCM_TEST_WALK"])}
calls = os.environ["GCM_TEST_CALLS"]

def follow(frame, event, _):
    code = frame.f_code
    if event != "call" or not code.co_filename.startswith(ROOT):
        return
    module = code.co_filename[len(ROOT) : -3].replace("/", ".")
    name = f"{module}:{code.co_qualname}"
    if name in wanted:
        file = os.open(calls, os.O_WRONLY | os.O_APPEND)
        os.write(file, f"{name}\\n".encode())
        os.close(file)

sys.setprofile(follow)
threading.setprofile(follow)
"""
STATION = re.compile(r"^\d+\. `(runtime[\w.]*:[\w.]+)`", re.MULTILINE)


def walk(heading: str) -> list[str]:
    """Return the functions of a walk, by module and name."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return STATION.findall(section)


def test_a_descriptor_becomes_ranks_by_the_way_that_is_described(tmp_path: Path) -> None:
    stations = walk("A walk of one descriptor to a rank")
    assert len(stations) > 15
    wanted, calls = tmp_path / "wanted", tmp_path / "calls"
    wanted.write_text("".join(f"{one}\n" for one in stations))
    calls.touch()
    (tmp_path / "sitecustomize.py").write_text(FOLLOWING.replace("ROOT", repr(f"{ROOT}/")))
    (tmp_path / "program.py").write_text("print('here')")
    (tmp_path / "grid.xml").write_text(
        '<deployment name="t"><application script="program.py"/><emulate ranks="2"/></deployment>'
    )
    done = subprocess.run(
        [*COMMAND, "--quiet", "grid.xml"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={
            **os.environ,
            "PYTHONPATH": f"{tmp_path}:{ROOT}",
            "GCM_TEST_WALK": str(wanted),
            "GCM_TEST_CALLS": str(calls),
        },
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "here\nhere\n"), done.stderr
    called = iter(calls.read_text().splitlines())
    missing = [one for one in stations if one not in called]
    assert missing == [], "these are not called, or not behind the ones before them"
