"""Modules that are looked for and not imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from runtime.lazy_import import imported


def test_a_module_that_is_being_imported_is_not_there_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "half_imported"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "looked_at.py").write_text(
        "import sys\nfrom runtime.lazy_import import imported\n"
        "met = __name__ in sys.modules, imported(__name__)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        module = importlib.import_module("half_imported.looked_at")
        assert module.met == (True, None)
        assert imported("half_imported.looked_at") is module
    finally:
        for name in ("half_imported.looked_at", "half_imported"):
            sys.modules.pop(name, None)
