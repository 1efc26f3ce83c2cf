"""The import rules of setup.cfg notice what they forbid, inside functions too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.on_grids import ROOT

PLANTED = {
    "gcm/errors.py": "import runtime.errors\nimport Pyro5.api",
    "runtime/errors.py": "from mpi4py import MPI",
    "gcm/interfaces/types.py": "def planted():\n    import gcm.membranes.binding",
    "gcm/documents/location.py": "def planted():\n    import gcm.documents.reader",
    "runtime/annex.py": "",
}
"""What breaks each rule once."""

TOLD = (
    "gcm is not allowed to import runtime",
    "gcm is not allowed to import Pyro5",
    "runtime is not allowed to import mpi4py",
    "gcm.interfaces is not allowed to import gcm.membranes",
    "No cycles are allowed in gcm.documents",
    "runtime.annex",
)


def lint(folder: Path) -> str:
    """Return what the checker says of the packages in a folder."""
    done = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a copy of the packages in which every rule is broken."""
    folder = tmp_path_factory.mktemp("checkout")
    for package in ("gcm", "runtime"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    shutil.copy(ROOT / "setup.cfg", folder)
    for file, lines in PLANTED.items():
        with (folder / file).open("a", encoding="utf-8") as opened:
            opened.write(f"\n\n{lines}\n")
    return lint(folder)


@pytest.mark.parametrize("sentence", TOLD)
def test_each_planted_fault_is_told(told: str, sentence: str) -> None:
    assert sentence in told
