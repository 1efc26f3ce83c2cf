"""A lab as its page makes it, whose peer is in the hands of somebody else, and `gcm-run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

pytestmark = pytest.mark.mpi

BIN = Path(sys.executable).parent
PROGRAM = """\
import os, time
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank)
if world.rank == 0:
    print(os.getcwd(), flush=True)
    while not os.path.exists("paths.pth"):
        time.sleep(0.01)
    open("result.txt", "a").write(f"the sum is {total}\\n")
world.Barrier()
"""
MAKES_A_LAB = """\
gcm-peer lab create ourlab --supernode 127.0.0.1
gcm-peer lab invite lab1 --supernode -o lab1.credential
gcm-peer lab invite desk7 --peer -o desk7.credential
gcm-peer lab invite alice --user -o alice.credential
gcm-peer supernode --credential lab1.credential
gcm-peer boot --credential desk7.credential
gcm-peer lab join alice.credential
"""
ENDS_A_LAB = "gcm-peer halt\ngcm-peer halt --supernode\n"


class Place:
    """The machine of a user and of a peer: commands there, and what was run that must not be."""

    def __init__(self, base: Path, within: Sequence[str]) -> None:
        self._within = within
        self.work = base / "work"
        self.work.mkdir()
        (self.work / "program.py").write_text(PROGRAM)
        (base / "key").write_text("of the user\n")
        (base / "table").write_text("of the user\n")
        (self.work / "inputs").write_text("../table\n")
        self._environment = {**os.environ, "GCM_FOLDER": str(base / "gcm")}
        self.marks = base / "was-run"
        self._evil = f"open({str(self.marks)!r}, 'a').write(__file__ + '\\n')\n"

    def start(self, line: str) -> subprocess.Popen[str]:
        """Start a command in the folder of the program."""
        command, *words = line.split()
        return subprocess.Popen(
            [*self._within, str(BIN / command), *words],
            cwd=self.work, env=self._environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, lines: str) -> None:
        for line in lines.splitlines():
            with self.start(line) as process:
                _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, f"{line}: {errors}"

    def plant(self, folder: Path) -> None:
        """Put into a work folder what a later run, or Python, would take for its own."""
        for name in ("program.py", "mpi4py.py", "sitecustomize.py"):
            (folder / name).write_text(self._evil)
        tool = folder / "tool"
        tool.write_text(f"#!/bin/sh\necho tool >> {self.marks}\n")
        tool.chmod(0o755)
        (folder / "data").write_text("of the peer\n")
        (folder / "inputs").write_text("../key\n")
        (folder / "paths.pth").write_text(f"import sys; {self._evil}")

    def gcm_run(self) -> tuple[int, list[str], str]:
        """Run the program, at a peer that plants what it can; return code, what is there, errors.

        What is there are the files at the peer when the program began.
        """
        with self.start("gcm-run -n 2 -l inputs program.py") as process:
            assert process.stdout is not None
            folder = Path(process.stdout.readline().rstrip() or self.work)
            there = sorted(one.name for one in folder.iterdir())
            keys = [one for one in there if "PRIVATE KEY" in (folder / one).read_text()]
            if process.poll() is None:
                self.plant(folder)
            _, errors = process.communicate(timeout=60)
        assert keys == [], errors
        return process.returncode, there, errors


PLANTED = ("inputs", "program.py", "mpi4py.py", "paths.pth", "sitecustomize.py", "tool")
CREDENTIALS = ["alice.credential", "desk7.credential", "lab1.credential"]


def test_a_peer_in_other_hands_sees_no_key_and_has_nothing_run(
    own_network: Sequence[str], tmp_path: Path
) -> None:
    place = Place(tmp_path, own_network)
    kept = sorted(f"{one}.site0.desk7" for one in PLANTED)
    named = [f"{one} (now {one}.site0.desk7)" for one in PLANTED]
    try:
        place.run(MAKES_A_LAB)
        for already in ([], [*kept, "data", "result.txt"]):
            code, there, errors = place.gcm_run()
            assert (code, there) == (0, sorted(["program.py", "inputs", "table", *already])), errors
            assert [one for one in named if one not in errors] == [], errors
            assert errors.count("alice.credential is ") == 1
    finally:
        place.run(ENDS_A_LAB)
    assert (place.work / "program.py").read_text() == PROGRAM
    assert (place.work / "inputs").read_text() == "../table\n"
    assert (place.work / "result.txt").read_text() == "the sum is 1\n" * 2
    at_home = {one.name: one.stat().st_mode & 0o111 for one in place.work.iterdir()}
    del at_home[".gcm-former"], at_home[".gcm-results"]
    assert at_home == dict.fromkeys(
        ("program.py", "inputs", "data", "result.txt", *kept, *CREDENTIALS), 0
    )
    assert not place.marks.exists(), place.marks.read_text()
