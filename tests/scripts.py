"""Scripts as files: what a test does and what that has to lead to, as text that a run can write.

A file of scripts has blocks, each a title after `##` and a text. The test writes the text of a
block again from what really happens, and `same` compares both. `pytest --rewrite` writes the
files instead: read the difference before it is committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HEAD = "## "


@dataclass(frozen=True)
class Script:
    """One block of a file: its place, its title, and its text without the title."""

    file: Path
    title: str
    text: str

    def replaced(self, text: str) -> None:
        """Put another text into the file, in the place of this one."""
        old, whole = f"{HEAD}{self.title}\n{self.text}", self.file.read_text(encoding="utf-8")
        assert whole.count(old) == 1, f"{self.file}: '{self.title}' is there twice, or has changed"
        self.file.write_text(whole.replace(old, f"{HEAD}{self.title}\n{text}"), encoding="utf-8")


def scripts(folder: Path) -> list[Any]:
    """Return the scripts of all files of a folder, as parameters of a test.

    Raises:
        AssertionError: there is none, so a test would check nothing.
    """
    found = [one for file in sorted(folder.glob("*.txt")) for one in _blocks(file)]
    assert found, f"{folder} has no scripts"
    return [pytest.param(one, id=f"{one.file.stem}: {one.title}") for one in found]


def _blocks(file: Path) -> Iterator[Script]:
    blocks = f"\n{file.read_text(encoding='utf-8')}".split(f"\n{HEAD}")[1:]
    for block in blocks:
        title, _, text = block.partition("\n")
        yield Script(file, title, text.rstrip() + "\n")


def same(script: Script, lines: list[str], request: pytest.FixtureRequest) -> None:
    """Fail unless `lines` are the text of the script; with `--rewrite` put them into its file."""
    if lines != script.text.splitlines() and request.config.getoption("--rewrite"):
        script.replaced("\n".join([*lines, ""]))
        return
    assert lines == script.text.splitlines()
