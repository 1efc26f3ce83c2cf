"""What comes home of a work folder, and where to."""

from __future__ import annotations

import pytest

from runtime.deployment.patterns import picking
from runtime.deployment.planning.steps import REST, FileMove
from runtime.launchers.contents import FILE, FOLDER, LINK, OTHER
from runtime.results.selection import ArrivingFile, select

Entry = tuple[str, int, int, int, str]


def file(size: int = 1, mtime: int = 1) -> Entry:
    return FILE, size, mtime, 0o644, ""


def link(target: str, size: int = 1) -> Entry:
    return LINK, size, 1, 0o777, target


HOME = "/home"
EVERYTHING = [FileMove(".", HOME)]
NO_RULES: list[tuple[bool, str]] = []


def nothing(_: str) -> bool:
    """Nothing is at home."""
    return False


@pytest.mark.parametrize(
    ("source", "meant", "not_meant"),
    [
        ("a.txt", ["a.txt"], ["b/a.txt", "a.txt2"]),
        ("./out/", ["out/a", "out/b/c"], ["outer", "x/out/a"]),
        ("out/*.npy", ["out/a.npy", "out/.npy"], ["a.npy", "out/b/a.npy"]),
        ("**/*.npy", ["a.npy", "x/y/a.npy"], ["a.npz"]),
        ("run-?/log[0-9]", ["run-1/log7"], ["run-10/log7", "run-1/logs"]),
        ("with blank ", ["with blank ", "with blank /a"], ["with blank"]),
        ("!odd", ["!odd"], ["odd"]),
        ("#odd", ["#odd"], []),
    ],
)
def test_a_source_means_a_path_a_folder_or_a_pattern_from_the_top(
    source: str, meant: list[str], not_meant: list[str]
) -> None:
    pick = picking(source)
    assert pick is not None
    assert [path for path in (*meant, *not_meant) if pick(path)] == meant


@pytest.mark.parametrize("source", ["out/[ab", "a\\"])
def test_what_is_no_pattern_is_told(source: str) -> None:
    assert picking(source) is None


def test_only_what_is_new_or_changed_comes_home() -> None:
    before = {"program.py": file(), "data": file(5), "log": file(1, 1)}
    found = {**before, "log": file(1, 2), "new": file(), "out": (FOLDER, 0, 0, 0, "")}
    chosen = select(found, (before, NO_RULES), EVERYTHING, nothing)
    assert chosen.files == (
        ArrivingFile("log", "/home/log", file(1, 2)),
        ArrivingFile("new", "/home/new", file()),
    )
    assert [one.target for one in chosen.folders] == ["/home/out"]
    assert chosen.others == 0


def test_what_nobody_asked_for_is_counted() -> None:
    found = {"a.npy": file(), "b.txt": file(), "c.txt": file(), "d": (FOLDER, 0, 0, 0, "")}
    chosen = select(found, ({}, NO_RULES), [FileMove("*.npy", "/r")], nothing)
    assert [one.target for one in chosen.files] == ["/r/a.npy"]
    assert chosen.others == 2


def test_the_rest_is_what_no_move_before_it_brings() -> None:
    found = {"ck": (FOLDER, 0, 0, 0, ""), "ck/a": file(), "b": file(), "pyc": file()}
    moves = [FileMove("ck/*", "/r", 2.0), FileMove("b", "/r"), FileMove(REST, HOME)]
    rules = [(True, "^pyc$")]
    chosen = select(found, ({}, rules), moves, nothing)
    told = [(one.target, one.is_named) for one in chosen.files]
    assert told == [("/r/ck/a", False), ("/r/b", True)]
    assert (chosen.folders, chosen.others) == ((), 0)
    chosen = select(found, ({}, rules), moves[::2], nothing)
    assert [one.target for one in chosen.files] == ["/r/ck/a", "/home/b"]


