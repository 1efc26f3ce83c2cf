"""Results come to their places whole, and those of one cluster never over those of another."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gcm.documents import Location
from runtime.deployment.model import DeployedCluster, FrontEnd, Mpi
from runtime.results.result_placement import ResultPlacement
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
        self.placement = ResultPlacement(self.warnings.append)
        self._numbers = itertools.count()

    def put(self, name: str, content: str, owner: DeployedCluster) -> str:
        part = self.folder / f"part{next(self._numbers)}"
        part.write_text(content)
        place = self.placement.put(str(part), str(self.folder / name), owner)
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
    for name in ("old", "mine"):
        (tmp_path / name).write_text(name)
    home, ours = Home(tmp_path), itertools.chain([0.0], itertools.repeat(60.0))
    for name, clock in (("old", lambda: 0.0), ("mine", lambda: next(ours))):
        home.placement = ResultPlacement(home.warnings.append, clock)
        for content in ("1", "2"):
            home.put(name, content, B)
    former = {".gcm-former/old": "old"}  # of before the run, once
    assert home() == {"old": "2", "mine": "mine", "mine.s.b": "2", **former}


def test_one_former_version_of_a_file_is_kept_and_none_of_an_equal_one(home: Home) -> None:
    for content in "1123":
        home.placement = ResultPlacement(home.warnings.append, lambda: 0.0)
        home.put("d/x", content, A)
    assert home() == {"d/x": "3", "d/.gcm-former/x": "2"}


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
    home.placement.link("one", target, A)
    home.placement.link("two", target, A)
    home.placement.link("three", target, B)
    assert os.readlink(target) == "two"
    assert os.readlink(f"{target}.s.b") == "three"
    assert sorted(os.listdir(home.folder)) == ["latest", "latest.s.b"]


def test_what_is_written_here_after_a_file_has_come_is_not_replaced(home: Home) -> None:
    home.put("ck", "1 of b", B)
    (home.folder / "ck").write_text("written here")
    assert home.put("ck", "2 of b", B) == "ck.s.b"
    assert home.put("ck", "1 of a", A) == "ck.s.a"
    assert home() == {"ck": "written here", "ck.s.b": "2 of b", "ck.s.a": "1 of a"}
    assert len(home.warnings) == 2


def test_what_an_earlier_run_kept_for_a_cluster_stays_unless_there_is_a_new_one(
    home: Home,
) -> None:
    (home.folder / "x.s.b").write_text("earlier")
    home.put("x", "1", A)
    home.put("x", "1", B)
    assert home() == {"x": "1", "x.s.b": "earlier"}


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat("/tmp").st_dev,
    reason="there is no second file system",
)
def test_a_file_of_another_file_system_lands_without_touching_any_other_name(home: Home) -> None:
    mine = {"x.part": "mine", "x.s.a.link": "mine"}
    for name, content in mine.items():
        (home.folder / name).write_text(content)
    with tempfile.NamedTemporaryFile("w", dir="/dev/shm", delete=False) as part:
        part.write("1")
    home.placement.put(part.name, str(home.folder / "x"), A)
    assert not os.path.exists(part.name)
    home.placement.link("elsewhere", str(home.folder / "x"), A)
    assert os.readlink(home.folder / "x") == "elsewhere"
    assert home() == mine


def test_nothing_lands_below_a_link_that_came_with_the_results(home: Home) -> None:
    outside = home.folder / "outside"
    outside.mkdir()
    (home.folder / "home").mkdir()
    home.placement.link("../outside", str(home.folder / "home/d"), A)
    assert home.put("home/d/file", "1", A) == "home/d.s.a/file"
    home.placement.make_folder(str(home.folder / "home/d/folder"), A)
    home.placement.link("x", str(home.folder / "home/d/link"), A)
    assert list(outside.iterdir()) == []
    assert sorted(os.listdir(home.folder / "home/d.s.a")) == ["file", "folder", "link"]


def test_results_land_below_a_link_of_the_user(home: Home) -> None:
    (home.folder / "disk").mkdir()
    (home.folder / "out").symlink_to("disk")
    assert home.put("out/x", "1", A) == "out/x"
    assert (home.folder / "disk" / "x").read_text() == "1"
