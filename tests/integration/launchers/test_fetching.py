"""What a folder at a place holds, sent home file by file, and folders with results that stay."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from runtime.launchers import fetching
from runtime.launchers.base import Command
from runtime.launchers.contents import FILE
from runtime.launchers.errors import ConnectionLost, FetchFailed, StagingFailed
from runtime.launchers.local import LocalLauncher
from runtime.launchers.session import GuardSession
from runtime.launchers.ssh import SshLauncher
from runtime.results.incoming import IncomingFiles
from runtime.results.selection import ArrivingFile


def never() -> bool:
    return False


@dataclass
class Kept:
    """A receiver that keeps everything."""

    heads: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    data: dict[int, bytes] = field(default_factory=dict)
    ended: dict[int, str] = field(default_factory=dict)

    def begins(self, number: int, size: int, mtime: int, mode: int) -> None:
        self.heads[number] = size, mtime, mode

    def goes_on(self, number: int, data: bytes) -> None:
        self.data[number] = self.data.get(number, b"") + data

    def skips(self, number: int, size: int) -> None:
        self.data[number] = self.data.get(number, b"") + bytes(size)

    def ends(self, number: int, fault: str) -> None:
        self.ended[number] = fault


@pytest.fixture
def kept_folders() -> Iterator[list[str]]:
    """Folders that a test makes stay, to be removed after it."""
    folders: list[str] = []
    yield folders
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def test_files_are_sent_from_the_offset_that_is_asked_for(launcher: GuardSession) -> None:
    folder = Path(launcher.make_folder())
    content = os.urandom(300_000)
    (folder / "deep").mkdir()
    (folder / "deep" / "big").write_bytes(content)
    (folder / "deep" / "big").chmod(0o750)
    (folder / "empty").touch()
    kept = Kept()
    wanted = [("deep/big", 0), ("deep/big", 299_990), ("empty", 0), ("no-such", 0)]
    fetching.receive(launcher, str(folder), wanted, kept, given_up=never)
    known = (folder / "deep" / "big").stat()
    assert kept.heads[0] == (300_000, known.st_mtime_ns, 0o750)
    assert kept.data == {0: content, 1: content[-10:]}
    assert kept.ended == {0: "", 1: "", 2: "", 3: "No such file or directory"}


def test_a_listing_tells_files_links_folders_and_what_cannot_be_sent(
    launcher: GuardSession, tmp_path: Path
) -> None:
    folder = Path(launcher.make_folder())
    outside = tmp_path / "outside.txt"
    outside.write_text("outside")
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text("12345")
    (folder / "inside").symlink_to(folder / "sub" / "file")
    (folder / "outside").symlink_to(outside)
    (folder / "dangling").symlink_to("nowhere")
    (folder / "away").symlink_to(tmp_path)
    (folder / "odd\udcff\nname").write_text("")
    os.mkfifo(folder / "fifo")
    host, found = fetching.list_folder(launcher, str(folder), given_up=never)
    assert host == os.uname().nodename
    assert found is not None
    assert {path: (one[0], one[1], one[4]) for path, one in found.items()} == {
        "sub": ("folder", 0, ""),
        "sub/file": ("file", 5, ""),
        "inside": ("link", 5, "sub/file"),
        "outside": ("file", 7, ""),
        "dangling": ("other", 0, "a link to nowhere, which is not there"),
        "away": ("other", 0, f"a link to {tmp_path}, which is not a file inside"),
        "odd\udcff\nname": ("file", 0, ""),
        "fifo": ("other", 0, "a FIFO"),
    }


def test_a_folder_that_is_not_there_is_no_error(launcher: GuardSession) -> None:
    assert fetching.list_folder(launcher, "/no/such/folder", given_up=never)[1] is None


def test_giving_up_ends_what_is_being_sent(launcher: GuardSession) -> None:
    folder = Path(launcher.make_folder())
    (folder / "large").write_bytes(bytes(1 << 26))  # a hole would come at once
    with pytest.raises(FetchFailed, match="it was given up"):
        fetching.receive(launcher, str(folder), [("large", 0)], Kept(), given_up=lambda: True)


def test_a_sealed_folder_without_anything_new_goes_with_the_launcher(
    own_launcher: GuardSession,
) -> None:
    folder = Path(own_launcher.make_folder())
    own_launcher.stage({"program.py": b"print()", "deep/data": b"1"}, str(folder))
    own_launcher.seal(str(folder), [(True, r"^(?:.+/)?__pycache__/")])
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "program.pyc").touch()
    own_launcher.close()
    assert not folder.exists()


@pytest.mark.parametrize("act", ["new", "changed", "link"])
def test_a_sealed_folder_with_results_stays_when_the_launcher_closes(
    own_launcher: GuardSession, kept_folders: list[str], act: str
) -> None:
    folder = Path(own_launcher.make_folder())
    kept_folders.append(str(folder))
    own_launcher.stage({"program.py": b"print()"}, str(folder))
    own_launcher.seal(str(folder))
    if act == "link":
        (folder / "link").symlink_to("program.py")
    else:
        (folder / {"new": "result", "changed": "program.py"}[act]).write_text("result")
    own_launcher.close()
    assert {one.name for one in folder.iterdir()} == {
        "new": {"result"}, "changed": {"program.py"}, "link": {"link"}
    }[act], "what was there before has gone"  # fmt: skip


def test_a_folder_whose_results_are_home_is_removed_at_once(own_launcher: GuardSession) -> None:
    folder = Path(own_launcher.make_folder())
    own_launcher.seal(str(folder))
    (folder / "result").write_text("1")
    own_launcher.remove_folder(str(folder))
    own_launcher.close()
    assert not folder.exists()


def test_a_sealed_folder_with_results_stays_when_its_guard_is_asked_to_end_from_outside(
    own_launcher: GuardSession,
    kept_folders: list[str],
    wait_gone: Callable[[list[int], float], list[int]],
) -> None:
    folder, empty = Path(own_launcher.make_folder()), Path(own_launcher.make_folder())
    kept_folders.append(str(folder))
    own_launcher.seal(str(folder))
    own_launcher.seal(str(empty))
    (folder / "result").write_text("1")
    sleeper = own_launcher.start(Command(("sleep", "1000")))
    sleeper.started(20)
    assert sleeper.pid is not None
    from runtime.launchers.contents import end_guard

    guard = own_launcher.ready().guard
    end_guard(guard, 20.0)
    assert wait_gone([guard, sleeper.pid], 20.0) == []
    assert (folder / "result").exists()
    assert not empty.exists()


def test_a_folder_that_is_not_there_cannot_be_sealed(launcher: GuardSession) -> None:
    with pytest.raises(StagingFailed, match="/no/such/? could not be read: No such file"):
        launcher.seal("/no/such")


@dataclass
class CutInto:
    """Breaks the connection once something has come."""

    incoming: IncomingFiles
    cut: Callable[[], None]

    def begins(self, number: int, size: int, mtime: int, mode: int) -> None:
        self.incoming.begins(number, size, mtime, mode)

    def goes_on(self, number: int, data: bytes) -> None:
        self.incoming.goes_on(number, data)
        if self.incoming.bytes > 1_000_000:
            self.cut()

    def skips(self, number: int, size: int) -> None:
        self.incoming.skips(number, size)

    def ends(self, number: int, fault: str) -> None:
        self.incoming.ends(number, fault)


def test_a_file_that_a_broken_connection_cut_goes_on_over_another_one(
    sshd: Any, local: LocalLauncher, tmp_path: Path
) -> None:
    content = os.urandom(40_000_000)
    (tmp_path / "big").write_bytes(content)
    (tmp_path / "parts").mkdir()
    arrival = ArrivingFile("big", "/home/big", (FILE, len(content), 0, 0o600, ""))
    incoming = IncomingFiles(str(tmp_path / "parts"))
    with SshLauncher([sshd.hop()], local, user_folder=None) as first:
        first.ready()
        client = first._client.pid
        assert client is not None
        cut = CutInto(incoming, lambda: os.kill(client, signal.SIGKILL))
        wanted = incoming.ask_for([arrival])
        with pytest.raises(ConnectionLost):
            fetching.receive(first, str(tmp_path), wanted, cut, given_up=never)
    incoming.stop()
    with SshLauncher([sshd.hop()], local, user_folder=None) as second:
        ((_, offset),) = wanted = incoming.ask_for([arrival])
        assert 1_000_000 < offset < len(content)
        fetching.receive(second, str(tmp_path), wanted, incoming, given_up=never)
    (part,) = incoming.take_whole().values()
    assert Path(part).read_bytes() == content
