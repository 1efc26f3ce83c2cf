"""A document of another command, a program, or no command at all: `gcm` says what to type."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Gcm = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lap top.xml").write_text("<deployment/>")
    (tmp_path / "laptop.xml").write_text("<!-- one --><deployment><applicatio")
    (tmp_path / "hello.fractal").write_text('<definition name="hello"/>')
    (tmp_path / "ring.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("run laptop.xml", "gcm-deploy laptop.xml runs it"),
        ("run laptop.xml --set a=b", "gcm-deploy --set a=b laptop.xml runs it"),
        ("show laptop.xml", "gcm-deploy --dry-run laptop.xml shows what would be started where"),
        ("draw laptop.xml -o a.svg", "gcm-deploy --draw machine.svg laptop.xml draws its machine"),
        ("laptop.xml", "gcm-deploy laptop.xml runs it"),
        ("hello.fractal", "gcm run hello.fractal runs it"),
        ("ring.py", "gcm-deploy -n 4 ring.py does on 4 ranks"),
        ("run ring.py", "python ring.py runs it"),
        ("deploy laptop.xml --quiet", "to deploy: gcm-deploy laptop.xml --quiet"),
        ("deploy", "to deploy: gcm-deploy\n"),
        ("chek hello.fractal", "did you mean 'check'?"),
        ("Run hello.fractal", "did you mean 'run'?"),
        ("--verison", "did you mean '--version'?"),
        ("completion bahs", "did you mean 'bash'?"),
        ("show hello.fractal --form json", "did you mean '--format'?"),
    ],
)
def test_the_command_that_is_meant_is_told(gcm: Gcm, words: str, answer: str) -> None:
    code, out, err = gcm(*words.split())
    assert (code, out) == (2, "")
    assert answer in err


def test_a_name_with_blanks_can_be_typed_as_it_is_told(gcm: Gcm) -> None:
    _, _, err = gcm("run", "lap top.xml", "--set", "a=b c")
    assert err == (
        "gcm: 'lap top.xml' is a deployment descriptor and not an ADL document:"
        " gcm-deploy --set 'a=b c' 'lap top.xml' runs it\n"
    )


def test_a_descriptor_can_be_checked(gcm: Gcm) -> None:
    code, out, _ = gcm("check", "lap top.xml")
    assert code == 1
    assert "error[nothing-to-run]" in out
