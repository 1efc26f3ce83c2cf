"""Deployment descriptors are checked by `gcm check` too."""

from __future__ import annotations

import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from gcm.cli import main
from runtime.deployment.checker import check_descriptors
from runtime.deployment.language.table import LANGUAGE
from tools.on_grids import ROOT


def test_the_checker_is_registered_under_the_tag_of_descriptors() -> None:
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    registered = setup["options.entry_points"]["gcm.checkers"].strip()
    module, name = check_descriptors.__module__, check_descriptors.__name__
    assert registered == f"{LANGUAGE.root} = {module}:{name}"


def test_every_fault_of_every_descriptor_is_found(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.xml").write_text("<deployment>\n<zoo/>\n</deployment>")
    files = [str(tmp_path / "a.xml"), str(tmp_path / "b.xml")]
    found = check_descriptors(files, [])
    assert {one.location.file for one in found.errors} == set(files)
    assert any(one.location.line == 2 for one in found.errors)


DESCRIPTOR = """
<deployment>
  <application name="ring" script="ring.py"/>
  <grid><site name="here"><cluster name="one"/></site></grid>
</deployment>
"""


def test_files_are_looked_for_beside_the_descriptor(tmp_path: Path) -> None:
    file = tmp_path / "ring.xml"
    file.write_text(DESCRIPTOR)
    (missing,) = check_descriptors([str(file)], [])
    assert missing.code == "no-such-file"
    assert str(tmp_path / "ring.py") in missing.hint
    (tmp_path / "ring.py").write_text("")
    assert list(check_descriptors([str(file)], [])) == []


def test_no_module_of_an_assembly_is_run_for_the_names_of_its_virtual_nodes(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    (tmp_path / "app.fractal").write_text(
        '<definition name="app"><component name="c"><content class="parts.Part"/>'
        '<virtual-node name="hand"/></component></definition>'
    )
    file = tmp_path / "app.xml"
    file.write_text(
        '<deployment><assembly file="app.fractal"/>'
        '<virtual-node name="hands" nodes="site0/cluster0/node0"/><emulate/></deployment>'
    )
    assert any("'hand'" in str(one) for one in check_descriptors([str(file)], []))
    assert not (tmp_path / "ran").exists()


def test_the_assembly_of_a_descriptor_is_checked_at_its_own_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "checked_parts.py").write_text("class Worker:\n    pass\n")
    (tmp_path / "app.fractal").write_text(
        '<definition name="app">\n<component name="c">\n<content class="checked_parts.Wroker"/>'
        '<virtual-node name="hands"/></component></definition>'
    )
    (tmp_path / "app.xml").write_text(
        '<deployment>\n<assembly file="app.fractal"/>'
        '<virtual-node name="hands" nodes="site0/cluster0/node0"/><emulate/></deployment>'
    )
    told = "app.fractal:3: error[missing-class]: the module 'checked_parts' has no 'Wroker'"
    for files in (["app.xml"], ["app.xml", "app.fractal"], ["app.fractal", "app.xml"]):
        assert main(["check", *files]) == 1
        assert capsys.readouterr().out.count(told) == 1
    sys.modules.pop("checked_parts")


def test_that_the_classes_of_an_assembly_were_not_checked_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assembly = tmp_path / "app.fractal"
    assembly.write_text('<definition name="app"><controller desc="composite"/></definition>')
    file = tmp_path / "app.xml"
    file.write_text('<deployment>\n<assembly file="app.fractal"/><emulate/></deployment>')
    main(["check", "--structure", str(file)])
    told = capsys.readouterr().out
    assert told.count(f"{file}:2: warning[classes-not-checked]") == 1
    assert "check them too: gcm check" in told
    main(["check", "--structure", str(file), str(assembly)])
    assert "classes-not-checked" not in capsys.readouterr().out
