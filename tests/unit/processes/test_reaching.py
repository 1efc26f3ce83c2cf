"""Launchers of users: how their classes are found, and given up like any other."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gcm.documents import Diagnostics, Location
from runtime.deployment import make_plan, read_descriptor
from runtime.deployment.checker import surroundings_of
from runtime.deployment.model import DeployedCluster, NamedLauncher
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.processes.launcher.place import RemotePlace
from runtime.processes.launcher.reaching import usual_launcher

MODULE = """
from runtime.launchers.local import LocalLauncher

class Wraps:
    def __init__(self, local, **_):
        self.inner = LocalLauncher()

    def abandon(self):
        self.inner.abandon()
"""


@pytest.fixture
def local() -> Iterator[LocalLauncher]:
    with LocalLauncher() as made:
        yield made


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployedCluster:
    """A cluster whose launcher lies beside a module that is named like one of Python's own."""
    (tmp_path / "wraps_a_launcher.py").write_text(MODULE)
    (tmp_path / "colorsys.py").write_text("raise RuntimeError('this is not that of Python')")
    (tmp_path / "a.py").write_text("")
    path = tmp_path / "d.xml"
    path.write_text('<deployment><application script="a.py"/><emulate/></deployment>')
    read = read_descriptor(
        str(path), surroundings=surroundings_of(str(path)), diagnostics=Diagnostics()
    )
    assert read is not None
    (found,) = make_plan(read).deployment.clusters()
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("wraps_a_launcher", "colorsys"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    where = Location(str(path), 1)
    named = NamedLauncher("wraps_a_launcher.Wraps", (), "there", str(tmp_path), where)
    return replace(found, launcher=named)


def test_what_lies_beside_a_launcher_hides_no_module_of_python(
    cluster: DeployedCluster, local: LocalLauncher
) -> None:
    made: Any = usual_launcher(cluster, local)
    made.abandon()
    assert importlib.import_module("colorsys").rgb_to_hsv(0, 0, 0) == (0, 0, 0)


def test_a_connection_is_given_up_whatever_its_launcher_is_made_of(
    cluster: DeployedCluster, local: LocalLauncher
) -> None:
    place = RemotePlace(cluster, local, reach=usual_launcher)
    place.let_go()  # there is none yet, and the launcher of this machine goes on
    assert local.ready().host
    made: Any = usual_launcher(cluster, local)
    made.inner.ready()
    place.launcher = made
    place.let_go()
    with pytest.raises(LaunchError):
        made.inner.ready()
