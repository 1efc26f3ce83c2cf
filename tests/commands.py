"""The commands of this project in processes of their own, as a user starts them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.on_grids import COMMAND, ROOT, environment


def gcm_deploy(
    *words: str | Path, cwd: Path = ROOT, timeout: float = 120.0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run `gcm-deploy` to its end; the variables are added to its environment."""
    return subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env={**environment(), "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
