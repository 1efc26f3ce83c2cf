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
from gcm.lazy_names import homes_in, homes_of

LAZY = pytest.mark.parametrize("package", [gcm, gcm.adl], ids=lambda package: package.__name__)


def names_for_type_checkers(package: ModuleType) -> dict[str, tuple[str, str]]:
    stub = Path(inspect.getfile(package)).with_suffix(".pyi")
    return {
        alias.asname or "": (node.module or "", alias.name)
        for node in ast.walk(ast.parse(stub.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@LAZY
def test_what_type_checkers_see_is_what_is_imported(package: ModuleType) -> None:
    assert names_for_type_checkers(package) == homes_in(package.__name__)


@LAZY
def test_every_public_name_can_be_imported_and_is_listed(package: ModuleType) -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)


def test_names_are_read_in_all_forms_in_which_a_stub_may_import_them() -> None:
    stub = "# Names.\nfrom a.b import C as C\nfrom a.d import (\n    e as E,\n    f as f,\n)\n"
    assert homes_of(stub) == {"C": ("a.b", "C"), "E": ("a.d", "e"), "f": ("a.d", "f")}


def test_a_star_imports_all_public_names() -> None:
    names: dict[str, object] = {}
    exec("from gcm.adl import *", names)
    assert set(names) >= set(homes_in("gcm.adl"))


@LAZY
def test_an_unknown_name_is_refused_as_by_any_module(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'compnent'"):
        package.compnent  # noqa: B018


def test_importing_the_package_imports_nothing_else_of_it() -> None:
    code = "import sys, gcm; print([name for name in sys.modules if name.startswith('gcm.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
