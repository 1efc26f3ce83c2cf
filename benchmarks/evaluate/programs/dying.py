"""Poisson's equation by the example beside it, in which rank 1 kills itself once, in the middle.

dying.py MARK STEPS [FOLDER]: the process that makes the file MARK is the one that dies; without a
name nobody does. With a folder the ranks save checkpoints there, and resume from them.
"""

import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

mark, steps, *folder = sys.argv[1:]
sys.argv[1:] = ["--steps", steps, *(["--checkpoint", str(int(steps) // 4)] if folder else [])]
poisson: Any = importlib.import_module("poisson")

if folder:
    os.chdir(folder[0])
step, done = poisson.step, [0]


def dying(*given: Any) -> Any:
    done[0] += 1
    if mark and done[0] == int(steps) * 5 // 8 and poisson.GRID.rank == 1:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return step(*given)


poisson.step = dying
sys.exit(poisson.main())
