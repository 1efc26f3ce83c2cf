"""Files on their way home: apart until they are whole, and going on where they were cut."""

from __future__ import annotations

from pathlib import Path

from runtime.results.incoming import IncomingFiles
from runtime.results.selection import ArrivingFile


def arrivals(*paths: str) -> list[ArrivingFile]:
    return [ArrivingFile(path, f"/home/{path}", ("file", 6, 1, 0o640, "")) for path in paths]


def test_a_file_that_was_cut_is_asked_for_from_where_it_was(tmp_path: Path) -> None:
    incoming = IncomingFiles(str(tmp_path))
    assert list(incoming.ask_for(arrivals("a", "b"))) == [("a", 0), ("b", 0)]
    incoming.begins(0, 6, 77, 0o640)
    incoming.goes_on(0, b"abcd")
    incoming.stop()
    assert incoming.take_whole() == {}
    assert list(incoming.ask_for(arrivals("a", "b"))) == [("a", 4), ("b", 0)]
    incoming.begins(0, 6, 77, 0o640)
    incoming.goes_on(0, b"ef")
    incoming.ends(0, "")
    (path, part), *more = incoming.take_whole().items()
    assert (path, more) == ("a", [])
    known = Path(part).stat()
    assert (Path(part).read_bytes(), known.st_mtime_ns, known.st_mode & 0o777) == (
        b"abcdef",
        77,
        0o640,
    )


def test_a_file_that_changed_since_it_was_cut_begins_anew(tmp_path: Path) -> None:
    incoming = IncomingFiles(str(tmp_path))
    incoming.ask_for(arrivals("a"))
    incoming.begins(0, 6, 77, 0o640)
    incoming.goes_on(0, b"abcd")
    incoming.stop()
    incoming.ask_for(arrivals("a"))
    incoming.begins(0, 6, 78, 0o640)
    incoming.goes_on(0, b"EF")
    incoming.ends(0, "")
    assert incoming.faults == {"a": "it has changed meanwhile"}
    assert incoming.take_whole() == {}
    assert list(incoming.ask_for(arrivals("a"))) == [("a", 0)]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_failed_leaves_nothing_and_does_not_hinder_the_others(tmp_path: Path) -> None:
    incoming = IncomingFiles(str(tmp_path))
    incoming.ask_for(arrivals("a", "gone", "b"))
    incoming.begins(0, 6, 1, 0o640)
    incoming.goes_on(0, b"abc")
    incoming.ends(0, "it changed while it was read")
    incoming.ends(1, "No such file or directory")
    incoming.begins(2, 0, 1, 0o640)
    incoming.ends(2, "")
    assert incoming.faults == {
        "a": "it changed while it was read",
        "gone": "No such file or directory",
    }
    assert list(incoming.take_whole()) == ["b"]
    assert len(list(tmp_path.iterdir())) == 1


def test_no_more_is_written_than_there_was_room_for(tmp_path: Path) -> None:
    incoming = IncomingFiles(str(tmp_path))
    incoming.ask_for(arrivals("grown", "endless", "b"))
    incoming.begins(0, 7, 1, 0o640)
    incoming.goes_on(0, b"abcdefg")
    incoming.ends(0, "")
    incoming.begins(1, 6, 1, 0o640)
    for _ in range(3):
        incoming.goes_on(1, b"abcd")
    incoming.ends(1, "")
    incoming.begins(2, 0, 1, 0o640)
    incoming.ends(2, "")
    assert incoming.faults == {
        "grown": "it has grown meanwhile",
        "endless": "more bytes came than it has",
    }
    assert list(incoming.take_whole()) == ["b"]
    assert (len(list(tmp_path.iterdir())), incoming.bytes) == (1, 4)
