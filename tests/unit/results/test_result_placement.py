"""Results come to their places whole, and those of one cluster never over those of another."""

from __future__ import annotations

import itertools
import os
import tempfile
from pathlib import Path

import pytest

from gcm.documents import Location
from runtime.deployment.model import DeployedCluster, FrontEnd, Mpi
from runtime.results.known_results import RECORD
from runtime.results.open_folder import OpenFolder
from runtime.results.result_placement import ResultPlacement
from runtime.topology import Reachability


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
        self.room = folder.parent / "room"
        self.room.mkdir(exist_ok=True)
        self._numbers = itertools.count()
        self.begin()

    def begin(self, *named: str) -> None:
        """Begin another run."""
        self.placement = ResultPlacement(str(self.folder), self.warnings.append, named)

    def put(
        self, name: str, content: str, owner: DeployedCluster, *, is_output: bool = False
    ) -> str:
        part = self.room / f"part{next(self._numbers)}"
        part.write_text(content)
        target = str(self.folder / name)
        landing = self.placement.put(str(part), target, owner, is_output=is_output)
        assert not part.exists()
        return str(Path(landing.path).relative_to(self.folder))

    def link(self, leads_to: str, name: str, owner: DeployedCluster) -> str:
        target, room = str(self.folder / name), str(self.room)
        landing = self.placement.link(leads_to, target, owner, room=room)
        return str(Path(landing.path).relative_to(self.folder))

    def __call__(self) -> dict[str, str]:
        files = (one for one in self.folder.rglob("*") if one.is_file() and one.name != RECORD)
        return {str(one.relative_to(self.folder)): one.read_text() for one in files}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "home").mkdir()
    return Home(tmp_path / "home")


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


def test_a_file_that_came_from_no_run_stays(home: Home) -> None:
    for name in ("input.cfg", "output", "edited"):
        (home.folder / name).write_text("mine")
    assert home.put("input.cfg", "theirs", A) == "input.cfg.s.a"
    assert home.put("output", "theirs", A, is_output=True) == "output"
    assert home.put("result", "1", A) == "result"
    home.begin()
    assert home.put("input.cfg", "theirs too", A) == "input.cfg.s.a"
    assert home.put("result", "2", A) == "result"
    (home.folder / "result").write_text("mine now")
    home.begin()
    assert home.put("result", "3", A) == "result.s.a"
    assert home.put("edited", "mine", A) == "edited"
    home.begin()
    assert home.put("edited", "theirs", A) == "edited.s.a"  # equal content made it no result
    found = {name: text for name, text in home().items() if ".gcm-former" not in name}
    assert found == {
        "input.cfg": "mine",
        "input.cfg.s.a": "theirs too",
        "output": "theirs",
        "result": "mine now",
        "result.s.a": "3",
        "edited": "mine",
        "edited.s.a": "theirs",
    }


def test_one_former_version_of_a_file_is_kept_and_none_of_an_equal_one(home: Home) -> None:
    for content in "1123":
        home.begin()
        home.put("d/x", content, A)
    assert home() == {"d/x": "3", "d/.gcm-former/x": "2"}


