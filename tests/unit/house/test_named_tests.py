"""The tests that pages name are there: each promise about security, each feature, has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

import pytest

from tools.on_grids import ROOT

_NAMED = re.compile(r"`((?:[\w]+/)*test_\w+\.py|tests/[\w/]+)`")


def named_tests() -> Iterator[str]:
    """Yield the tests of the page; one without a folder is in that of the one before."""
    folder = PurePosixPath()
    for name in _NAMED.findall((ROOT / "docs" / "security.md").read_text(encoding="utf-8")):
        path = PurePosixPath(name.removeprefix("tests/"))
        if len(path.parts) == 1:
            path = folder / path
        folder = path.parent
        yield str(path)


def linked_tests() -> list[str]:
    """Return the tests that the table of features leads to."""
    page = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
    return re.findall(r"\[test\]\(\.\./tests/([\w/.]+)\)", page)


@pytest.mark.parametrize("name", sorted({*named_tests(), *linked_tests()}))
def test_each_test_that_the_page_names_exists(name: str) -> None:
    assert (ROOT / "tests" / name).exists()


def test_the_pages_name_tests() -> None:
    assert len(set(named_tests())) > 20
    assert len(linked_tests()) >= 6
