"""Runs random programs of windows on a grid, and prints what each rank found.

python -m tools.window_programs "2+1" FIRST COUNT
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.on_grids import COMMAND, ROOT, descriptor, environment

PROGRAM = Path(__file__).with_name("program.py")


def main() -> int:
    """Run what the command line says; return the exit code of the run."""
    layout, first, count = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grid.xml"
        path.write_text(descriptor(layout, str(PROGRAM), (first, count)))
        command = [*COMMAND, "--quiet", "--tag-output", str(path)]
        return subprocess.run(command, cwd=ROOT, env=environment(), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
