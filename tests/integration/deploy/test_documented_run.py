"""What `docs/deploy.md` shows of a run looks like a run."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi

SHOWN = "$ gcm-deploy --verbose --tag-output laptop.xml 2>&1 | cat\n"
HOST = "vm"
"""What the host is called in the documentation."""


def shape(text: str, host: str) -> list[str]:
    """Return the lines in any order, without what differs from run to run."""
    text = re.sub(rf"\b{re.escape(host)}\b", "HOST", text)
    lines = [re.sub(r" +", " ", line).strip() for line in text.splitlines()]
    return sorted(re.sub(r"(?<![\w:])[\d.,]+(?![\w:])", "N", line) for line in lines)


def test_the_shown_run_is_like_a_real_one(start: Any, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deploy.md").read_text()
    descriptor = page.partition("```xml\n")[2].partition("```")[0]
    shown = page.partition(SHOWN)[2].partition("```")[0]
    (tmp_path / "laptop.xml").write_text(descriptor)
    shutil.copy(ROOT / "examples" / "10_ring" / "ring.py", tmp_path)
    process = start("--verbose", "--tag-output", tmp_path / "laptop.xml", stderr=subprocess.STDOUT)
    printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0, printed
    assert shape(printed, socket.gethostname()) == shape(shown, HOST)
    assert "the token came back with 6: right" in shown
