"""What stays on a terminal, and what comes out of a pipe, beside the output of the program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.deploy.printed_lines import (
    RUN,
    SITUATIONS,
    Situation,
    of_program,
    programs_and_lab,
    type_command,
    write_programs,
)
from tools.on_grids import ROOT

pytestmark = pytest.mark.mpi


PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = {
    name: {False: int(pipe), True: int(terminal)}
    for name, pipe, terminal in re.findall(
        r"^\|([^|]+)\|\d+\|(\d+)\|(\d+)\|$", PAGE.read_text(), re.MULTILINE
    )
}
"""How many lines the page says to be printed in each situation, on a terminal or not."""

TOLD = {
    "hello": ([], r"hello: exit code 0; 4 ranks in 2 clusters; .*"),
    "exception": (
        [
            r"gcm-deploy: rank .* failed first: ZeroDivisionError: division by zero",
            r"    Traceback \(most recent call last\):",
            r'      File ".*/exception.py", line 6, in <module>',
            r"        1 / 0",
            r"        ~~\^~~",
            r"    ZeroDivisionError: division by zero",
            r"gcm-deploy: 3 more .*",
        ],
        r"exception: exit code 1; 4 ranks in 2 clusters; .*",
    ),
    "survived loss": (
        [r"gcm-deploy: rank 1 .*: failed, SIGKILL(; the run goes on)?"],
        r"survived: exit code 0; 2 ranks in 2 clusters; .*",
    ),
    "usage error": (
        [r"gcm-deploy: error: argument -n.*: 'four' .*"],
        "",
    ),
}
"""Of some situations what is printed, and the line that closes it on a terminal."""


@pytest.mark.parametrize("name", [*FIGURES, "survived loss"])
def test_nothing_is_printed_that_nobody_asked_for(name: str) -> None:
    (typed,) = (one for one in SITUATIONS if one.name == name)
    with programs_and_lab(with_lab=typed.code is RUN) as (folder, lab):
        for terminal in (False, True):
            done = type_command(typed, folder, lab, terminal=terminal)
            lines = [line.decode() for line in done.left if not of_program(line)]
            if name in FIGURES:
                assert len(lines) == FIGURES[name][terminal], lines
            if name in TOLD:
                told, closing = TOLD[name]
                wanted = [*told, closing] if terminal and closing else told
                assert len(lines) == len(wanted), lines
                assert all(map(re.fullmatch, wanted, lines)), lines


def test_the_page_has_the_ten_usual_situations() -> None:
    assert len(FIGURES) == 10


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("gcm-run advise --failure-rate 1/30d -n 8 --time 2h", 205),
        ("gcm-run completion bash", 205),
        ("gcm-deploy doctor --quiet", 205),
        ("gcm-peer config --template", 1),
        ("gcm completion bash", 1),
        *(
            (f"{command} {option}", code)
            for command, code in (
                ("gcm", 1),
                ("gcm-deploy", 205),
                ("gcm-run", 205),
                ("gcm-peer", 1),
            )
            for option in ("--help", "--version")
        ),
        ("gcm-deploy ps --help", 205),
        ("gcm-peer lab create --help", 1),
    ],
)
def test_output_that_cannot_be_written_is_no_traceback(command: str, code: int) -> None:
    name, *words = command.split()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [str(Path(sys.executable).with_name(name)), *words],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert re.fullmatch(f"{name}: .*: No space left on device\n", done.stderr)
    assert done.returncode == code


@pytest.mark.parametrize("name", ["hello, summary", "doctor"])
def test_no_table_is_wider_than_a_narrow_terminal(tmp_path: Path, name: str) -> None:
    words = ("--summary", "--emulate", "2x2", "hello.py") if name != "doctor" else ("doctor",)
    write_programs(tmp_path)
    done = type_command(Situation(name, words), tmp_path, terminal=True, columns=62)
    # a sentence is broken by the terminal; doctor says for what it waits where that takes a while
    told = (b"exit code 0", b"gcm-deploy: this machine: waiting for ")
    tables = [line.decode() for line in done.left if not any(word in line for word in told)]
    assert max(map(len, tables)) <= 62, tables
    assert any(re.match(r"    (its )?name: ", line) for line in tables), tables


def test_what_stays_at_a_peer_that_died_is_asked_of_its_owner_for_nobody_may_log_in() -> None:
    (typed,) = (one for one in SITUATIONS if one.name == "lab, a peer dies")
    with programs_and_lab(with_lab=True) as (folder, lab):
        printed = type_command(typed, folder, lab, terminal=False).printed.decode()
    found = re.search(r"stays on (\S+) in /\S+\. Ask the owner of (\S+) for it\n", printed)
    assert found is not None, printed
    assert found[1] == found[2]
    assert "scp" not in printed


def test_a_shell_completes_the_options_of_gcm_run(tmp_path: Path) -> None:
    script = subprocess.run(
        [sys.executable, "-c", RUN, "completion", "bash"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    shown = subprocess.run(
        ["bash", "-c", f"{script}\nCOMP_WORDS=(gcm-run --sta) COMP_CWORD=1 COMP_LINE=x\n"
         "_shtab_gcm_run gcm-run --sta gcm-run; echo ${COMPREPLY[@]}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.stdout == "--staging\n", shown.stderr
