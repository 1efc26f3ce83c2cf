"""Files are found by the names of their definitions, and checked one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.adl.definitions.sources import FileLoader, Source, implied_root
from gcm.adl.loading import check_files, plan_document
from gcm.documents import Diagnostics


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_full_name_wins_over_a_file_that_lies_nearer(tmp_path: Path) -> None:
    user = str(tmp_path / "near" / "App.fractal")
    roots = [tmp_path / "one", tmp_path / "two"]
    order = ["near/a/B", "one/a/B", "two/a/B", "near/B", "one/B", "two/B"]
    files = [str(tmp_path / f"{one}.fractal") for one in order]
    assert FileLoader(roots).looked_at("a.B", user) == files
    assert not FileLoader(roots).candidates("a.B", user)
    for number in reversed(range(len(files))):
        write(Path(files[number]), "")
        found = FileLoader(roots).candidates("a.B", user)
        assert list(found) == [Source(one) for one in files[number:]]


@pytest.mark.parametrize("name", ["", ".", "a..b", "a\0b", "x" * 300])
def test_impossible_names_are_not_found(tmp_path: Path, name: str) -> None:
    assert not FileLoader([tmp_path]).candidates(name, str(tmp_path / "A.fractal"))


def test_roots_can_be_added_later(tmp_path: Path) -> None:
    path = write(tmp_path / "more" / "B.fractal", "")
    loader = FileLoader()
    user = str(tmp_path / "A.fractal")
    assert not loader.candidates("B", user)
    loader.add_roots([tmp_path / "more"])
    assert list(loader.candidates("B", user)) == [Source(str(path))]


def test_known_names_are_those_of_the_files_around(tmp_path: Path) -> None:
    write(tmp_path / "B.fractal", "")
    write(tmp_path / "root" / "C.fractal", "")
    write(tmp_path / "root" / "d.txt", "")
    loader = FileLoader([tmp_path / "root", tmp_path / "nowhere"])
    assert list(loader.known(str(tmp_path / "A.fractal"))) == ["B", "C"]


def test_the_root_follows_from_the_name(tmp_path: Path) -> None:
    path = tmp_path / "src" / "a" / "b" / "C.fractal"
    assert implied_root(path, "a.b.C") == tmp_path / "src"
    assert implied_root(path, "b.C") == tmp_path / "src" / "a"
    assert implied_root(path, "x.C") == path.parent
    assert implied_root(path, "C") == path.parent


CONTENT = (
    "from gcm.components.declarations import provides\n"
    "from typing import Protocol\n"
    "class S(Protocol):\n    def go(self) -> None: ...\n"
    "@provides('s', S)\nclass C:\n    def go(self) -> None: ...\n"
)


def test_definitions_and_modules_are_found_from_the_implied_root(tmp_path: Path) -> None:
    write(tmp_path / "gcm_probe_root" / "things.py", CONTENT)
    write(
        tmp_path / "gcm_probe_root" / "Leaf.fractal",
        '<definition name="gcm_probe_root.Leaf">'
        '<content class="gcm_probe_root.things.C"/></definition>',
    )
    app = write(
        tmp_path / "gcm_probe_root" / "App.fractal",
        '<definition name="gcm_probe_root.App">'
        '<component name="l" definition="gcm_probe_root.Leaf"/></definition>',
    )
    found = Diagnostics()
    plan = plan_document(app, diagnostics=found)
    assert [str(one) for one in found] == []
    assert plan is not None
    assert plan.root.name == "App"
    assert plan.root.components[0].component_type.interfaces[0].name == "s"


def test_the_file_has_the_name_of_its_definition(tmp_path: Path) -> None:
    path = write(
        tmp_path / "App.fractal",
        '<definition name="Ap"><controller desc="composite"/></definition>',
    )
    (found,) = check_files([path])
    assert (found.code, found.message, found.hint) == (
        "definition-name",
        "the definition is named 'Ap' but the file 'App.fractal'",
        'write name="App", or rename the file',
    )


def test_all_files_are_checked_and_a_shared_fault_is_told_once(tmp_path: Path) -> None:
    write(tmp_path / "Bad.fractal", '<definition name="Bad">\n<wheel/></definition>')
    users = [
        write(
            tmp_path / f"{name}.fractal",
            f'<definition name="{name}" extends="Bad"><controller desc="composite"/></definition>',
        )
        for name in ("One", "Two")
    ]
    found = check_files([*users, tmp_path / "None.fractal"])
    assert [(Path(one.location.file).name, one.code) for one in found] == [
        ("Bad.fractal", "unknown-element"),
        ("None.fractal", "missing-file"),
    ]


def test_what_cannot_stand_alone_is_a_warning(tmp_path: Path) -> None:
    faces = write(
        tmp_path / "Faces.fractal",
        '<definition name="Faces">'
        '<interface name="a" role="client" signature="gcm.Runnable"/></definition>',
    )
    needy = write(
        tmp_path / "Needy.fractal",
        '<definition name="Needy" arguments="a,b=1,c"><content class="${a}"/></definition>',
    )
    found = check_files([faces, needy])
    assert found.errors == ()
    assert [one.message for one in found] == [
        "definition 'Faces' cannot be assembled alone: it has neither content nor sub-components",
        "definition 'Needy' cannot be assembled alone: it needs values for a, c",
    ]


def test_earlier_findings_do_not_spoil_a_clean_document(tmp_path: Path) -> None:
    path = write(
        tmp_path / "App.fractal",
        '<definition name="App"><controller desc="composite"/></definition>',
    )
    found = Diagnostics()
    assert plan_document(tmp_path / "Missing.fractal", diagnostics=found) is None
    assert plan_document(path, diagnostics=found) is not None
    assert len(found) == 1
