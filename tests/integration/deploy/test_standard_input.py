"""Rank 0 of all reads the standard input of `gcm-deploy`; all others find its end."""

from __future__ import annotations

import hashlib
import os
import pty
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.far_host import NEAR_AND_FAR

pytestmark = pytest.mark.mpi
LONG = 60

READS_ALL = """\
from mpi4py import MPI
import hashlib, os
digest, size = hashlib.sha256(), 0
while data := os.read(0, 1 << 20):
    digest.update(data)
    size += len(data)
print(size, digest.hexdigest()[:8])
"""

ASKS = """\
from mpi4py import MPI
import sys
if MPI.COMM_WORLD.rank == 0:
    name = input("who? ")
    print("hello", name, flush=True)
    print("and", sys.stdin.read().split(), flush=True)
"""

# Starts its words in the background of the terminal that is its standard input.
IN_BACKGROUND = """\
import fcntl, os, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
process = subprocess.Popen(sys.argv[1:], process_group=0)
_, status = os.waitpid(process.pid, os.WUNTRACED)
if os.WIFSTOPPED(status):
    process.kill()
    sys.exit("it was stopped")
sys.exit(os.waitstatus_to_exitcode(status))
"""


def told(size: int, data: bytes) -> str:
    return f"{size} {hashlib.sha256(data).hexdigest()[:8]}"


@contextmanager
def fed(process: subprocess.Popen[str]) -> Iterator[None]:
    """Write to a process without ever ending, until it reads no more."""

    def feed() -> None:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            while True:
                process.stdin.write("a line that nobody reads\n" * 1000)

    feeder = threading.Thread(target=feed)
    feeder.start()
    yield
    assert process.wait(LONG) is not None
    feeder.join(LONG)
    assert not feeder.is_alive()
    with suppress(BrokenPipeError):
        process.stdin.close()  # type: ignore[union-attr]  # it is a pipe
    process.stdin = None


@NEAR_AND_FAR
def test_the_first_rank_reads_a_file_and_all_others_find_the_end(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    (tmp_path / "input").write_bytes(b"some\x00\xff\nwords")
    with open(tmp_path / "input") as source:
        process = start(
            "--quiet", "--tag-output", describe(READS_ALL, clusters=2, ranks=2), stdin=source
        )
        out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    nothing = told(0, b"")
    assert sorted(out.splitlines()) == [
        "[0] " + told(12, b"some\x00\xff\nwords"),
        f"[1] {nothing}",
        f"[2] {nothing}",
        f"[3] {nothing}",
    ]


@NEAR_AND_FAR
def test_much_input_arrives_whole_at_a_rank_that_reads_slowly(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    data = os.urandom(1 << 20) * 20
    (tmp_path / "input").write_bytes(data)
    with subprocess.Popen(["cat", tmp_path / "input"], stdout=subprocess.PIPE) as cat:
        slow = READS_ALL.replace("    size", "    import time; time.sleep(0.001)\n    size")
        process = start("--quiet", describe(slow), stdin=cat.stdout)
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (0, told(len(data), data) + "\n"), err


@pytest.mark.parametrize("what", ["pass", "os.close(0)", "os.read(0, 100); os.close(0)"])
def test_a_rank_that_does_not_read_ends_as_ever_while_input_goes_on(
    start: Any, describe: Any, what: str
) -> None:
    program = f"from mpi4py import MPI; import os, time; {what}; time.sleep(0.5); print('done')"
    process = start("--quiet", describe(program, ranks=2), stdin=subprocess.PIPE)
    with fed(process):
        pass
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out, err) == (0, "done\ndone\n", "")


def test_a_standard_input_that_is_closed_is_at_its_end(
    command: tuple[str, ...], describe: Any
) -> None:
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *command, "--quiet", str(describe(READS_ALL))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, told(0, b"") + "\n", "")


@NEAR_AND_FAR
def test_who_types_sees_the_question_and_gets_an_answer(start: Any, describe: Any) -> None:
    terminal, its = pty.openpty()
    process = start("--quiet", describe(ASKS, ranks=2), stdin=its)
    os.close(its)
    assert process.stdout is not None
    assert process.stdout.read(5) == "who? "
    os.write(terminal, b"Ana\n")
    assert process.stdout.readline() == "hello Ana\n"
    os.write(terminal, b"one two\n\x04")
    out, err = process.communicate(timeout=LONG)
    os.close(terminal)
    assert (process.returncode, out, err) == (0, "and ['one', 'two']\n", "")


def test_a_run_in_the_background_of_a_terminal_is_not_stopped(
    command: tuple[str, ...], describe: Any
) -> None:
    terminal, its = pty.openpty()
    file = describe("from mpi4py import MPI; import time; time.sleep(1); print('done')")
    done = subprocess.run(
        [sys.executable, "-c", IN_BACKGROUND, *command, "--quiet", str(file)],
        stdin=its, capture_output=True, text=True, timeout=LONG, check=False,
        start_new_session=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    os.close(its)
    os.close(terminal)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_input_that_comes_late_is_waited_for(start: Any, describe: Any) -> None:
    process = start("--quiet", describe(READS_ALL), stdin=subprocess.PIPE)
    time.sleep(2)
    out, err = process.communicate("late\n", timeout=LONG)
    assert (process.returncode, out) == (0, told(5, b"late\n") + "\n"), err
