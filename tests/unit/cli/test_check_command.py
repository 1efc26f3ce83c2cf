"""`gcm check` reports every fault of every file, sorted, for people or for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gcm.cli.root_tag import root_tag

Gcm = Callable[..., tuple[int, str, str]]


def write(folder: Path, name: str, text: str) -> str:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    return write(
        tmp_path,
        "bad.fractal",
        '<definition name="bad">\n'
        '  <component name="a" colour="red"><content class="json.JSONDecoder"/></component>\n'
        '  <binding client="a.x" server="b.y"/>\n'
        "</definition>\n",
    )


def test_a_file_without_fault_is_exit_code_0(gcm: Gcm, hello: str) -> None:
    assert gcm("check", hello) == (0, "1 file, no fault\n", "")


def test_files_are_counted_once(gcm: Gcm, hello: str) -> None:
    assert gcm("check", hello, hello)[1] == "1 file, no fault\n"


def test_every_fault_of_every_file_is_told_by_file_and_line(
    gcm: Gcm, bad: str, hello: str, tmp_path: Path
) -> None:
    also = write(tmp_path, "also.fractal", "<definition>\n")
    code, out, err = gcm("check", bad, hello, also)
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert [line.partition(": error[")[0] for line in lines[:-1]] == [
        f"{also}:1",
        f"{bad}:2",
        f"{bad}:3",
        f"{bad}:3",
    ]
    assert lines[-1] == "4 faults in 2 files"


def test_one_fault_is_counted_in_the_singular(gcm: Gcm, tmp_path: Path) -> None:
    assert gcm("check", str(tmp_path / "none.fractal"))[1].endswith("\n1 fault in 1 file\n")


def test_warnings_are_told_but_are_no_fault(gcm: Gcm, tmp_path: Path, bad: str) -> None:
    needy = write(tmp_path, "needy.fractal", '<definition name="needy" arguments="a"/>')
    code, out, _ = gcm("check", needy)
    assert code == 0
    assert "warning[not-checked-alone]" in out
    assert out.endswith("\n1 file, no fault, 1 warning\n")
    assert gcm("check", needy, bad)[1].endswith("\n3 faults and 1 warning in 2 files\n")


def test_programs_get_json(gcm: Gcm, bad: str) -> None:
    code, out, _ = gcm("check", "--format", "json", bad)
    told = json.loads(out)
    assert code == 1
    assert (told["files"], told["errors"], told["warnings"]) == ([bad], 3, 0)
    assert [one["line"] for one in told["findings"]] == [2, 3, 3]
    assert told["findings"][0]["code"] == "unknown-xml-attribute"


def test_the_traceback_of_the_users_module_is_indented_below_the_fault(
    gcm: Gcm, single: Callable[..., str]
) -> None:
    code, out, _ = gcm("check", single("1 / 0\n"))
    lines = out.splitlines()
    assert code == 1
    assert "error[import-error]" in lines[0]
    assert lines[1] == "    Traceback (most recent call last):"
    assert lines[-2] == "    ZeroDivisionError: division by zero"
    assert lines[-1] == "1 fault in 1 file"


def test_one_traceback_is_shown_once(
    gcm: Gcm, module: Callable[[str], str], tmp_path: Path
) -> None:
    name = module("1 / 0")
    part = f'<component name="{{}}"><content class="{name}.A"/></component>'
    file = write(
        tmp_path,
        "twice.fractal",
        f'<definition name="twice">{part.format("a")}\n{part.format("b")}</definition>',
    )
    lines = gcm("check", file)[1].splitlines()
    assert [line for line in lines if "ZeroDivisionError" in line and "error[" not in line] == [
        "    ZeroDivisionError: division by zero"
    ]
    assert lines[-2:] == ["    (as above)", "2 faults in 1 file"]


def test_definitions_and_modules_are_searched_in_further_folders(
    gcm: Gcm, hello: str, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    user = write(inner, "user.fractal", '<definition name="user" extends="hello"/>')
    assert gcm("check", user)[0] == 1
    assert gcm("check", user, "--path", str(tmp_path)) == (0, "1 file, no fault\n", "")


def test_other_documents_are_checked_by_the_package_that_knows_them(
    gcm: Gcm, hello: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        tmp_path,
        "checker_of_poems.py",
        "from gcm.documents import Diagnostics, Location\n"
        "def check(files, roots, *, with_classes):\n"
        "    found = Diagnostics()\n"
        "    for file in files:\n"
        "        found.report('bad-rhyme', f'no rhyme, {list(roots)}', Location(file, 1))\n"
        "    return found\n",
    )
    installed = tmp_path / "poems-1.dist-info"
    installed.mkdir()
    write(installed, "METADATA", "Metadata-Version: 2.1\nName: poems\nVersion: 1\n")
    write(installed, "entry_points.txt", "[gcm.checkers]\npoem = checker_of_poems:check\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    poem = write(tmp_path, "x.xml", "<!-- a --><poem>\n</poem>")
    code, out, _ = gcm("check", poem, hello, "--path", "here")
    assert code == 1
    assert out == f"{poem}:1: error[bad-rhyme]: no rhyme, ['here']\n1 fault in 1 file\n"


@pytest.mark.parametrize(
    ("data", "tag"),
    [
        (b"<a><b/></a>", "a"),
        (b"<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'c'>]>\n<!-- d --><a>&b;", "a"),
        ("<?xml version='1.0' encoding='utf-16'?><a/>".encode("utf-16"), "a"),
        (b"<a", ""),
        (b"", ""),
        (b"no xml", ""),
        (b"<?xml version='1.0' encoding='klingon'?><a/>", ""),
        (b"<a>" + b" " * 100_000 + b"</b>", "a"),
    ],
)
def test_the_language_is_told_by_the_root_element(tmp_path: Path, data: bytes, tag: str) -> None:
    (tmp_path / "x").write_bytes(data)
    assert root_tag(str(tmp_path / "x")) == tag


def test_what_is_no_file_has_no_language(tmp_path: Path) -> None:
    assert root_tag(str(tmp_path)) == ""
    assert root_tag("with\0zero") == ""
