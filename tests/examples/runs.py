"""Runs an example as a user does, and returns what it printed, without the seconds that it took."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tools.on_grids import ROOT

DEPLOY = [sys.executable, "-c", "import sys; from runtime.cli import main; sys.exit(main())"]


def run(*words: str, code: int = 0) -> str:
    """Run a command, which has to end with `code`; what succeeds says nothing on stderr."""
    done = subprocess.run(
        words,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=140,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert code or not done.stderr, done.stderr
    return re.sub(r"; \d+\.\d+ s$", "", done.stdout, flags=re.MULTILINE)


def on_grid(shape: str, program: str, *arguments: str) -> str:
    """Run a program of the examples on an emulated grid; return its lines."""
    script = str(ROOT / "examples" / program)
    return run(*DEPLOY, "--quiet", "--emulate", shape, script, *arguments).rstrip()


def deploy(descriptor: str, *options: str) -> str:
    """Run one of the descriptors."""
    return run(*DEPLOY, "--quiet", *options, f"descriptors/{descriptor}.xml")
