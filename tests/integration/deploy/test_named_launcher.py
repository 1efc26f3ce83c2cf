"""A class that a descriptor names starts the front-end and the ranks of its cluster."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

PROGRAM = "import os\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.rank, os.nice(0))\n"


@pytest.fixture
def shown(tmp_path: Path) -> str:
    """Write the launcher that the documentation shows, and return a descriptor that names it."""
    page = (ROOT / "docs" / "how-to.md").read_text("utf-8")
    found = re.search(r"^```python\n(# nicely\.py\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found
    (tmp_path / "nicely.py").write_text(found[1], "utf-8")
    (tmp_path / "priorities.py").write_text(PROGRAM, "utf-8")
    mpiexec = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or "mpiexec"
    return (
        '<deployment><application script="priorities.py"/><grid><site><cluster/><cluster>'
        '<launcher class="nicely.Nicely" arguments="{}"/>'
        f'<front-end python="{sys.executable}"/><mpi ranks="2" command-path="{mpiexec}"/>'
        "</cluster></site></grid></deployment>"
    )


def run(start: Any, folder: Path, text: str) -> tuple[int, str, str]:
    (folder / "nice.xml").write_text(text, "utf-8")
    process = start("--quiet", folder / "nice.xml")
    output, errors = process.communicate(timeout=60)
    return process.returncode, output, errors


def test_a_launcher_of_the_user_starts_all_of_its_cluster(
    start: Any, tmp_path: Path, shown: str
) -> None:
    code, output, errors = run(start, tmp_path, shown.format("-n 7"))
    assert (code, errors) == (0, "")
    assert sorted(output.splitlines()) == ["0 0", "1 7", "2 7"]


def test_a_command_that_leads_nowhere_is_named_with_its_own_words(
    start: Any, tmp_path: Path, shown: str
) -> None:
    code, _, errors = run(start, tmp_path, shown.format("no-such-program"))
    assert code == 203
    assert "site0/cluster1: 'nice', which leads there, ended with exit code 127" in errors
    assert "no-such-program" in errors


def test_a_class_that_is_no_launcher_is_reported_before_anything_starts(
    start: Any, tmp_path: Path, shown: str
) -> None:
    code, _, errors = run(start, tmp_path, shown.replace("nicely.Nicely", "nicely.Sequence"))
    assert code == 201
    assert "error[bad-class]: launcher 'nicely.Sequence' cannot be used" in errors
