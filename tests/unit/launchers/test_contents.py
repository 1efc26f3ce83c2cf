"""What a folder holds, what of it is new, and what is kept of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from runtime.launchers import contents, wire
from runtime.launchers.contents import (
    DATA,
    DONE,
    FAILED,
    FILE,
    HEAD,
    UNREAD,
    keeps_results,
    new_in,
    scan,
)
from runtime.launchers.family import remove_tree

BYTECODE = [(True, r"^(?:.+/)?__pycache__/")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program, its data and a link, as it was staged."""
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "program.py").write_text("print()")
    (tmp_path / "deep" / "er" / "data").write_text("1")
    (tmp_path / "link").symlink_to("program.py")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*")}


def test_nothing_is_new_in_a_folder_that_nobody_touched(folder: Path) -> None:
    assert new_in(scan(str(folder)), scan(str(folder))) == {}
    assert not keeps_results(str(folder), scan(str(folder)), [])
    assert "program.py" in names(folder)


def test_bytecode_and_empty_folders_are_no_reason_to_keep_a_folder(folder: Path) -> None:
    before = scan(str(folder))
    (folder / "empty").mkdir()
    (folder / "deep" / "__pycache__").mkdir()
    (folder / "deep" / "__pycache__" / "data.pyc").touch()
    assert not keeps_results(str(folder), before, BYTECODE)
    assert keeps_results(str(folder), before, [])


def test_of_a_folder_that_is_kept_only_what_is_new_stays(folder: Path) -> None:
    before = scan(str(folder))
    (folder / "deep" / "er" / "result").write_text("2")
    os.utime(folder / "program.py", ns=(0, 1))
    assert keeps_results(str(folder), before, [])
    left = {"deep", "deep/er", "deep/er/result", "program.py", "link"}  # it leads to what is new
    assert names(folder) == left
    assert keeps_results(str(folder), before, []), "and so it is when somebody looks again"


def test_a_new_link_to_what_was_there_before_stays(folder: Path) -> None:
    before = scan(str(folder))
    (folder / "latest").symlink_to("program.py")
    for _ in range(2):  # the second time it leads nowhere
        assert keeps_results(str(folder), before, [])
    assert "latest" in names(folder)


def test_a_folder_that_cannot_be_looked_through_is_kept(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert keeps_results(str(tmp_path / "file"), {}, [])
    assert not keeps_results(str(tmp_path / "gone"), {}, [])


def test_what_lies_too_deep_to_be_looked_at_is_told_and_can_be_removed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (tmp_path / "kept").touch()
    inside = os.open(folder, os.O_RDONLY)
    for _ in range(1500):  # beyond the longest path, and the stack of Python
        os.mkdir("deep", dir_fd=inside)
        below = os.open("deep", os.O_RDONLY, dir_fd=inside)
        os.close(inside)
        inside = below
    os.close(os.open("result", os.O_CREAT, dir_fd=inside))
    os.close(inside)
    found = scan(str(folder))
    assert [one for one in found.values() if one[0] == UNREAD] == [
        (UNREAD, 0, 0, 0, os.strerror(errno.ENAMETOOLONG))
    ]
    assert contents.unpacked(contents.packed(found))[1] == found
    assert keeps_results(str(folder), {}, [])
    remove_tree(str(folder))
    assert names(tmp_path) == {"kept"}


def test_the_last_rule_that_matches_decides() -> None:
    ignored = contents.ignores([(True, r"^a/"), (False, r"^a/keep$"), (True, r"^b$")])
    assert [path for path in ("a/x", "a/keep", "b", "c") if ignored(path)] == ["a/x", "b"]


def test_what_a_folder_holds_survives_the_way_home(folder: Path) -> None:
    (folder / "odd\udcff\n").touch()
    found = scan(str(folder))
    assert contents.unpacked(contents.packed(found)) == (os.uname().nodename, found)
    assert contents.unpacked(contents.packed(None)) == (os.uname().nodename, None)


def test_files_are_sent_in_messages_and_one_that_fails_does_not_end_them(folder: Path) -> None:
    (folder / "big").write_bytes(bytes(contents.CHUNK + 1))
    wanted = [("big", 0), ("gone", 0), ("program.py", 3)]
    sent = b"".join(contents.messages(str(folder), wanted))
    kinds = [(kind, number, len(data)) for kind, number, data in wire.frames(bytearray(sent))]
    assert [kind for kind, _, _ in kinds] == [HEAD, DATA, DATA, DONE, FAILED, HEAD, DATA, DONE]
    assert [size for kind, _, size in kinds if kind == DATA] == [contents.CHUNK, 1, 4]


def test_a_link_to_what_is_neither_file_nor_folder_cannot_be_sent(folder: Path) -> None:
    os.mkfifo(folder / "deep" / "fifo")
    (folder / "latest").symlink_to("deep/fifo")
    assert scan(str(folder))["latest"][::4] == ("other", "a link to deep/fifo, which is a FIFO")


@pytest.mark.timeout(20)
def test_what_has_become_a_fifo_is_refused_and_never_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "fifo")
    wanted = [("fifo", 0), ("deep", 0), ("program.py", 0)]
    sent = list(wire.frames(bytearray(b"".join(contents.messages(str(folder), wanted)))))
    assert [kind for kind, *_ in sent] == [FAILED, FAILED, HEAD, DATA, DONE]
    assert sent[0][2] == b"it is not a file"


def listing(*paths: str) -> bytes:
    return contents.packed(dict.fromkeys(paths, (contents.FOLDER, 0, 0, 0o755, "")))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (listing("a" * 4097), "has more than 4,096 bytes"),
        (listing("a/b"), "is in no folder of it"),
        (listing(*(f"{number:04000}" for number in range(40_000))), "has more than 134,217,728"),
    ],
    ids=["long", "without its folder", "many"],
)
def test_a_list_of_files_that_nobody_can_have_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        contents.unpacked(data)


def test_a_list_of_files_is_read_no_further_once_nobody_wants_it() -> None:
    asked = iter([False, True])
    with pytest.raises(ValueError, match="it was given up"):
        contents.unpacked(listing(*map(str, range(5000))), lambda: next(asked))


def test_a_list_is_sent_while_the_folder_is_looked_through() -> None:
    looked: list[str] = []

    def found() -> Iterator[tuple[str, contents.Entry]]:
        for number in range(5000):
            looked.append(str(number))
            yield looked[-1], (FILE, 0, 0, 0o644, "")

    sent = [(len(looked), piece) for piece in contents.packing(found()) if piece]
    waits = [later - sooner for (sooner, _), (later, _) in pairwise(sent)]
    assert max(waits) <= 1024
    _, listed = contents.unpacked(b"".join(piece for _, piece in sent))
    assert listed is not None
    assert list(listed) == looked


NOBODY = 65534


def test_a_list_of_too_many_files_ends_where_it_is_too_long(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number // 5}").mkdir(exist_ok=True)
        (tmp_path / f"{number // 5}" / f"{number}").touch()
    assert len(scan(str(tmp_path))) == 24
    assert len(scan(str(tmp_path), most=10)) == 11


def test_a_list_of_too_many_that_cannot_be_looked_at_ends_there_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    for number in range(20):
        (closed / f"{number}").touch()
    closed.chmod(0o444)  # its names can be read, and no more
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    user = os.geteuid()
    os.seteuid(user or NOBODY)
    try:
        found = scan(".", most=10)
    finally:
        os.seteuid(user)
        closed.chmod(0o755)
    assert len(found) == 11
    assert found["closed/0"][0] == UNREAD
