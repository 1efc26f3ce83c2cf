"""The public names of the package: imported lazily, known to type checkers, documented."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gcm
import gcm.adl

LAZY = pytest.mark.parametrize("package", [gcm, gcm.adl], ids=lambda package: package.__name__)


def names_for_type_checkers(package: ModuleType) -> dict[str, str]:
    tree = ast.parse(Path(inspect.getfile(package)).read_text(encoding="utf-8"))
    return {
        alias.name: node.module or ""
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gcm.")
        for alias in node.names
    }


@LAZY
def test_what_type_checkers_see_is_what_is_imported(package: ModuleType) -> None:
    assert names_for_type_checkers(package) == package._HOME_OF


@LAZY
def test_every_public_name_can_be_imported_and_is_listed(package: ModuleType) -> None:
    for name in package._HOME_OF:
        assert getattr(package, name) is not None
        assert name in dir(package)


@LAZY
def test_an_unknown_name_is_refused_as_by_any_module(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'compnent'"):
        package.compnent  # noqa: B018


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, gcm; print([name for name in sys.modules if name.startswith('gcm.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
