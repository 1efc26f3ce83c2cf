"""Results come to their places whole, and those of one cluster never over those of another."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gcm.documents import Location
from runtime.deployment.model import DeployedCluster, FrontEnd, Mpi
from runtime.engine.landing import Landing
from runtime.topology import Reachability

Put = Callable[[str, str, DeployedCluster], str]


def cluster(number: int) -> DeployedCluster:
    name = "abc"[number]
    return DeployedCluster(
        name=name,
        position=(0, number),
        path=f"s/{name}",
        hops=(),
        mpi=Mpi(),
        front_end=FrontEnd("h"),
        nodes=(),
        reachability=Reachability.DIRECT,
        location=Location("x", 1),
    )


A, B, C = map(cluster, range(3))


class Home:
    """A folder in which results land."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.warnings: list[str] = []
        self.landing = Landing(time.time(), self.warnings.append)
        self._numbers = itertools.count()

    def put(self, name: str, content: str, owner: DeployedCluster) -> str:
        part = self.folder / f"part{next(self._numbers)}"
        part.write_text(content)
        place = self.landing.put(str(part), str(self.folder / name), owner)
        assert not part.exists()
        return str(Path(place).relative_to(self.folder))

    def __call__(self) -> dict[str, str]:
        files = (one for one in self.folder.rglob("*") if one.is_file())
        return {str(one.relative_to(self.folder)): one.read_text() for one in files}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("order", list(itertools.permutations([A, B, C])))
def test_the_first_cluster_of_the_descriptor_has_the_name_whichever_comes_first(
    home: Home, order: tuple[DeployedCluster, ...]
) -> None:
    for one in order:
        home.put("out/x", f"of {one.name}", one)
    assert home() == {"out/x": "of a", "out/x.s.b": "of b", "out/x.s.c": "of c"}
    assert len(home.warnings) == 2


def test_equal_contents_are_one_file_until_one_of_them_changes(home: Home) -> None:
    home.put("x", "1", B)
    assert home.put("x", "1", A) == "x"
    assert (home(), home.warnings) == ({"x": "1"}, [])
    home.put("x", "2", A)
    assert home() == {"x": "2", "x.s.b": "1"}
    home.put("x", "2", B)
    assert home() == {"x": "2"}


def test_a_cluster_replaces_what_it_brought_before(home: Home) -> None:
    for content in "123":
        home.put("x", content, A)
        home.put("x", content + "b", B)
    assert home() == {"x": "3", "x.s.b": "3b"}


def test_what_was_here_before_the_run_is_replaced_and_what_came_meanwhile_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "old").write_text("old")
    begun = (tmp_path / "old").stat().st_ctime
    while True:  # until the clock of the file system has gone on
        (tmp_path / "mine").write_text("mine")
        if (tmp_path / "mine").stat().st_ctime > begun:
            break
    home = Home(tmp_path)
    home.landing = Landing(begun, home.warnings.append)
    for content in ("1", "2"):
        home.put("old", content, B)
        home.put("mine", content, B)
    assert home() == {"old": "2", "mine": "mine", "mine.s.b": "2"}


def test_a_file_in_the_way_of_a_folder_stays_and_so_does_a_folder_in_the_way_of_a_file(
    home: Home,
) -> None:
    (home.folder / "file").write_text("mine")
    (home.folder / "folder").mkdir()
    assert home.put("file/deep/x", "1", A) == "file.s.a/deep/x"
    assert home.put("folder", "2", A) == "folder.s.a"
    assert home() == {"file": "mine", "file.s.a/deep/x": "1", "folder.s.a": "2"}


def test_links_land_as_files_do(home: Home) -> None:
    target = str(home.folder / "latest")
    home.landing.link("one", target, A)
    home.landing.link("two", target, A)
    home.landing.link("three", target, B)
    assert os.readlink(target) == "two"
    assert os.readlink(f"{target}.s.b") == "three"
    assert sorted(os.listdir(home.folder)) == ["latest", "latest.s.b"]
