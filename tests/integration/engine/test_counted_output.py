"""The counted stdout of a process is buffered as Python would do it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, sys
from runtime.mpi.process.counted_output import count_output, counted_output
count_output(is_late=False)
print("one")
sys.stdout.write("two, begun")
counted = counted_output()
if {looks}:
    assert counted.so_far() == (1, b"two, begun"), counted.so_far()
os._exit(0)
"""


@pytest.mark.parametrize(
    ("words", "looks", "said"),
    [((), False, ""), ((), True, "one\ntwo, begun"), (("-u",), False, "one\ntwo, begun")],
)
def test_what_python_does_not_buffer_is_written_at_once(
    words: tuple[str, ...], looks: bool, said: str
) -> None:
    command = [sys.executable, *words, "-c", PROGRAM.format(looks=looks)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={})
    assert done.stdout == said
