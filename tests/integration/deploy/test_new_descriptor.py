"""`gcm-deploy new`, answered by pipes, by options and at a terminal, and what it writes."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.exit_codes import FAULTS, OUTPUT_FAILED, WRONG_USAGE

LONG = 60
ASKED = ("Which program", "Where?", "How many ranks?", "Which files should be brought home?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one program."""
    (tmp_path / "ring.py").write_text(
        "import sys\nfrom mpi4py import MPI\nprint(MPI.COMM_WORLD.size, sys.argv[1:])\n"
    )
    return tmp_path


def piped(start: Any, folder: Path, answers: str, *words: str) -> tuple[int, str, str]:
    process = start("new", *words, cwd=folder, stdin=subprocess.PIPE)
    out, err = process.communicate(answers, timeout=LONG)
    return process.returncode, out, err


@pytest.mark.mpi
def test_answers_from_a_pipe_make_a_descriptor_that_runs(start: Any, folder: Path) -> None:
    code, out, err = piped(start, folder, "ring.py 'a b'\nhere\n2x1\nall\n")
    assert (code, out) == (0, ""), err
    assert all(question in err for question in ASKED)
    assert "gcm-deploy: wrote ring.xml\n" in err
    assert "gcm-deploy --dry-run ring.xml shows the plan, gcm-deploy ring.xml runs it" in err
    process = start("--quiet", folder / "ring.xml", cwd="/")
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out, err) == (0, "2 ['a b']\n" * 2, "")


def test_empty_answers_mean_what_stands_in_brackets(start: Any, folder: Path) -> None:
    code, _, err = piped(start, folder, "\n\n\n\n", "sub.xml")
    assert code == 0
    for default in ("[ring.py]", "[here]", "[2x2x2]", "[all]"):
        assert default in err
    text = (folder / "sub.xml").read_text()
    assert '<application script="ring.py"/>' in text
    assert '<emulate sites="2" clusters="2" ranks="2"/>' in text
    assert "<file-transfer" not in text


def test_hosts_and_results_are_written_down(start: Any, folder: Path) -> None:
    code, _, err = piped(start, folder, "ring.py\nlocalhost,ana@lyon:8\n\nout 'a b'\n")
    assert code == 0
    assert "[4]" in err
    text = (folder / "ring.xml").read_text()
    assert '<ssh host="lyon" user="ana"/>' in text
    assert [text.count(f'<mpi ranks="{ranks}"/>') for ranks in (4, 8)] == [1, 1]
    assert '<file-transfer direction="out" source="out"/>' in text
    assert '<file-transfer direction="out" source="a b"/>' in text


def test_options_answer_without_being_asked(start: Any, folder: Path) -> None:
    words = ["--program", "ring.py", "--where", "here", "--ranks", "3", "--results", "all"]
    process = start("new", *words, cwd=folder, stdin=subprocess.DEVNULL)
    out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (0, "")
    assert not any(question in err for question in ASKED)
    assert 'ranks="3"' in (folder / "ring.xml").read_text()


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ("", "there is no answer to question 1 of 4 (program), so nothing was written"),
        ("ring.py\nhere\n", "there is no answer to question 3 of 4 (ranks)"),
        ("rong.py\n", "program: there is no file 'rong.py'"),
        ("ring.py 'a\n", "program: No closing quotation"),
        ("python ring.py\n", "so leave 'python' out: ring.py"),
        ("ring.py\na,,b\n", "where: 'a,,b' has a comma"),
        ("ring.py\nhere\nmany\n", "ranks: 'many' is"),
        ("ring.py\na\n2x2\n", "ranks: '2x2' is"),
    ],
)
def test_without_a_terminal_a_missing_or_wrong_answer_ends_it(
    start: Any, folder: Path, answers: str, complaint: str
) -> None:
    code, out, err = piped(start, folder, answers)
    assert (code, out) == (WRONG_USAGE, "")
    assert complaint in err.splitlines()[-1]
    assert [one.name for one in folder.iterdir()] == ["ring.py"]


def test_a_faulty_descriptor_is_not_written(start: Any, folder: Path) -> None:
    code, _, err = piped(start, folder, "ring.py\nhere\n2x1\n../up\n")
    assert code == FAULTS
    assert "leads out of the work folder" in err
    assert not (folder / "ring.xml").exists()


