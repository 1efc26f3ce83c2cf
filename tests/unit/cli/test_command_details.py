"""What people read and programs rely on: help in full, colours, exit codes of an end too soon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from gcm.cli.output import Paint, not_there

Gcm = Callable[..., tuple[int, str, str]]
Single = Callable[..., str]

SEARCH = "search further definitions and Python modules here too; may be repeated"
SETTING = "the value of an argument of the definition; may be repeated"
HELP = {
    "": (
        "Check, show, draw and run assemblies of components.",
        "show the version",
        "report every fault of every file",
        "show the tree of components of an assembly",
        "draw an assembly as a picture",
        "make an assembly in this process and run it",
        "print the script with which a shell completes this command",
        "gcm run hello.fractal                make it, start it, call `run`",
        "gcm check *.fractal laptop.xml       every fault of every file, descriptors too",
        "gcm show hello.fractal               the tree of components",
        "gcm draw hello.fractal -o hello.svg  a picture of it",
        "gcm-deploy --help                    the other command: MPI programs, descriptors",
    ),
    "check": (
        "Report every fault of every file.",
        "Nothing is made or started, but the Python classes that the files name are imported.",
        "The exit code is 1 if there is an error.",
        "an ADL document or a deployment descriptor",
        "for people or for programs",
        SEARCH,
        "gcm check hello.fractal farm.fractal",
        "gcm check --format json *.fractal",
        "the structure only: classes may be missing, definitions may be abstract",
        "gcm check --path src --path shared/adl app.fractal",
        "gcm check --structure *.fractal      of an architecture whose classes are still in Java",
    ),
    "show": (
        "Show the tree of components of an assembly.",
        "With interfaces, bindings, content classes, attributes and virtual nodes.",
        "an ADL document",
        SETTING,
        SEARCH,
        "for people or for programs",
        "gcm show hello.fractal",
        "gcm show farm.fractal --set workers=4",
        "gcm show hello.fractal --format json",
    ),
    "draw": (
        "Draw an assembly as a picture.",
        "No other program is needed. The ending of FILE decides the format: .svg, or .png where",
        "draw identical components one by one, not as one box",
        "write there, not to standard output",
        "also draw control interfaces that are bound",
        "gcm draw hello.fractal -o hello.svg",
        "gcm draw farm.fractal --set workers=4 > farm.svg",
        "gcm draw hello.fractal --controls -o all.svg",
        "gcm draw hello.fractal --structure -o hello.svg",
        "gcm draw hello.fractal --colours dark -o slide.png",
    ),
    "port": (
        "Write Python skeletons for the classes that are missing.",
        "the Python package of the new classes",
        SEARCH,
        "gcm port Market.fractal --package market",
        "gcm port org/example/*.fractal --package market --output src",
    ),
    "run": (
        "Make an assembly in this process and run it.",
        "Its components are made and started, the one operation of its interface `run` is called,",
        "and everything is stopped. An int that `run` returns becomes the exit code; any other",
        "result but None is printed. Ctrl-C stops the assembly; the exit code is then 130.",
        "gcm run hello.fractal",
        "gcm run hello.fractal --set name=world --set times=3",
        "gcm run app.fractal --path src",
    ),
}
MAIN = """
from typing import Protocol
from gcm import provides
class Runnable(Protocol):
    def run(self) -> object: ...
@provides("run", Runnable)
class Main:
    def run(self):
        raise KeyboardInterrupt
"""


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """Let Ctrl-C do afterwards what it did before."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("command", HELP)
def test_the_help_says_all_of_this(gcm: Gcm, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = gcm(*filter(None, [command]), "--help")
    assert code == 0
    ends = [line.strip() for line in out.splitlines()]
    examples = [f"  {text}" for text in HELP[command] if text.startswith(("gcm ", "gcm-deploy "))]
    assert out.partition("examples:\n")[2].splitlines() == examples
    for text in HELP[command]:
        assert any(line == text or line.endswith(f"  {text}") for line in ends), text


@pytest.mark.parametrize("command", ["check", "show", "draw", "run"])
def test_the_usage_names_what_is_to_be_given(gcm: Gcm, command: str) -> None:
    _, out, _ = gcm(command, "--help")
    usage = " ".join(out.partition("\n\n")[0].split())
    assert "[--path DIR]" in usage
    assert usage.endswith("FILE [FILE ...]" if command == "check" else " FILE")
    assert ("[--set NAME=VALUE]" in usage) is (command != "check")


@pytest.mark.parametrize(
    ("style", "code"),
    [("bold", 1), ("faint", 2), ("red", 31), ("green", 32), ("yellow", 33), ("cyan", 36)],
)
def test_each_style_has_its_code(style: str, code: int) -> None:
    assert Paint(True)("x", style) == f"\033[{code}mx\033[0m"
    assert Paint(False)("x", style) == "x"


def test_a_terminal_shows_names_bold_kinds_faint_and_classes_in_colour(
    gcm: Gcm, hello: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    code, out, _ = gcm("show", hello)
    assert code == 0
    (line,) = [one for one in out.splitlines() if ".Server" in one]
    assert "\033[1mserver\033[0m  \033[2mprimitive\033[0m  \033[36mclasses_of_cli_test_" in line
    assert line.endswith(".Server\033[0m")


def test_an_interrupted_run_stops_the_assembly_and_says_so(gcm: Gcm, single: Single) -> None:
    assert gcm("run", single(MAIN)) == (
        130,
        "",
        "gcm run: interrupted; stopping within 10 s (press Ctrl-C again to end at once)\n"
        "gcm run: stopped\n",
    )


def test_a_command_that_is_interrupted_before_anything_runs_says_so(
    gcm: Gcm, single: Single
) -> None:
    assert gcm("check", single("raise KeyboardInterrupt")) == (
        130,
        "",
        "gcm: interrupted\n",
    )


def test_a_document_with_faults_is_not_run(gcm: Gcm, single: Single) -> None:
    code, out, err = gcm("run", single(MAIN, "<oops/>"))
    assert (code, out) == (1, "")
    assert "error[" in err


def test_output_that_nobody_reads_any_more_is_exit_code_1(hello: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = f"import sys; from gcm.cli import main; sys.exit(main(['show', {hello!r}]))"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, "")


def test_all_classes_that_are_not_there_are_named() -> None:
    names = [f"org.example.Worker{number:02}" for number in range(30)]
    assert not_there(names).endswith(f"was checked: {', '.join(names)}")
