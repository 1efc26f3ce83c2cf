"""Type checkers find the packages where they are installed, without being told where they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
from gcm import Component, primitive
from runtime import coupling

def name(component: Component) -> str:
    return component.name

def wrong(component: Component) -> int:
    return component.name
"""


def test_a_type_checker_elsewhere_sees_the_types_of_the_installed_packages(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    (error, _summary) = done.stdout.splitlines()
    assert error.startswith("program.py:8: error: Incompatible return value type")
