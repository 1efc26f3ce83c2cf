"""Find messages of the packages that more than one file of the tests repeats.

    python -m tools.pinned_messages            each message with the files, and how many there are

A reworded message should cost one test: the one of whoever writes it. Others compare an exit code,
the class of an error, and which rank, component or line it names.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

_LEAST_WORDS, _LEAST_LETTERS = 4, 24
"""A shorter piece may be a name, or words that any sentence has."""

_CODE = ("from ", "import ", "Traceback ")
"""How pieces begin that are Python and not messages of ours."""


def texts(source: str) -> Iterator[str]:
    """Yield the texts of a source, with holes for what is formatted in, without docstrings."""
    tree = ast.parse(source)
    inside = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node) if part is not node
    }  # fmt: skip
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if id(node) in told or id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = (one.value if isinstance(one, ast.Constant) else "\0" for one in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def messages(root: Path) -> set[str]:
    """Return the pieces of messages of the packages that are long enough to be known again."""
    return {
        piece.strip(" .,:;'\"()\n")
        for package in ("gcm", "runtime")
        for path in (root / package).rglob("*.py")
        for text in texts(path.read_text("utf-8"))
        for piece in re.split(r"\0|\n|\\n|%[-.\w]*[sdrg]\b", text)
        if len(piece.split()) >= _LEAST_WORDS
        and len(piece.strip()) >= _LEAST_LETTERS
        and not piece.startswith(_CODE)
    }


def pinned(root: Path) -> dict[str, list[str]]:
    """Return the messages that several files of the tests repeat, with these files."""
    known = sorted(messages(root), key=len, reverse=True)
    found: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("*.py")):
        said = "\n".join(texts(path.read_text("utf-8"))).replace("\\", "")
        for message in known:
            if message in said:
                found.setdefault(message, []).append(str(path.relative_to(root)))
                said = said.replace(message, "\0")  # a shorter one may be a part of it
    return {message: files for message, files in found.items() if len(files) > 1}


def main() -> int:
    """Print the messages, those of most files first."""
    found = pinned(ROOT)
    for message, files in sorted(found.items(), key=lambda one: -len(one[1])):
        print(message, *files, sep="\n    ")
    print(f"{len(found)} messages are repeated in {sum(map(len, found.values()))} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
