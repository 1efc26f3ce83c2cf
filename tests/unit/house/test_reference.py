"""The reference of public names is what the docstrings say, and every name is used somewhere."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache

import pytest

import gcm
import gcm.adl
import gcm.documents
import gcm.drawing
import gcm.testing
import runtime
import runtime.coupling
from gcm.errors import GcmError
from tools.on_grids import ROOT
from tools.reference import FILE, public_names, reference


@cache
def names_in_examples() -> set[str]:
    """Return every name that a program or a notebook under examples/ uses."""
    found: set[str] = set()
    programs = [path.read_text("utf-8") for path in (ROOT / "examples").rglob("*.py")]
    for path in (ROOT / "examples").rglob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        lines = (one["source"] for one in cells if one["cell_type"] == "code")
        programs += ["".join(line for line in cell if line[0] != "%") for cell in lines]
    for program in programs:
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.alias):
                found.add(node.name)
    return found


def test_the_reference_is_up_to_date() -> None:
    assert FILE.read_text("utf-8") == reference(), "write it again: python -m tools.reference"


EVERY = [(package, name) for package, names in public_names().items() for name in names]


def test_the_public_names_are_those_that_the_packages_list() -> None:
    listed = {package: set(names) for package, names in public_names().items()}
    for package in (gcm, gcm.adl, gcm.drawing, gcm.testing, runtime, runtime.coupling):
        assert listed[package.__name__] == set(package.__all__)
    assert listed["gcm.errors"] == {
        one.__name__ for one in descendants(GcmError) if one.__module__ == "gcm.errors"
    }
    assert listed["gcm.documents"] < set(gcm.documents.__all__)


def descendants(base: type[GcmError]) -> Iterator[type[GcmError]]:
    for one in base.__subclasses__():
        yield one
        yield from descendants(one)


@pytest.mark.parametrize(("package", "name"), EVERY, ids=lambda word: word)
def test_every_public_name_is_in_the_reference_with_a_docstring_and_in_an_example(
    package: str, name: str
) -> None:
    _, _, entry = FILE.read_text("utf-8").partition(f"\n### `{package}.{name}`\n")
    said = entry.partition("\n### ")[0].partition("\n## ")[0]
    assert any(line and line[0].isalpha() for line in said.splitlines()), "it has no docstring"
    assert name in names_in_examples()
