"""The magic of notebooks: after `%load_ext runtime`, a cell below `%%gcm -n 4` is a program."""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from runtime.cli.errors import UsageError
from runtime.errors import GridError
from runtime.runs import RunResult, started


def load_ipython_extension(shell: Any) -> None:
    """Offer `%%gcm` to a notebook."""

    def gcm(line: str, cell: str) -> None:
        shell.user_ns.pop("gcm_result", None)  # else that of another cell is there after a fault
        shell.user_ns["gcm_result"] = run_cell(line, cell)

    _remove_those_of_dead_kernels()

    shell.register_magic_function(gcm, "cell", "gcm")


def run_cell(line: str, cell: str) -> RunResult:
    """Run the text of a cell as a program; `line` has options of `gcm-deploy`, with a machine.

    Its output appears while it runs. The program is a file of the current folder as long, so that
    its ranks find what the notebook has beside it.

    Raises:
        RunFailed: the run did not end well.
        UsageError, GridError: nothing was started, or the user has interrupted the run.
    """
    try:
        words = shlex.split(line)
    except ValueError as error:  # such as "No closing quotation"
        what = f"%%gcm {line}: {error}"
        raise UsageError(what, cure="It is read as by a shell: close all quotes") from None
    file = _cell_file(cell)
    try:
        with started([*words, file.name]) as run:
            return run.follow().check()
    except KeyboardInterrupt:
        # the block above has ended what it started
        raise GridError("the run was interrupted, and all its processes have ended") from None
    finally:
        file.unlink(missing_ok=True)


def _prefix() -> str:
    """Return how the names of all cells begin whose kernels are on this host."""
    return f"cell_{os.uname().nodename}_"


def _remove_those_of_dead_kernels() -> None:
    """Remove programs from the current folder that kernels have left there which were killed."""
    name = re.compile(rf"{re.escape(_prefix())}([1-9][0-9]{{0,9}})_\w{{8}}\.py", re.ASCII)
    with suppress(OSError):
        for file in os.listdir():
            if (found := name.fullmatch(file)) and not _is_alive(int(found[1])):
                Path(file).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # that of another user
    return True


def _cell_file(cell: str) -> Path:
    """Write a program that no file of the user has the name of."""
    prefix = f"{_prefix()}{os.getpid()}_"
    try:
        number, name = tempfile.mkstemp(prefix=prefix, suffix=".py", dir=".", text=True)
    except OSError as error:
        raise GridError(
            f"the cell cannot be written as a program into {os.getcwd()}: {error.strerror}",
            cure="Start the notebook in a folder where you may write",
        ) from error
    with open(number, "w", encoding="utf-8") as stream:
        stream.write(cell)
    return Path(name)
