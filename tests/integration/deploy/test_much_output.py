"""Much output arrives unchanged, takes bounded memory, and whoever reads sets the pace."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.far_host import NEAR_AND_FAR

pytestmark = pytest.mark.mpi
LONG = 90
MIB = 1 << 20

NUMBERED = """\
from mpi4py import MPI
import sys
world = MPI.COMM_WORLD
for number in range(int(sys.argv[1])):
    print(f"{world.rank} {number} " + "x" * 60)
"""

BYTES = """\
from mpi4py import MPI
import os
os.write(1, b"\\xff\\x00\\r\\n\\x85 caf\\xe9\\n")
os.write(1, b"x" * 3_000_000)
os.write(1, b"no newline")
"""

WRITES_AND_ENDS = """\
from mpi4py import MPI
import os, sys
os.write(1, (b"x" * 1023 + b"\\n") * (16 << 10))
open(sys.argv[1], "w").close()
"""

WRITES_AND_FAILS = """\
from mpi4py import MPI
import os, sys
if MPI.COMM_WORLD.rank == 1:
    MPI.COMM_WORLD.recv(source=0)
os.write(1, (b"x" * 1023 + b"\\n") * (16 << 10))
open(sys.argv[1], "w").close()
os._exit(7)
"""

NOTES = """\
from mpi4py import MPI
import os, sys
line, written = b"x" * 1023 + b"\\n", 0
while True:
    os.write(1, line * 64)
    written += 64
    note = os.path.join(sys.argv[1], str(MPI.COMM_WORLD.rank))
    with open(note + ".new", "w") as file:
        file.write(str(written))
    os.rename(note + ".new", note)
"""


def peak(pid: int) -> int:
    """Return the most memory that a process ever had, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert found
    return int(found[1]) << 10


@NEAR_AND_FAR
def test_every_line_of_every_rank_arrives_whole_and_in_order(start: Any, describe: Any) -> None:
    count = 40_000
    process = start(
        "--quiet", "--tag-output", describe(NUMBERED, clusters=2, ranks=2), "--", str(count)
    )
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    told: dict[str, list[str]] = {}
    for line in out.splitlines():
        tag, _, text = line.partition(" ")
        told.setdefault(tag, []).append(text)
    assert sorted(told) == ["[0]", "[1]", "[2]", "[3]"]
    for tag, lines in told.items():
        own = tag.strip("[]")
        assert lines == [f"{own} {number} " + "x" * 60 for number in range(count)]


def test_bytes_pass_unchanged_with_a_long_line_and_one_that_has_no_end(
    command: tuple[str, ...], describe: Any, tmp_path: Path
) -> None:
    words = [*command, "--quiet", "--output-dir", tmp_path / "logs", describe(BYTES)]
    done = subprocess.run(words, capture_output=True, timeout=LONG, check=False)
    wanted = b"\xff\x00\r\n\x85 caf\xe9\n" + b"x" * 3_000_000 + b"no newline"
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == wanted
    assert (tmp_path / "logs" / "0.0.0.stdout").read_bytes() == wanted
    told = subprocess.run(
        [*command, "--quiet", "--format", "json", describe(BYTES)],
        capture_output=True, timeout=LONG, check=False,
    )  # fmt: skip
    assert told.stdout.startswith(wanted + b"\n{")


@pytest.fixture
def unread(start: Any, describe: Any, tmp_path: Path) -> Any:
    """A run whose ranks write for ever, to somebody who does not read, until they have to wait."""
    process = start("--quiet", describe(NOTES, clusters=2, ranks=2), "--", tmp_path)
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], LONG)[0]
    before, deadline = -1, time.monotonic() + LONG
    while (now := written(tmp_path)) != before or not now:
        assert time.monotonic() < deadline
        before = now
        time.sleep(0.5)
    return process


def test_time_that_passes_until_somebody_reads_is_not_that_of_the_ranks(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    words = describe(WRITES_AND_ENDS), "--", tmp_path / "written"
    process = start("--quiet", "--run-timeout", "6", *words)
    deadline = time.monotonic() + LONG
    while not (tmp_path / "written").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(7)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, err, out.count("x" * 1023 + "\n")) == (0, "", 16 << 10)


def test_a_run_that_failed_ends_when_its_output_has_been_read(
    start: Any, describe: Any, tmp_path: Path
) -> None:
    process = start("--quiet", describe(WRITES_AND_FAILS, clusters=2), "--", tmp_path / "written")
    deadline = time.monotonic() + LONG
    while not (tmp_path / "written").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(13)  # more than the others may go on, and the front-ends have to end, together
    assert process.poll() is None
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out.count("x" * 1023 + "\n")) == (7, 16 << 10), err
    assert "exit code 7" in err
    assert "lost" not in err


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_a_run_of_which_only_output_is_left(
    start: Any, describe: Any, tmp_path: Path, times: int
) -> None:
    process = start("--quiet", describe(WRITES_AND_ENDS), "--", tmp_path / "written")
    deadline = time.monotonic() + LONG
    while not (tmp_path / "written").exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    time.sleep(1)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    if times == 1:  # what has come is shown, the rest is lost
        time.sleep(8)
        out, err = process.communicate(timeout=LONG)
        assert len(out) < 16 << 20
        assert "/grid/site0/cluster0 is lost" in err
    assert process.wait(LONG) == 128 + signal.SIGINT


def written(folder: Path) -> int:
    """Return how many bytes the ranks have written."""
    notes = [folder / str(rank) for rank in range(4)]
    return sum(int(note.read_text()) << 10 for note in notes if note.exists())


@NEAR_AND_FAR
def test_ranks_wait_for_whoever_does_not_read_and_nothing_grows(
    unread: Any, tmp_path: Path
) -> None:
    assert written(tmp_path) < 96 * MIB  # 36 of each cluster, and what pipes hold
    assert peak(unread.pid) < 200 * MIB
    os.set_blocking(unread.stdout.fileno(), False)
    before, read = written(tmp_path), 0
    while read < before + MIB:
        assert select.select([unread.stdout], [], [], LONG)[0]
        read += len(os.read(unread.stdout.fileno(), MIB))
    assert written(tmp_path) > before


def test_ctrl_c_ends_a_run_that_nobody_reads(unread: Any) -> None:
    unread.send_signal(signal.SIGINT)
    out, err = unread.communicate(timeout=LONG)
    assert unread.returncode == 130
    assert "stopping" in err
    assert {line for line in out.split("\n") if "x" * 9 in line} == {"x" * 1023}
