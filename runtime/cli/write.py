"""`--write`: saves the descriptor for a program and its machine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

from runtime.allocations.request import JobRequest
from runtime.cli.errors import OutputFailed
from runtime.cli.line.document import document_of
from runtime.cli.line.options import Options
from runtime.cli.load import read_document
from runtime.cli.streams import write
from runtime.exit_codes import FAULTS

STANDARD_OUTPUT = "-"


def write_descriptor(options: Options) -> int:
    """Write the descriptor to the file of `--write` if it is correct, and start nothing.

    Raises:
        OutputFailed: the file exists already, or cannot be written.
    """
    assert options.one_line is not None, "the options are not read without"
    shown = options.write == STANDARD_OUTPUT
    folder = os.getcwd() if shown else os.path.dirname(os.path.abspath(options.write))
    one_line = options.one_line
    if one_line.job is not None:
        one_line = replace(one_line, job=_asked_again(one_line.job))
    document = document_of(one_line, options.arguments, folder, variables=options.variables)
    if read_document(document, options.settings, options.format) is None:
        return FAULTS
    if shown:
        write(document.text)
        return 0
    save(document.text, options.write)
    if not options.quiet:
        print(f"gcm-deploy: wrote {options.write}", file=sys.stderr)
    return 0


def _asked_again(job: JobRequest) -> JobRequest:
    """Return what asks the queue for the nodes of a job, which has ended when the file is used."""
    return replace(
        job, job="", places=(), tasks_per_node=max(job.places, default=job.tasks_per_node)
    )


def check_folder(file: str) -> None:
    """Raise `OutputFailed` if no file can be made there, as far as can be checked beforehand."""
    folder = os.path.dirname(file) or "."
    if not os.path.isdir(folder):
        raise _failure(file, f"there is no folder '{folder}'")
    if not os.path.exists(file) and not os.access(folder, os.W_OK | os.X_OK):
        raise _failure(file or folder, "Permission denied")


def save(text: str, file: str, *, overwrite: bool = False) -> None:
    """Write a descriptor to a file, which may exist only with `overwrite`.

    Raises:
        OutputFailed: the file exists, or cannot be written.
    """
    try:
        with open(file, "w" if overwrite else "x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise OutputFailed(f"'{file}' already exists", cure="Name another file") from None
    except OSError as error:
        raise _failure(file, error.strerror) from error


def _failure(file: str, why: str | None) -> OutputFailed:
    return OutputFailed(
        f"'{file}' cannot be written: {why}",
        cure="Name a file in a folder that is there and may be written to",
    )
