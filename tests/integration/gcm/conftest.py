"""Runs the real `gcm` command in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SECONDS = 60


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """Return an environment in which the command finds what this process finds."""
    paths = [str(Path(__file__).parents[3]), *filter(None, sys.path)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def gcm(tmp_path: Path, environment: dict[str, str]) -> Callable[..., tuple[int, str, str]]:
    """Run `gcm` in the folder of the test; return exit code, standard output and error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "gcm", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run