def test_a_folder_that_is_not_there_is_told_of_before_anything_is_asked(
    start: Any, folder: Path
) -> None:
    code, out, err = piped(start, folder, "", "none/x.xml")
    assert (code, out, err.count("\n")) == (OUTPUT_FAILED, "", 1)
    begin = "gcm-deploy: 'none/x.xml' cannot be written: there is no folder 'none'. Name a file"
    assert err.startswith(begin)


def test_a_program_may_be_one_that_only_the_hosts_have(start: Any, folder: Path) -> None:
    words = ("x.xml", "--program", "no-such-solver 3", "--ranks", "2", "--results", "all")
    code, _, err = piped(start, folder, "", *words, "--where", "here")
    assert (code, "--where: there is no program 'no-such-solver'" in err) == (WRONG_USAGE, True)
    assert piped(start, folder, "", *words, "--where", "lyon")[0] == 0
    assert 'executable="no-such-solver"' in (folder / "x.xml").read_text()


def test_a_file_that_is_there_is_replaced_only_when_told(start: Any, folder: Path) -> None:
    (folder / "ring.xml").write_text("mine")
    code, _, err = piped(start, folder, "ring.py\nhere\n2\nall\n")
    assert code == WRONG_USAGE
    assert "'ring.xml' already exists, so nothing was written" in err
    assert "Where?" not in err, "nothing more is asked in vain"
    assert (folder / "ring.xml").read_text() == "mine"
    assert piped(start, folder, "\n\n\n\n", "--overwrite")[0] == 0
    assert "<emulate" in (folder / "ring.xml").read_text()


class Terminal:
    """Types and reads like a person."""

    def __init__(self, master: int) -> None:
        self._master = master
        self._seen = ""

    def expect(self, text: str) -> None:
        deadline = time.monotonic() + LONG
        while text not in self._seen:
            ready, _, _ = select.select([self._master], [], [], deadline - time.monotonic())
            assert ready, f"no '{text}' in: {self._seen}"
            self._seen += os.read(self._master, 4096).decode()
        self._seen = self._seen.partition(text)[2]

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())


@pytest.fixture
def terminal() -> Iterator[tuple[Terminal, int]]:
    """A terminal, and the file descriptor of a program in it."""
    master, slave = pty.openpty()
    yield Terminal(master), slave
    os.close(master)
    os.close(slave)


def test_at_a_terminal_it_asks_again_after_a_wrong_answer(
    start: Any, folder: Path, terminal: tuple[Terminal, int]
) -> None:
    (folder / "ring.xml").write_text("mine")
    person, slave = terminal
    process = start("new", cwd=folder, stdin=slave, stdout=slave, stderr=slave)
    person.expect("[ring.py]")
    person.type("rong.py\n")
    person.expect("gcm-deploy: program: there is no file 'rong.py'")
    person.expect("Which program")
    person.type("\n")
    person.expect("ring.xml already exists. Replace it? [no]")
    person.type("yes\n")
    person.expect("[here]")
    person.type("\n")
    person.expect("[2x2x2]")
    person.type("many\n")
    person.expect("is not SITESxCLUSTERSxRANKS")
    person.type("3\n")
    person.expect("[all]")
    person.type("\n")
    person.expect("wrote ring.xml")
    assert process.wait(LONG) == 0
    assert '<emulate sites="1" clusters="1" ranks="3"/>' in (folder / "ring.xml").read_text()


@pytest.mark.parametrize("keys", ["\x04", "no\n"])
def test_at_a_terminal_nothing_is_replaced_without_a_yes(
    start: Any, folder: Path, terminal: tuple[Terminal, int], keys: str
) -> None:
    (folder / "ring.xml").write_text("mine")
    person, slave = terminal
    process = start("new", cwd=folder, stdin=slave, stdout=slave, stderr=slave)
    person.expect("[ring.py]")
    person.type("\n")
    person.expect("Replace it? [no]")
    person.type(keys)
    person.expect("already exists, so nothing was written")
    assert process.wait(LONG) == WRONG_USAGE
    assert (folder / "ring.xml").read_text() == "mine"
