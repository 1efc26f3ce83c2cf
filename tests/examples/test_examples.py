"""The examples of the component model are run as their first lines show, and say what is here."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.on_grids import ROOT

GCM = [sys.executable, "-c", "import sys; from gcm.cli import main; sys.exit(main())"]

SAYS = {
    "01_hello": ["Hello, world!"],
    "02_attributes_and_interceptors": [
        "  price('apple', 10) ...",
        "  ... done",
        "ten apples: 60.0",
        "  price('apple', 10) ...",
        "  ... done",
        "with more tax: 75.0",
        "  price('apple', -1) ...",
        "  ... failed",
        "refused: nobody buys -1 of anything",
    ],
    "03_farm": [
        "primes below 10000: 1229",
        "the barn is told once: [4000, 3000, 3000]",
        "the workers did: ['40 % of the work', '30 % of the work', '30 % of the work']",
    ],
    "04_reconfiguration": [
        r"21 exchanges while \d+ requests were sent",
        r"\d+ arrived at the old store, \d+ at the new one, 0 are lost",
    ],
    "05_m_by_n": [
        "heat [0.0, 1.0] -> wind [3.0, 13.0]",
        "heat [2.0, 3.0, 4.0] -> wind [23.0, 33.0, 43.0]",
        "heat [5.0] -> wind [53.0]",
    ],
    "06_custom_controller": [
        "  (thinking about everything)",
        "first: 42",
        "again: 42",
        "  (thinking about everything)",
        "cleared: 42",
    ],
    "07_membrane": [
        "one on disk",
        "two on disk",
        "too much for /guarded/storage: call 3, put",
        "three on disk",
        "3 calls seen by meter",
        "1 interceptor on store",
        "'meter' cannot be removed from the membrane: it is started",
    ],
    "08_collective_calls": [
        "one_to_one: [1, 4, 9]",
        "round_robin and total: 15",
        "random and total: 15",
        "unicast and first: a member",
        "distribute_by and maximum: 3",
        "broadcast and concat: ['one', 'two', 'one', 'two', 'one', 'two']",
        "minimum: 7",
        "reduce_by: 0",
        "select_unique: 1.0",
        "bound to: ['/room/member0.answer', '/room/member1.answer', '/room/member2.answer']",
        "gathered: 2 of 3 said a",
        "gathered: 2 of 3 said a",
        "gathered: 1 of 3 said b",
        "one_by_one: hello Ada",
        "clients: 3",
    ],
    "09_made_in_python": [
        "bread at 230 degrees",
        "in Main Street",
        "interfaces: ['oven', 'spare']",
        "inside: ['oven0', 'oven1']",
        "parents of oven1: ['/street/bakery']",
        "composites: ['street', 'bakery']",
        "next door: cake at 230 degrees",
    ],
    "13_requests": [
        "membrane: active",
        "busy: True",
        "waiting: 2",
        "a stop has priority NF2",
        "['soup is ready', 'fish is ready', 'cake is ready']",
        "served: 5",
    ],
    "14_hierarchy": ["1000 people live in all streets"] * 4,
    "19_documents": [
        "planned: 3 components, /mill/miller, /mill/stone",
        "virtual nodes: river valley",
        "can be run: True by run",
        "result: oat flour",
        "described: miller stone",
        "written again: 20 lines",
        "without classes: 6 faults in lines 3 5 6 7 10 11",
        "structure: 0 faults",
        "missing: java.lang.Runnable org.mill.Grind org.mill.MillerImpl org.mill.StoneImpl",
        "port: old_mill/__init__.py - new",
        "port: old_mill/interfaces.py - Grind",
        "port: old_mill/components.py - MillerImpl, StoneImpl",
        "port: from_java.fractal - new",
        "the same picture of both: True",
        "of one's own: True",
        "refused: a link in /street names 'this.gate', which is not there",
        r"refused: .*'mill\.doc': '\.doc' .*",
    ],
    "16_refusals": [
        r"IllegalTypeError: .* 2 interfaces are named 'say'",
        r"InstantiationError: there is no membrane 'primitiv'.* did you mean 'primitive'\?",
        r"NoSuchInterfaceError: there is no interface 'sing'.*",
        r"NoSuchControllerError: .* 'content'.*",
        r"NoSuchComponentError: .* 'speaker'.*",
        r"NoSuchAttributeError: there is no attribute 'size'.*",
        r"IllegalBindingError: cannot be bound to /third.say: .*",
        r"IllegalContentError: 'speaker' .* already.*",
        r"IllegalLifeCycleError: cannot start, .*'next' is not bound.*",
        r"CopyError: an argument of 'say' cannot be copied: .*",
        r"DispatchError: parameter 'text' \(one_to_one\) of 'say' has 1 elements for 2 servers.*",
        r"MulticastError: 1 of 2 calls of 'say' failed: /both/b.say: .*",
        r"CircularCallError: .*",
        r"GathercastTimeoutError: 'say' gave up after 0.1 s: /both/two.next did not call.*",
        r"GathercastMemberError: 'say' .* /two\.next.*",
        r"AdlError: nowhere.fractal has 1 fault\(s\)",
        r" +nowhere.fractal: error\[missing-file\]: .*",
    ],
    "18_test_kits": [r"\.+ +\[100%\]", r"\d+ passed in .*"],
}
PATTERNS = {"04_reconfiguration", "16_refusals", "18_test_kits", "19_documents"}
"""The examples of which each line is given as a regular expression."""


def shown_commands() -> list[tuple[str, str]]:
    """Return each example with each command that the docstrings of its modules show."""
    found = []
    for module in sorted(path for name in SAYS for path in (ROOT / "examples" / name).glob("*.py")):
        text = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
        for command in re.findall(r"^    ((?:gcm|python) \S+(?: \S+)*)", text, re.MULTILINE):
            found.append((module.parent.name, command))
    return found


def run(command: str, more_path: str = "") -> subprocess.CompletedProcess[str]:
    program, *arguments = command.split()
    start = GCM if program == "gcm" else [sys.executable]
    path = f"{ROOT}:{ROOT / more_path}"
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [*start, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_every_example_shows_how_to_run_it() -> None:
    assert {name for name, _ in shown_commands()} == set(SAYS)
    assert {path.parent.name for path in (ROOT / "examples").glob("0*/*")} <= set(SAYS)


def test_the_index_has_every_example_once() -> None:
    index = (ROOT / "examples" / "README.md").read_text("utf-8")
    links = re.findall(r"\[(\d\d_\w+)\]\(\1\)", index)
    assert sorted(links) == sorted(path.name for path in (ROOT / "examples").glob("[0-9]*"))


@pytest.mark.parametrize(("example", "command"), shown_commands())
def test_an_example_says_what_is_expected(example: str, command: str) -> None:
    done = run(command)
    assert (done.stderr, done.returncode) == ("", 0)
    lines, expected = done.stdout.splitlines(), SAYS[example]
    if example in PATTERNS:
        assert len(lines) == len(expected)
        assert all(re.fullmatch(*pair) for pair in zip(expected, lines, strict=True)), lines
    else:
        assert lines == expected


def test_an_argument_changes_what_hello_says() -> None:
    done = run("gcm run examples/01_hello/hello.fractal --set greeting=Welcome")
    assert (done.stdout, done.stderr) == ("Welcome, world!\n", "")


def test_hello_in_code_and_in_xml_are_the_same_assembly(tmp_path: Path) -> None:
    program = tmp_path / "write.py"
    program.write_text("import hello\nprint(hello.assembly().to_xml())\n", "utf-8")
    written = tmp_path / "hello.fractal"
    written.write_text(run(f"python {program}", "examples/01_hello").stdout, "utf-8")
    by_hand = run("gcm show examples/01_hello/hello.fractal")
    by_code = run(f"gcm show {written} --path examples/01_hello")
    assert by_code.stdout == by_hand.stdout
    assert by_hand.stdout.splitlines()[-1] == "3 components"


def test_no_example_has_a_fault() -> None:
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*/*.fractal"))
    done = run(f"gcm check --structure {' '.join(files)}")
    assert (done.returncode, "4 classes are not there" in done.stdout) == (0, True), done.stdout
    here = [one for one in files if "java" not in one]
    done = run(f"gcm check {' '.join(here)}")
    assert (done.returncode, len(here)) == (0, len(files) - 1), done.stdout
