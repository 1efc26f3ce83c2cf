"""The rank in a thread of a C program; see `c_program`."""

from __future__ import annotations

import signal

from runtime.processes.rank import c_program
from runtime.processes.rank.main import number_of, run_here
from runtime.processes.rank.options import RankOptions


def main(words: list[str]) -> int:
    """Be the rank until the program ends; returns only if that cannot begin."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python has taken it; the program has not
    c_program.let_mpi4py_be_native()
    options = RankOptions(words)
    code = run_here(options, number_of(options))
    c_program.end()
    return code
