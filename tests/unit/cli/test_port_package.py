"""The name of the package that `gcm port` writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gcm.cli import main

DOCUMENT = """
<definition name="App">
  <interface name="r" role="server" signature="java.lang.Runnable"/>
  <content class="org.App"/>
</definition>
"""


@pytest.mark.parametrize(
    ("package", "complaint"),
    [
        ("class", "'class' is a word of the language Python"),
        ("app.import", "'import' is a word of the language Python"),
        ("9", "'9' is not a Python name"),
        ("app.", "'' is not a Python name"),
        ("json", "Python's own library has a module 'json'"),
        ("gcm", "there is a package of that name already, in "),
        ("pytest", "there is a package of that name already, in "),
    ],
)
def test_a_package_that_could_not_be_imported_is_refused(
    package: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "App.fractal"
    file.write_text(DOCUMENT.strip(), "utf-8")
    output = tmp_path / "out"
    assert main(["port", str(file), "--package", package, "-o", str(output)]) == 2
    assert f"--package {package}: {complaint}" in capsys.readouterr().err
    assert not output.exists()


def test_a_package_that_is_there_already_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "App.fractal"
    file.write_text(DOCUMENT.strip(), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    for told in ("App.py: new", "kept as it is"):
        assert main(["port", str(file), "--package", "ported_app", "-o", str(tmp_path)]) == 0
        assert told.replace("App.py", "__init__.py") in capsys.readouterr().out
