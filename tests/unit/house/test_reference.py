"""The reference of public names is what the docstrings say, and every name is used somewhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import runtime
from tools.reference import FILE, coupling_names, public_names, reference

ROOT = Path(__file__).parents[3]


def names_in_examples() -> set[str]:
    """Return every name that a program under examples/ or its documents use."""
    found: set[str] = set()
    for path in (ROOT / "examples").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.alias):
                found.add(node.name)
    return found


def test_the_reference_is_up_to_date() -> None:
    assert FILE.read_text("utf-8") == reference(), "write it again: python -m tools.reference"


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_in_the_reference_with_a_docstring_and_in_an_example(
    name: str,
) -> None:
    _, _, entry = FILE.read_text("utf-8").partition(f"\n### `gcm.{name}`\n")
    said = entry.partition("\n### ")[0].partition("\n## ")[0]
    assert any(line and line[0].isalpha() for line in said.splitlines()), "it has no docstring"
    assert name in names_in_examples()


def test_what_users_of_the_runtime_import_is_in_the_reference() -> None:
    text = FILE.read_text("utf-8")
    for name in ("MPI", "Machine"):
        assert name in runtime.__all__
        assert f"### `runtime.{name}`" in text
    for name in coupling_names():
        assert f"### `runtime.coupling.{name}`" in text
