"""The magic of notebooks: after `%load_ext runtime`, a cell below `%%gcm -n 4` is a program."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import Any

from runtime.errors import GridError
from runtime.runs import RunResult, started


def load_ipython_extension(shell: Any) -> None:
    """Offer `%%gcm` to a notebook."""

    def gcm(line: str, cell: str) -> None:
        shell.user_ns["gcm_result"] = run_cell(line, cell)

    shell.register_magic_function(gcm, "cell", "gcm")


def run_cell(line: str, cell: str) -> RunResult:
    """Run the text of a cell as a program; `line` has options of `gcm-deploy`, with a machine.

    Its output appears while it runs. The program is a file of the current folder as long, so that
    its ranks find what the notebook has beside it.

    Raises:
        RunFailed: the run did not end well.
        UsageError, GridError: nothing was started, or the user has interrupted the run.
    """
    file = _cell_file(cell)
    try:
        with started([*shlex.split(line), file.name]) as run:
            return run.follow().check()
    except KeyboardInterrupt:
        # the block above has ended what it started
        raise GridError("the run was interrupted, and all its processes have ended") from None
    finally:
        file.unlink(missing_ok=True)


def _cell_file(cell: str) -> Path:
    """Write a program that no file of the user has the name of."""
    try:
        number, name = tempfile.mkstemp(prefix="cell_", suffix=".py", dir=".", text=True)
    except OSError as error:
        raise GridError(
            f"the cell cannot be written as a program into {os.getcwd()}: {error.strerror}",
            cure="Start the notebook in a folder where you may write",
        ) from error
    with open(number, "w", encoding="utf-8") as stream:
        stream.write(cell)
    return Path(name)
