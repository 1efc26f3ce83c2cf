"""The map of the packages in docs/architecture.md, beside the packages."""

from __future__ import annotations

import re

from tools.on_grids import ROOT

MAP = (ROOT / "docs" / "architecture.md").read_text()
NAMED = re.compile(r"`([\w/.]+)`")


def named() -> set[str]:
    """Return the packages and files that the map names, as paths: a row begins with where it is."""
    found = set()
    table = MAP.partition("## Where everything lives")[2].partition("\n## ")[0]
    for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE):
        names = NAMED.findall(row)
        folder = names[0].partition("/")[0]
        for name in names:
            path = name if name.startswith((f"{folder}/", "gcm/", "tests/")) else f"{folder}/{name}"
            found.add(path.rstrip("/"))
    return found


def existing(top: str) -> set[str]:
    return {f"{top}/{one.parent.name}" for one in (ROOT / top).glob("*/__init__.py")}


def test_each_package_is_on_the_map() -> None:
    assert (existing("gcm") | existing("runtime")) - named() - {"gcm/testing"} == set()


def test_what_is_on_the_map_exists() -> None:
    assert [one for one in sorted(named()) if not (ROOT / one).exists()] == []


def test_folders_of_unit_tests_have_names_of_packages() -> None:
    packages = {one.partition("/")[2] for one in existing("gcm") | existing("runtime")}
    folders = {one.parent.name for one in (ROOT / "tests" / "unit").glob("*/test_*.py")}
    assert folders - packages == {"benchmarks", "house"}
