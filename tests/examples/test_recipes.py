"""Each recipe for developers is carried out on a copy of the packages, as its page tells it.

What a recipe shows at its end has to fail before its changes are made and to come true after them,
and the changes may touch so many files and no more. A recipe that shows how something is done that
there is already is undone first.
"""

from __future__ import annotations

import filecmp
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import FILE_NAME, PROGRAMS, Block, blocks, commands, matches
from tools.on_grids import ROOT

PAGE = "docs/recipes.md"
FILES = {
    "Add a collective": 2,
    "Add a point-to-point call": 2,
    "Add a plan to a collective": 3,
    "Add a message of control": 3,
    "Add a batch system": 3,
    "Add a setting for ranks": 3,
    "Add a failure detector": 2,
    "Add a command": 2,
}
"""How many files of the packages each recipe changes."""

THERE_ALREADY = ("Add a collective", "Add a point-to-point call")
PACKAGES = ("gcm", "runtime")


class Copy:
    """The packages in a folder of their own, and beside them what a recipe runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for package in PACKAGES:
            # with what is compiled, which bears the time of its source
            shutil.copytree(ROOT / package, folder / package)

    def patch(self, diff: str, *, undo: bool = False) -> None:
        """Make the changes of a diff of one file; what it replaces has to be there once."""
        first, *hunks = re.split(r"^@@\n", diff, flags=re.MULTILINE)
        path = self.folder / first.split()[1]
        text = path.read_text("utf-8")
        for hunk in hunks:
            lines = [(line[:1], line[1:]) for line in hunk.splitlines()]
            before, after = (
                "".join(f"{line}\n" for sign, line in lines if sign != other) for other in "+-"
            )
            if undo:
                before, after = after, before
            assert text.count(before) == 1, f"{path} has not, or not once:\n{before}"
            text = text.replace(before, after)
        path.write_text(text, "utf-8")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, "utf-8")

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder), "GCM_FOLDER": f"{self.folder}/.gcm"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    def fault(self, block: Block) -> str:
        """Run what a block shows; return what is wrong with it."""
        if block.language == "python":
            self.write("block.py", block.text)
            return self.run(sys.executable, "block.py")
        for command, shown in commands(block.text):
            line, _, into = command.partition(" > ")
            program, *words = line.split()
            printed = self.run(*PROGRAMS[program], *words)
            if into:
                self.write(into, printed)
            elif not matches(shown, printed):
                return f"'{command}' printed\n{printed}"
        return ""

    def changed(self) -> list[str]:
        """Return the files of the packages that are new or different."""
        return [
            str(name)
            for package in PACKAGES
            for path in sorted((self.folder / package).rglob("*"))
            if path.is_file() and "__pycache__" not in path.parts
            if not (ROOT / (name := path.relative_to(self.folder))).exists()
            or not filecmp.cmp(path, ROOT / name, shallow=False)
        ]


@pytest.mark.mpi
@pytest.mark.parametrize("recipe", FILES)
def test_a_recipe_changes_what_it_says_and_no_other_file(recipe: str, tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    shown = list(blocks(PAGE, recipe))
    diffs = [block for block in shown if block.language == "diff"]
    named = [(found[1], block) for block in shown if (found := FILE_NAME.match(block.text))]
    ends = [one for one in shown if one not in diffs and one not in [block for _, block in named]]
    assert diffs
    assert ends
    if recipe in THERE_ALREADY:
        for diff in reversed(diffs):
            copy.patch(diff.text, undo=True)
    for name, block in named:
        if not name.startswith(PACKAGES):
            copy.write(name, block.text)
    assert any(copy.fault(block) for block in ends)

    if recipe in THERE_ALREADY:
        assert len(copy.changed()) == FILES[recipe]
    for diff in diffs:
        copy.patch(diff.text)
    for name, block in named:
        if name.startswith(PACKAGES):
            copy.write(name, block.text)
    assert [fault for block in ends if (fault := copy.fault(block))] == []

    assert len(copy.changed()) == (0 if recipe in THERE_ALREADY else FILES[recipe]), copy.changed()
