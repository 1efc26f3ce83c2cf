"""The import rules, tried on small trees; `make lint` runs them over the real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_imports import breaches


def plant(root: Path, files: dict[str, str]) -> None:
    for name, source in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in path.parents:
            if folder == root:
                break
            (folder / "__init__.py").touch()
        path.write_text(source)


@pytest.mark.parametrize(
    "line",
    [
        "import threading",
        "import time as clock",
        "from time import monotonic",
        "def later():\n    import socket",
        "import concurrent.futures",
        "import asyncio.events",
        "if True:\n    from random import random",
        "try:\n    import subprocess\nexcept ImportError:\n    pass",
    ],
)
def test_a_pure_module_meets_no_world(tmp_path: Path, line: str) -> None:
    plant(tmp_path, {"gcm/documents/reader.py": line})
    (found,) = breaches(tmp_path)
    assert found.importer == "gcm.documents.reader"
    assert "handed" in found.reason


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("gcm/documents/reader.py", "import timeit, os, lxml"),
        ("gcm/documents/reader.py", "from typing import *\nif TYPE_CHECKING:\n    import random"),
        ("gcm/interfaces/stub.py", "import threading"),
        ("gcm/interfaces/__init__.py", "from gcm.interfaces.stub import Stub"),
        ("gcm/components/model.py", "import threading"),
        ("gcm/other.py", "import threading"),
        ("runtime/topology/tree.py", "from gcm.errors import GcmError"),
        ("runtime/deployment/planning/plan.py", "from runtime.topology import Tree"),
        ("runtime/deployment/planning/plan.py", "from runtime.deployment.model import Model"),
        ("runtime/deployment/planning/plan.py", "from .model import Model"),
    ],
)
def test_what_the_rules_allow(tmp_path: Path, file: str, line: str) -> None:
    plant(tmp_path, {"gcm/errors.py": "", "gcm/interfaces/stub.py": "", file: line})
    plant(tmp_path, {"runtime/topology/graph.py": "", "runtime/deployment/model.py": ""})
    assert breaches(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        "from gcm.documents.reader import read",
        "import gcm.documents.reader",
        "from gcm.documents import reader",
        "from ..documents.reader import read",
        "from ..documents import reader",
    ],
)
def test_a_pure_module_uses_the_face_of_another_package(tmp_path: Path, line: str) -> None:
    plant(tmp_path, {"gcm/documents/reader.py": "", "gcm/adl/check.py": line})
    (found,) = breaches(tmp_path)
    assert str(found) == (
        "gcm/adl/check.py:1: gcm.adl.check imports gcm.documents.reader: "
        "import it from gcm.documents, the public face"
    )


def test_a_pure_module_builds_on_pure_modules_of_its_package(tmp_path: Path) -> None:
    plant(tmp_path, {"gcm/interfaces/types.py": "\nfrom gcm.interfaces.stub import Stub"})
    plant(tmp_path, {"gcm/interfaces/stub.py": ""})
    (found,) = breaches(tmp_path)
    assert (found.path, found.line) == (Path("gcm/interfaces/types.py"), 2)
    assert found.reason == "a pure module builds on pure modules only"