def test_ignored_files_come_only_when_they_are_named() -> None:
    rules = [(True, r"^(?:.+/)?__pycache__/"), (True, r"^scratch/"), (False, r"^scratch/keep$")]
    found = {
        "__pycache__": (FOLDER, 0, 0, 0, ""),
        "__pycache__/a.pyc": file(),
        "scratch": (FOLDER, 0, 0, 0, ""),
        "scratch/a": file(),
        "result": file(),
    }
    chosen = select(found, ({}, rules), EVERYTHING, nothing)
    assert [one.path for one in chosen.files] == ["result"]
    assert chosen.others == 0
    named = select(found, ({}, rules), [*EVERYTHING, FileMove("scratch", "/home")], nothing)
    assert [one.path for one in named.files] == ["result", "scratch/a"]


def test_a_link_stays_one_where_its_target_is_and_becomes_that_file_elsewhere() -> None:
    found = {
        "out/a": file(7),
        "out/latest": link("a", 7),
        "staged": link("data", 3),
        "data": file(3),
    }
    before = {"data": file(3)}
    chosen = select(found, (before, NO_RULES), EVERYTHING, "/home/data".__eq__)
    assert [one.path for one in chosen.links] == ["out/latest", "staged"]
    alone = select(found, (before, NO_RULES), [FileMove("out/latest", "/home")], nothing)
    assert [one.path for one in alone.files] == ["out/latest"]
    assert alone.links == ()


def test_what_cannot_be_sent_is_told_with_the_reason_if_it_was_asked_for() -> None:
    found = {
        "fifo": (OTHER, 0, 0, 0, "a FIFO"),
        "to-folder": link("elsewhere", -1),
        "b": (OTHER, 0, 0, 0, "a socket"),
    }
    moves = [FileMove("fifo", "/home"), FileMove("to-*", "/home")]
    assert select(found, ({}, NO_RULES), moves, nothing).skipped == (
        "fifo: a FIFO",
        "to-folder: a link to the folder elsewhere, which does not come home",
    )


def test_one_file_can_come_to_several_places_but_once_to_each() -> None:
    moves = [FileMove("a", "/one"), FileMove("*", "/one"), FileMove(".", "/two")]
    chosen = select({"a": file()}, ({}, NO_RULES), moves, nothing)
    assert [one.target for one in chosen.files] == ["/one/a", "/two/a"]


def test_a_link_stays_one_only_in_the_place_to_which_its_target_comes() -> None:
    found = {"data": file(3), "new": file(), "a": link("data", 3), "b": link("new")}
    moves = [FileMove("[ab]", "/home/r"), FileMove("new", "/home")]
    chosen = select(found, ({"data": file(3)}, NO_RULES), moves, "/home/data".__eq__)
    assert [one.target for one in chosen.files] == ["/home/r/a", "/home/r/b", "/home/new"]
    assert chosen.links == ()
    chosen = select(found, ({"data": file(3)}, NO_RULES), [FileMove(".", "/home/r")], nothing)
    assert [one.path for one in chosen.links] == ["b"]


def test_what_is_written_into_a_link_is_not_left_to_the_far_end() -> None:
    found = {
        "new": file(),
        "out/deep/a": link("../../new"),
        "out/b": link("deep/../../x/../new"),
        "away": link("../new/../home/new"),
    }
    chosen = select(found, ({}, NO_RULES), EVERYTHING, nothing)
    assert {one.path: one.leads_to for one in chosen.links} == {
        "out/deep/a": "../../new",
        "out/b": "../new",
    }


def test_what_the_far_end_says_was_there_before_makes_no_link() -> None:
    found = {".git": (FOLDER, 0, 0, 0, ""), "latest": link(".git", -1), "a": link("data", 3)}
    before = {".git": (FOLDER, 0, 0, 0, ""), "data": file(3)}
    chosen = select({**found, "data": file(3)}, (before, NO_RULES), EVERYTHING, nothing)
    assert chosen.links == ()
    assert [one.path for one in chosen.files] == ["a"]
    assert chosen.skipped == ("latest: a link to the folder .git, which does not come home",)


def test_very_deep_paths_are_looked_through_in_no_time() -> None:
    paths = ["/".join("a" * depth) for depth in range(1, 2000)]
    found: dict[str, Entry] = dict.fromkeys(paths, (FOLDER, 0, 0, 0, ""))
    moves = [FileMove("b", HOME), FileMove(REST, HOME)]
    chosen = select(found, ({}, [(True, "^b$")]), moves, nothing)
    assert len(chosen.folders) == len(paths)
