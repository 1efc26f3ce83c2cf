"""Who is killed leaves no shared memory of MPI behind; what a program made itself stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runtime.launchers.base import Command, Process
from runtime.launchers.lines import Lines
from runtime.launchers.local import LocalLauncher
from runtime.launchers.segments import FOLDER, mapped_segments

# Opens one file and maps the other, says so, and waits.
HOLDER = """
import mmap, os, signal, sys
opened, mapped = sys.argv[1:]
first = os.open(opened, os.O_CREAT | os.O_RDWR, 0o600)
second = os.open(mapped, os.O_CREAT | os.O_RDWR, 0o600)
os.ftruncate(second, 4096)
memory = mmap.mmap(second, 4096)
os.close(second)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("there", flush=True)
while True: signal.pause()
"""

pytestmark = pytest.mark.skipif(not os.path.isdir(FOLDER), reason="there is no /dev/shm")


@pytest.fixture
def names() -> Iterator[Callable[[str], str]]:
    """Names in /dev/shm that no other test has; what is left of them goes."""
    with ExitStack() as stack:

        def make(kind: str) -> str:
            path = Path(f"{FOLDER}{kind}{os.urandom(6).hex()}")
            stack.callback(path.unlink, missing_ok=True)
            return str(path)

        yield make


@pytest.fixture
def launcher() -> Iterator[LocalLauncher]:
    with LocalLauncher() as made:
        yield made


def holding(launcher: LocalLauncher, *files: str, holder: str = HOLDER) -> Process:
    """Return a process that has these files by now."""
    process: Process = launcher.start(
        Command((sys.executable, "-c", holder, *files)), Lines(lambda *_: None)
    )
    while not mapped_segments(process.pid or 0):
        assert process.exit is None
    return process


def test_what_is_open_or_mapped_is_found_if_it_is_of_mpi(names: Callable[[str], str]) -> None:
    opened, mapped = names("ucx_shm_posix_"), names("mpich_shm_")
    assert seen_of(opened, mapped) == [mapped, opened]
    assert seen_of(names("my_data_"), names("psm_")) == []


def seen_of(*files: str) -> list[str]:
    words = [sys.executable, "-c", HOLDER, *files]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "there\n"
        found = mapped_segments(holder.pid)
        holder.kill()
    assert mapped_segments(holder.pid) == []
    return found


def test_a_command_that_is_killed_leaves_none(
    launcher: LocalLauncher, names: Callable[[str], str]
) -> None:
    shared, own = names("mpich_shm_"), names("my_data_")
    process = holding(launcher, own, shared)
    process.kill()
    process.wait(10)
    assert not os.path.exists(shared)
    assert os.path.exists(own)


def test_a_launcher_that_ends_leaves_none(
    launcher: LocalLauncher, names: Callable[[str], str]
) -> None:
    shared, own = names("mpich_shm_"), names("my_data_")
    holding(launcher, own, shared)
    launcher.close()
    assert not os.path.exists(shared)
    assert os.path.exists(own)


def test_what_ends_because_nobody_reads_its_output_any_more_leaves_none(
    launcher: LocalLauncher, names: Callable[[str], str]
) -> None:
    shared = names("mpich_shm_")
    writing = HOLDER.replace("signal.pause()", 'print("more", flush=True)')
    holding(launcher, names("my_data_"), shared, holder=writing)
    launcher.close()
    assert not os.path.exists(shared)
