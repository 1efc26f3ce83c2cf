"""Diagnostics are collected, ordered and shown."""

from __future__ import annotations

from gcm.documents import Diagnostic, Diagnostics, Location, Severity


def test_a_location_is_a_link_for_editors() -> None:
    assert str(Location("a.fractal", 12)) == "a.fractal:12"
    assert str(Location("a.fractal", 0)) == "a.fractal"


def test_a_diagnostic_says_everything_on_one_line() -> None:
    place = Location("a.fractal", 12)
    full = Diagnostic("bad-thing", "it is bad", place, "/a/b", "fix it", "a\ntraceback")
    assert str(full) == "a.fractal:12: error[bad-thing]: it is bad (component /a/b). fix it"
    plain = Diagnostic("bad-thing", "it is bad", place, severity=Severity.WARNING)
    assert str(plain) == "a.fractal:12: warning[bad-thing]: it is bad"


def test_a_diagnostic_becomes_plain_values() -> None:
    found = Diagnostic("bad-thing", "it is bad", Location("a.fractal", 12), "/a", "fix", "more")
    assert found.as_dict() == {
        "code": "bad-thing",
        "severity": "error",
        "message": "it is bad",
        "file": "a.fractal",
        "line": 12,
        "path": "/a",
        "hint": "fix",
        "detail": "more",
    }


def test_findings_keep_their_order_and_sort_by_place() -> None:
    found = Diagnostics()
    found.report("two", "", Location("b", 1))
    found.report("three", "", Location("b", 10))
    found.report("one", "", Location("a", 5), severity=Severity.WARNING)
    found.report("also-two", "", Location("b", 1))
    assert [one.code for one in found] == ["two", "three", "one", "also-two"]
    assert [one.code for one in found.by_location()] == ["one", "two", "also-two", "three"]
    assert [one.code for one in found.errors] == ["two", "three", "also-two"]
    assert len(found) == 4


def test_no_findings_are_false() -> None:
    assert not Diagnostics()
