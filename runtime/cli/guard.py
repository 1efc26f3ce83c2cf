"""What every command of this package has around it: streams that endure, errors, exit codes."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Callable

from gcm.cli.output import written
from runtime.cli.errors import OutputFailed, UsageError
from runtime.cli.streams import fill_gaps, make_streams_endure
from runtime.errors import GridError
from runtime.exit_codes import OUTPUT_FAILED, READER_LEFT, WRONG_USAGE
from runtime.processes.cores import leave_no_core_file
from runtime.shown_text import shown_lines


def guarded(program: str, do: Callable[[], int]) -> int:
    """Return the exit code of a command about programs and their runs, whatever it raises."""
    fill_gaps()
    make_streams_endure()
    leave_no_core_file()
    try:
        gc.disable()  # imports and a descriptor leave no garbage to collect
        atexit.register(gc.freeze)  # to look through all that is loaded would delay the end
        return written(program, do, reader_left=READER_LEFT, failed=OUTPUT_FAILED)
    except UsageError as error:
        return _refused(program, error, WRONG_USAGE)
    except OutputFailed as error:
        return _refused(program, error, OUTPUT_FAILED)
    finally:
        gc.enable()


def guarded_daemon(program: str, do: Callable[[], int]) -> int:
    """Return the exit code of a command about a daemon, which may become one; 1 for all errors."""
    try:
        return written(program, do, reader_left=READER_LEFT, failed=1)
    except GridError as error:
        return _refused(program, error, 1)


def _refused(program: str, error: GridError, code: int) -> int:
    print(f"{program}: {shown_lines(str(error))}", file=sys.stderr)
    return code
