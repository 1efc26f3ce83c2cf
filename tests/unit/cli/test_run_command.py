"""`gcm run` makes, starts, calls and stops an assembly, and tells whose fault a failure is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Gcm = Callable[..., tuple[int, str, str]]
Single = Callable[..., str]

HEAD = """
from typing import Annotated, Protocol
from gcm import attribute, provides, requires
class Runnable(Protocol):
    def run(self) -> object: ...
"""


def main_class(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f'{HEAD}\n@provides("run", Runnable)\nclass Main:\n{lines}\n'


def returning(value: str) -> str:
    return main_class(f"def run(self):\n    return {value}")


def test_what_run_returns_is_printed(gcm: Gcm, hello: str) -> None:
    assert gcm("run", hello) == (0, "hello world\n", "")
    assert gcm("run", hello, "--set", "who=moon") == (0, "hello moon\n", "")


@pytest.mark.parametrize(
    ("value", "code", "printed"),
    [
        ("None", 0, ""),
        ("0", 0, ""),
        ("3", 3, ""),
        ("255", 255, ""),
        ("True", 0, "True\n"),
        ("[1, 2]", 0, "[1, 2]\n"),
        ("''", 0, "\n"),
    ],
)
def test_an_int_is_the_exit_code_and_anything_else_is_printed(
    gcm: Gcm, single: Single, value: str, code: int, printed: str
) -> None:
    assert gcm("run", single(returning(value))) == (code, printed, "")


@pytest.mark.parametrize("value", [-1, 256])
def test_an_int_that_is_no_exit_code_is_a_fault(gcm: Gcm, single: Single, value: int) -> None:
    code, out, err = gcm("run", single(returning(str(value))))
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"gcm run: `run` returned {value}, ")


def test_the_whole_life_is_gone_through(gcm: Gcm, single: Single) -> None:
    source = main_class(
        "def on_start(self): print('started')\n"
        "def run(self): print('running')\n"
        "def on_stop(self): print('stopped')\n"
        "def on_terminate(self): print('ended')"
    )
    assert gcm("run", single(source)) == (0, "started\nrunning\nstopped\nended\n", "")


@pytest.mark.parametrize("membrane", ["", '<controller desc="active"/>'])
def test_an_exception_of_the_user_shows_only_frames_of_the_user(
    gcm: Gcm, single: Single, membrane: str
) -> None:
    source = main_class("def run(self):\n    return self.deep()\ndef deep(self):\n    return 1 / 0")
    code, out, err = gcm("run", single(source, membrane))
    frames = [line for line in err.splitlines() if line.startswith("  File ")]
    assert (code, out) == (1, "")
    assert [frame.rpartition(" in ")[2] for frame in frames] == ["run", "deep"]
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\nZeroDivisionError: division by zero\n")


def test_the_standard_library_is_shown_where_the_user_called_it(gcm: Gcm, single: Single) -> None:
    source = main_class('def run(self):\n    import json\n    return json.loads("{")')
    frames = [line for line in gcm("run", single(source))[2].splitlines() if " in " in line]
    assert "loads" in [frame.rpartition(" in ")[2] for frame in frames]


def test_the_assembly_is_stopped_after_a_failure(gcm: Gcm, single: Single) -> None:
    source = main_class("def run(self): raise ValueError\ndef on_terminate(self): print('ended')")
    code, out, _ = gcm("run", single(source))
    assert (code, out) == (1, "ended\n")


def test_a_failing_hook_is_a_failure(gcm: Gcm, single: Single) -> None:
    source = main_class("def run(self): return 0\ndef on_stop(self): raise ValueError('hook')")
    code, _, err = gcm("run", single(source))
    assert code == 1
    assert err.endswith("\nValueError: hook\n")


def test_a_constructor_that_fails_tells_where_it_is_used(gcm: Gcm, single: Single) -> None:
    source = main_class("def __init__(self): raise ValueError('boom')\ndef run(self): return 0")
    file = single(source)
    code, _, err = gcm("run", file)
    assert code == 1
    assert "\nValueError: boom\n" in err
    assert (
        f"{file}:1: the content Main could not be made: ValueError: boom [component /single]" in err
    )


def test_an_error_of_the_model_is_one_sentence(gcm: Gcm, single: Single) -> None:
    source = main_class("other: Annotated[Runnable, requires()]\ndef run(self): return 0")
    code, _, err = gcm("run", single(source))
    assert code == 1
    assert err.startswith("gcm run: ")
    assert "/single: mandatory interface 'other'" in err
    assert err.count("\n") == 1


def test_a_root_without_run_is_told(gcm: Gcm, single: Single) -> None:
    source = f'{HEAD}\n@provides("runs", Runnable)\nclass Main:\n    def run(self): return 0\n'
    file = single(source)
    code, out, err = gcm("run", file)
    fault, way_out = err.splitlines()
    assert (code, out) == (1, "")
    assert fault.startswith(f"{file}:1: error[no-run-interface]: ")
    assert fault.endswith(" (component /single). did you mean 'runs'?")
    assert way_out == "gcm run: --interface NAME calls another server interface"


def test_the_interfaces_of_a_root_without_run_are_listed(gcm: Gcm, single: Single) -> None:
    source = f'{HEAD}\n@provides("other", Runnable)\nclass Main:\n    def run(self): return 0\n'
    file = single(source)
    assert "its server interfaces: other\n" in gcm("run", file)[2]
    assert gcm("run", file, "--interface", "other") == (0, "", "")


def test_a_client_named_run_is_not_called(gcm: Gcm, single: Single) -> None:
    source = f"{HEAD}\nclass Main:\n    run: Annotated[Runnable, requires()]\n"
    code, _, err = gcm("run", single(source))
    assert code == 1
    assert "error[no-run-interface]" in err
    assert "its server interfaces: none" in err


@pytest.mark.parametrize(
    ("operations", "complaint"),
    [
        (
            "def a(self, n: int, *, m: int) -> None: ...",
            "has the operation 'a' with the parameters n, m",
        ),
        (
            "def a(self) -> None: ...\n    def b(self) -> None: ...",
            "has 2 operations ('a', 'b'), not one",
        ),
    ],
)
def test_an_operation_that_cannot_be_called_without_arguments_is_told(
    gcm: Gcm, single: Single, operations: str, complaint: str
) -> None:
    source = (
        f'{HEAD}\nclass Odd(Protocol):\n    {operations}\n\n@provides("run", Odd)\nclass Main:\n'
        "    def a(self, n=0, *, m=0): pass\n    def b(self): pass\n"
    )
    code, _, err = gcm("run", single(source))
    assert code == 1
    assert f"error[not-runnable]: the interface 'run' (Odd) {complaint}" in err


def test_an_operation_with_other_names_and_defaults_is_called(gcm: Gcm, single: Single) -> None:
    source = (
        f"{HEAD}\nclass Odd(Protocol):\n    def go(self, n: int = 4, *more: int) -> int: ...\n\n"
        '@provides("run", Odd)\nclass Main:\n    def go(self, n=5, *more): return n\n'
    )
    assert gcm("run", single(source))[0] == 5


def test_a_gathercast_run_is_told(gcm: Gcm, single: Single) -> None:
    source = (
        f"{HEAD}\nfrom gcm import Cardinality\n"
        '@provides("run", Runnable, cardinality=Cardinality.GATHERCAST)\n'
        "class Main:\n    def run(self) -> list[object]: return []\n"
    )
    assert "gathercast" in gcm("run", single(source))[2]


def test_modules_beside_the_document_can_be_imported_while_it_runs(
    gcm: Gcm, single: Single, module: Callable[[str], str]
) -> None:
    late = module("answer = 42\n")
    source = main_class(f"def run(self):\n    import {late}\n    return {late}.answer")
    assert gcm("run", single(source))[0] == 42
