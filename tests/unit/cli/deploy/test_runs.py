"""A run that a Python program asks for is the command line that a user would type."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from runtime import run, start
from runtime.cli.errors import UsageError
from runtime.cli.line.options import GCM_DEPLOY
from runtime.errors import GridError
from runtime.runs import MOST_OUTPUT, RunOptions, _Ear, _option, _words
from runtime.views.facts import Fact, OutputWritten

MACHINES = (
    "machine=4 is 4 ranks here, '2x2x2' an emulated grid of sites, clusters and ranks, "
    "'lyon:4,porto:4' two hosts"
)


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (4, ["-n", "4"]),
        ("4", ["-n", "4"]),
        ("2x4", ["--emulate", "2x4"]),
        ("2x2x2", ["--emulate", "2x2x2"]),
        ("lyon:4,porto:4", ["-H", "lyon:4,porto:4"]),
    ],
)
def test_a_machine_is_ranks_or_a_shape_or_hosts(machine: str | int, words: list[str]) -> None:
    assert _words("a.py", (1, "b"), machine, {}) == [*words, "a.py", "1", "b"]


def test_options_have_the_names_of_the_command_line() -> None:
    options = {"failures": "return", "run_timeout": 60, "restart": True, "x": {"A": 1, "B": 2}}
    assert _words("a.py", (), 2, options)[:8] == [
        "--failures", "return", "--run-timeout", "60", "--restart", "-x", "A=1", "-x",
    ]  # fmt: skip
    assert _words("a.xml", (7,), "", {"set": {"n": 2}}) == ["--set", "n=2", "a.xml", "--", "7"]


@pytest.mark.parametrize(
    ("program", "machine", "options", "message"),
    [
        ("a.py", "", {}, f"say where to run 'a.py'. {MACHINES}"),
        ("a.py", "2x", {}, f"machine='2x' is no machine. {MACHINES}"),
        ("a.py", 2, {"machin": "2x1"}, "a run has no option 'machin'; did you mean 'machine'?"),
        ("a.py", 2, {"host": "h:2"},
         "a run has no option 'host'. Say where it runs with the argument machine, as 'h:2'"),
        ("a.py", 2, {"failure": "return"},
         "a run has no option 'failure'; did you mean 'failures'?"),
        ("a.py", 2, {"report": "r.html"},
         "'report' is an option of the command gcm-deploy, not of a run from Python. What a run "
         "shows and writes is in its result: output, ranks, report(), outcome"),
        ("a.py", "", {"emulate": "2x2"},
         "a run has no option 'emulate'. Say where it runs with the argument machine, as '2x2'"),
        ("a.xml", 2, {}, "'a.xml' describes its machine itself. "
         "Leave machine= out, or name a program in place of the descriptor"),
        ("a.py", "b.xml", {}, "machine='b.xml' is a descriptor, which names its program itself. "
         "Write run('b.xml'), with <application script='a.py'/> in it"),
    ],
)  # fmt: skip
def test_what_makes_no_command_line_is_refused(
    program: str, machine: str | int, options: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        _words(program, (), machine, options)
    assert str(caught.value) == message


def test_what_the_command_would_print_is_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="invalid choice: 'no'"):
        run(tmp_path / "a.py", machine=2, failures="no")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no file"):
        start(tmp_path / "a.py", machine=2)
    (tmp_path / "a.xml").write_text("<deployment><grid/></deployment>")
    with pytest.raises(GridError, match=r"(?s)nothing was started\n.*a.xml:1: error\["):
        run(tmp_path / "a.xml")
    assert capsys.readouterr() == ("", "")


def test_the_latest_output_is_kept() -> None:
    ear = _Ear()
    piece = b"x" * (MOST_OUTPUT // 4)
    for _ in range(5):
        ear.hear(Fact(0.0, "0:0:0", OutputWritten("stdout", piece)))
    ear.hear(Fact(0.0, "0:0:0", OutputWritten("stderr", b"no output\n")))
    output = ear.output()
    assert output.startswith(f"[{2 * len(piece)} earlier bytes are not kept]\nxxx")
    assert output.endswith("x")


def test_the_typed_options_are_those_of_the_command_line() -> None:
    named = {word.lstrip("-").replace("-", "_") for row in GCM_DEPLOY.rows() for word in row.names}
    accepted = set()
    for name in named:
        with suppress(UsageError):
            _option(name, "1")
            accepted.add(name)
    assert set(RunOptions.__annotations__) == accepted
