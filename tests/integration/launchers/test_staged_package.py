"""A place with nothing but Python gets the package over the launcher's own connection."""

from __future__ import annotations

import pytest

from runtime.launchers.base import Command
from runtime.launchers.lines import Collected
from runtime.launchers.packages import packages_archive
from runtime.launchers.session import GuardSession

pytestmark = pytest.mark.needs_sshd

# What a front-end does at the far end, here with all its modules inside the archive.
FRONT_END = """
import runtime.launchers.local as local
from runtime.launchers.base import Command
from runtime.launchers.lines import Lines
with local.LocalLauncher() as launcher:
    launcher.start(Command(("echo", "from a launcher in an archive")), Lines(print)).wait(20)
    folder = launcher.make_folder()
    launcher.stage({"x": b""}, folder)
print(local.__file__)
"""


def test_a_launcher_runs_from_a_staged_archive(launcher: GuardSession) -> None:
    folder = launcher.make_folder()
    launcher.stage({"packages.zip": packages_archive(["runtime", "gcm"])}, folder)
    python = launcher.ready().python
    sink = Collected()
    command = Command(
        (python, "-S", "-c", FRONT_END), {"PYTHONPATH": f"{folder}/packages.zip"}, folder
    )
    ended = launcher.start(command, sink).wait(30)
    assert (sink.error, ended.code) == ("", 0)
    assert sink.output.splitlines() == [
        "stdout from a launcher in an archive",
        f"{folder}/packages.zip/runtime/launchers/local.py",
    ]


def test_the_same_sources_give_the_same_archive() -> None:
    assert packages_archive(["runtime.launchers"]) == packages_archive(["runtime.launchers"])


def test_a_package_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        packages_archive(["no_such_package"])
