"""Classes are found by name in the folders of a document; what goes wrong is explained."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from gcm.adl.classes import ClassFault, ImportingLoader


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    before = set(sys.modules)
    package = tmp_path / "gcm_probe"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "parts.py").write_text("class Server:\n    class Inner: pass\n")
    (package / "broken.py").write_text(
        dedent("""
        def fail():
            raise ValueError("the reason")

        fail()
        """)
    )
    (package / "syntax.py").write_text("class A(:\n")
    (package / "leaves.py").write_text("raise SystemExit(3)\n")
    (package / "needs.py").write_text("import gcm_probe_nowhere\n")
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("gcm_probe"):
            del sys.modules[name]


@pytest.mark.parametrize("dotted", ["gcm_probe.parts.Server", "gcm_probe.parts:Server"])
def test_a_class_is_imported_by_either_spelling(folder: Path, dotted: str) -> None:
    found = ImportingLoader([folder])(dotted)
    assert isinstance(found, type)
    assert found.__name__ == "Server"


@pytest.mark.parametrize("dotted", ["gcm_probe.parts.Server.Inner", "gcm_probe.parts:Server.Inner"])
def test_nested_classes_are_found(folder: Path, dotted: str) -> None:
    found = ImportingLoader([folder])(dotted)
    assert isinstance(found, type)
    assert found.__qualname__ == "Server.Inner"


def test_the_search_path_is_as_before(folder: Path) -> None:
    before = list(sys.path)
    ImportingLoader([folder])("gcm_probe.parts.Server")
    with pytest.raises(ClassFault):
        ImportingLoader([folder])("gcm_probe.broken.Server")
    assert sys.path == before


@pytest.mark.parametrize(
    ("dotted", "code", "message", "hint"),
    [
        (
            "gcm_probe.parts.Sever",
            "missing-class",
            "the module 'gcm_probe.parts' has no 'Sever'",
            "did you mean 'Server'?",
        ),
        (
            "gcm_probe.parts:Server.Iner",
            "missing-class",
            "the class 'Server' has no 'Iner'",
            "did you mean 'Inner'?",
        ),
        (
            "gcm_probe.party.Server",
            "missing-module",
            "there is no module 'gcm_probe.party' for 'gcm_probe.party.Server'",
            "did you mean 'parts'?",
        ),
        (
            "gcm_probe.zzz.Server",
            "missing-module",
            "there is no module 'gcm_probe.zzz' for 'gcm_probe.zzz.Server'",
            "correct the name, or put the module beside the document",
        ),
        (
            "gcm_prob.parts.Server",
            "missing-module",
            "there is no module 'gcm_prob' for 'gcm_prob.parts.Server'",
            "did you mean 'gcm_probe'?",
        ),
    ],
)
def test_what_is_missing_is_named(
    folder: Path, dotted: str, code: str, message: str, hint: str
) -> None:
    with pytest.raises(ClassFault) as caught:
        ImportingLoader([folder])(dotted)
    assert (caught.value.code, caught.value.message, caught.value.hint) == (code, message, hint)
    assert caught.value.detail == ""


@pytest.mark.parametrize(
    "dotted", ["Server", "", "parts.py", "a/b.Server", "a..b", ".a", "a:", ":a", "a-b.C", "a.B()"]
)
def test_a_malformed_name_is_not_imported(dotted: str) -> None:
    with pytest.raises(ClassFault) as caught:
        ImportingLoader()(dotted)
    assert caught.value.code == "malformed-class-name"


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("broken", "ValueError: the reason"),
        ("syntax", "SyntaxError: "),
        ("leaves", "SystemExit: 3"),
        ("needs", "ModuleNotFoundError: No module named 'gcm_probe_nowhere'"),
    ],
)
def test_a_failing_module_is_blamed_itself(folder: Path, module: str, message: str) -> None:
    with pytest.raises(ClassFault) as caught:
        ImportingLoader([folder])(f"gcm_probe.{module}.Server")
    assert caught.value.code == "import-error"
    assert message in caught.value.message


def test_the_traceback_shows_only_the_users_frames(folder: Path) -> None:
    with pytest.raises(ClassFault) as caught:
        ImportingLoader([folder])("gcm_probe.broken.Server")
    path = folder / "gcm_probe" / "broken.py"
    frames = [line for line in caught.value.detail.splitlines() if line.startswith("  File")]
    assert frames == [
        f'  File "{path}", line 5, in <module>',
        f'  File "{path}", line 3, in fail',
    ]
    assert caught.value.detail.endswith("ValueError: the reason")


def test_a_name_is_looked_up_once(folder: Path) -> None:
    load = ImportingLoader([folder])
    first = load("gcm_probe.parts.Server")
    with pytest.raises(ClassFault) as one:
        load("gcm_probe.parts.Nope")
    with pytest.raises(ClassFault) as two:
        load("gcm_probe.parts.Nope")
    assert load("gcm_probe.parts.Server") is first
    assert one.value is two.value