def test_a_result_stays_one_when_the_command_is_killed_before_it_is_in_its_place(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.put("x", "1", A)
    monkeypatch.setattr(OpenFolder, "take", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        home.put("x", "2", A)
    monkeypatch.undo()
    home.begin()
    assert home.put("x", "3", A) == "x"


def test_a_file_in_the_way_of_a_folder_stays_and_so_does_a_folder_in_the_way_of_a_file(
    home: Home,
) -> None:
    (home.folder / "file").write_text("mine")
    (home.folder / "folder").mkdir()
    assert home.put("file/deep/x", "1", A) == "file.s.a/deep/x"
    assert home.put("folder", "2", A) == "folder.s.a"
    assert home() == {"file": "mine", "file.s.a/deep/x": "1", "folder.s.a": "2"}


def test_links_land_as_files_do(home: Home) -> None:
    assert [home.link(to, "latest", A) for to in ("one", "two")] == ["latest", "latest"]
    assert home.link("three", "latest", B) == "latest.s.b"
    assert os.readlink(home.folder / "latest") == "two"
    assert os.readlink(home.folder / "latest.s.b") == "three"


def test_what_is_written_here_after_a_file_has_come_is_not_replaced(home: Home) -> None:
    home.put("ck", "1 of b", B)
    (home.folder / "ck").write_text("written here")
    assert home.put("ck", "2 of b", B) == "ck.s.b"
    assert home.put("ck", "1 of a", A) == "ck.s.a"
    assert home() == {"ck": "written here", "ck.s.b": "2 of b", "ck.s.a": "1 of a"}


def test_what_an_earlier_run_kept_for_a_cluster_stays_unless_there_is_a_new_one(
    home: Home,
) -> None:
    home.put("x", "1", A)
    home.put("x", "earlier", B)
    home.begin()
    home.put("x", "1", A)
    home.put("x", "1", B)
    assert home() == {"x": "1", "x.s.b": "earlier"}
    home.put("x", "2", B)
    assert home() == {"x": "1", "x.s.b": "2", ".gcm-former/x.s.b": "earlier"}


def test_a_file_of_the_user_with_the_name_of_a_cluster_stays(home: Home) -> None:
    for name in ("x", "x.s.a", "x.s.a.kept1"):
        (home.folder / name).write_text("mine")
    assert home.put("x", "1", A) == "x.s.a.kept2"


@pytest.mark.skipif(
    not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat("/tmp").st_dev,
    reason="there is no second file system",
)
def test_a_file_of_another_file_system_lands_without_touching_any_other_name(home: Home) -> None:
    mine = {"x.part": "mine", "x.s.a.link": "mine"}
    for name, content in mine.items():
        (home.folder / name).write_text(content)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as room:
        home.room = Path(room)
        assert home.put("x", "1", A) == "x"
        assert home.link("elsewhere", "x", A) == "x"
        assert list(home.room.iterdir()) == []
    assert os.readlink(home.folder / "x") == "elsewhere"
    assert home() == mine


def test_nothing_lands_below_a_link_that_came_with_the_results(home: Home) -> None:
    (home.folder / "hooks").mkdir()
    home.link("hooks", "d", A)
    for _ in range(2):
        assert home.put("d/file", "1", A) == "d.s.a/file"
        home.placement.make_folder(str(home.folder / "d/folder"), A)
        assert home.link("x", "d/link", A) == "d.s.a/link"
        assert list((home.folder / "hooks").iterdir()) == []
        assert sorted(os.listdir(home.folder / "d.s.a")) == ["file", "folder", "link"]
        home.begin("d")  # though the descriptor of the next run names the folder


def test_results_land_below_a_link_of_the_user_only_where_the_descriptor_names_it(
    home: Home,
) -> None:
    (home.folder.parent / "disk").mkdir()
    (home.folder / "out").symlink_to("../disk")
    assert home.put("out/x", "1", A) == "out.s.a/x"
    home.begin("out")
    assert home.put("out/x", "1", A) == "out/x"
    assert (home.folder.parent / "disk" / "x").read_text() == "1"
    (home.folder / "out/deep").symlink_to("/etc")
    assert home.put("out/deep/x", "1", A) == "out/deep.s.a/x"


def test_nothing_lands_outside_of_the_program_folder(home: Home) -> None:
    with pytest.raises(OSError, match="it leads out of"):
        home.put("../x", "1", A)


def test_what_the_record_says_beside_results_is_passed_over(home: Home) -> None:
    (home.folder / RECORD).write_bytes(b'no\n["x"]\n["x", 1, "y", ""]\n\xff\n')
    (home.folder / "x").write_text("mine")
    home.begin()
    assert home.put("x", "1", A) == "x.s.a"


def test_holes_stay_holes_in_another_file_system(home: Home) -> None:
    size = 1 << 30
    for name in ("one", "two"):
        with open(home.room / name, "wb") as file:
            file.truncate(size)
            file.seek(size // 2)
            file.write(b"data")
    with OpenFolder.at(str(home.room)) as room, OpenFolder.at(str(home.folder)) as folder:
        folder.copy(room, "one", "copy")
        assert folder.has_equal("copy", room, "two")
        (home.room / "two").write_bytes(b"x")
        os.truncate(home.room / "two", size)
        assert not folder.has_equal("copy", room, "two")
    assert (home.folder / "copy").stat().st_size == size
    assert (home.folder / "copy").stat().st_blocks < 1000


def test_a_record_that_cannot_be_written_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, opened = Home(tmp_path), os.open
    home.put("x", "one", A)
    owned = (tmp_path / RECORD).stat().st_ino

    def refusing(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_APPEND and os.stat(path).st_ino == owned:  # root may write everything
            raise PermissionError(13, "Permission denied", path)
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", refusing)
    home.begin()
    assert home.put("x", "two", A) == "x"
    home.begin()
    assert home.put("x", "three", A) == "x"
