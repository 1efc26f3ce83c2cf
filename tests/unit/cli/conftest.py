"""What the tests of the commands share: files to work on, and the command itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from textwrap import dedent

import pytest

from gcm.cli import main

_serial = count()
CLASSES = """
from __future__ import annotations
from typing import Annotated, Protocol
from gcm import attribute, provides, requires

class Runnable(Protocol):
    def run(self) -> object: ...

class Greeter(Protocol):
    def greet(self, name: str) -> str: ...

@provides("run", Runnable)
class Client:
    greeter: Annotated[Greeter, requires()]
    name: Annotated[str, attribute()] = "you"

    def run(self) -> object:
        return self.greeter.greet(self.name)

@provides("greeter", Greeter)
class Server:
    def greet(self, name: str) -> str:
        return f"hello {name}"
"""

HELLO = """
<definition name="hello" arguments="who=world">
  <interface name="run" role="server" signature="{module}.Runnable"/>
  <component name="client">
    <content class="{module}.Client"/>
    <attributes><attribute name="name" value="${{who}}"/></attributes>
    <virtual-node name="front"/>
  </component>
  <component name="server"><content class="{module}.Server"/></component>
  <binding client="this.run" server="client.run"/>
  <binding client="client.greeter" server="server.greeter"/>
</definition>
"""


@pytest.fixture(autouse=True)
def search_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep what `gcm run` puts on the search path within one test."""
    monkeypatch.setattr(sys, "path", sys.path[:])


@pytest.fixture
def module(tmp_path: Path) -> Callable[[str], str]:
    """Write Python source into a module that no other test has, and return its name."""

    def write(source: str) -> str:
        name = f"classes_of_cli_test_{next(_serial)}"
        (tmp_path / f"{name}.py").write_text(dedent(source), encoding="utf-8")
        return name

    return write


@pytest.fixture
def hello(tmp_path: Path, module: Callable[[str], str]) -> str:
    """Return the file of an assembly of two components."""
    file = tmp_path / "hello.fractal"
    file.write_text(HELLO.format(module=module(CLASSES)).strip(), encoding="utf-8")
    return str(file)


@pytest.fixture
def single(tmp_path: Path, module: Callable[[str], str]) -> Callable[[str, str], str]:
    """Return the file of an assembly that is one component of the class `Main` in some source."""

    def write(source: str, more: str = "") -> str:
        name = module(source)
        file = tmp_path / "single.fractal"
        file.write_text(
            f'<definition name="single"><content class="{name}.Main"/>{more}</definition>',
            encoding="utf-8",
        )
        return str(file)

    return write


@pytest.fixture
def gcm(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command; return its exit code, standard output and standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else -1
        told = capsys.readouterr()
        return code, told.out, told.err

    return run
