"""A place with nothing but Python gets the package over the launcher's own connection."""

from __future__ import annotations

import marshal
import py_compile
import sys
import zlib
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from runtime.launchers.base import Command
from runtime.launchers.errors import StagingFailed
from runtime.launchers.lines import Collected
from runtime.launchers.packages import packages_archive, stage_packages
from runtime.launchers.session import GuardSession

pytestmark = pytest.mark.needs_sshd

# What a front-end does at the far end, here with all its modules in the folder.
FRONT_END = """
import runtime.launchers.local as local
from runtime.launchers.base import Command
from runtime.launchers.errors import StagingFailed
from runtime.launchers.lines import Lines
with local.LocalLauncher() as launcher:
    launcher.start(Command(("echo", "from a launcher that was brought")), Lines(print)).wait(20)
    folder = launcher.make_folder()
    launcher.stage({"x": b""}, folder)
print(local.__file__)
"""


def test_a_launcher_runs_where_its_package_was_brought(launcher: GuardSession) -> None:
    folder = launcher.make_folder()
    python = launcher.ready().python
    stage_packages(launcher, python, ["runtime", "gcm"], f"{folder}/packages")
    sink = Collected()
    command = Command((python, "-S", "-c", FRONT_END), {"PYTHONPATH": f"{folder}/packages"}, folder)
    ended = launcher.start(command, sink).wait(30)
    assert (sink.error, ended.code) == ("", 0)
    assert sink.output.splitlines() == [
        "stdout from a launcher that was brought",
        f"{folder}/packages/runtime/launchers/local.py",
    ]


def test_the_same_sources_give_the_same_archive() -> None:
    assert packages_archive(["runtime.launchers"]) == packages_archive(["runtime.launchers"])


def test_a_folder_that_cannot_be_made_is_an_error(launcher: GuardSession) -> None:
    with pytest.raises(
        StagingFailed, match="files could not be written to /dev/null/here"
    ) as found:
        stage_packages(launcher, launcher.ready().python, ["runtime"], "/dev/null/here")
    assert "NotADirectoryError" in str(found.value)


def test_what_is_compiled_here_goes_along_if_it_is_of_this_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "packed_for_a_test"
    package.mkdir()
    for name in ("__init__", "old", "new"):
        (package / f"{name}.py").write_text(f"name = '{name}'\n")
        py_compile.compile(str(package / f"{name}.py"))
    (package / "old.py").write_text("name = 'another'\n")
    (package / "never.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    files = marshal.loads(zlib.decompress(packages_archive([package.name])))
    tag = sys.implementation.cache_tag
    compiled = sorted(name for name in files if name.endswith(".pyc"))
    folder = f"{package.name}/__pycache__"
    assert compiled == [f"{folder}/__init__.{tag}.pyc", f"{folder}/new.{tag}.pyc"]
    assert sum(name.endswith(".py") for name in files) == 4
    there = tmp_path / "there"
    for name in (f"{package.name}/new.py", f"{folder}/new.{tag}.pyc"):
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_bytes(files[name])
    found = SourceFileLoader("new", str(there / package.name / "new.py"))
    code = found.get_code("new")
    assert code is not None
    assert code.co_filename == found.path


def test_a_package_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        packages_archive(["no_such_package"])
