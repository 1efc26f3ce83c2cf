"""How large the project is at two commits: what a stranger has to learn, each part, each folder.

python -m tools.folders 87148719 HEAD

A line of code has something on it besides comments, docstrings and imports. A docstring is every
statement that is only a string. Functions include methods and functions within functions. The
contracts are those between the processes of a run; the stations are the functions through which a
descriptor becomes a rank, as docs/architecture.md lists them and a test follows them.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import PurePosixPath
from typing import TypeGuard

PARTS = {
    "gcm": "`gcm`, `runtime`",
    "runtime": "`gcm`, `runtime`",
    "tests": "`tests`",
    "benchmarks": "`benchmarks`, `tools`",
    "tools": "`benchmarks`, `tools`",
}
"""The part of the project to which each folder at the root belongs."""

SHORT = 60
"""A file with fewer lines is counted as a short one."""

LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical", "log"}

CONTRACTS = "runtime/machine/contracts.py"
WALK = "docs/architecture.md"
STATION = re.compile(r"^\d+\. `[\w.]+:[\w.]+`", re.MULTILINE)
"""A numbered step of the walk from a descriptor to a rank: `module:function`."""

BESIDE_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
"""The tokens that make no line a line of code."""


@dataclass(frozen=True, slots=True)
class Size:
    """The figures of some Python files, in the order of the table's columns."""

    files: int = 0
    short: int = 0
    lines: int = 0
    code: int = 0
    docstrings: int = 0
    imports: int = 0
    functions: int = 0
    log_calls: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(*map(sum, zip(astuple(self), astuple(other), strict=True)))


COLUMNS = (
    "Files",
    f"Under {SHORT} lines",
    "Lines",
    "Code",
    "Docstrings",
    "Imports",
    "Functions",
    "Log calls",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tools.folders", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="another one; HEAD by default")
    options = parser.parse_args(argv)
    before, after = texts(options.before), texts(options.after)
    print(orientation(before, after), end="\n\n")
    print(table("Part", by_part(sizes(before)), by_part(sizes(after))), end="\n\n")
    print(table("Folder", by_folder(sizes(before)), by_folder(sizes(after))))


def texts(commit: str) -> dict[str, str]:
    """Return the text of each Python file and of the walk at a commit, by its path.

    Raises `subprocess.CalledProcessError` where git knows no such commit.
    """
    command = ["git", "archive", "--format=tar", commit, *PARTS, WALK]
    archive = subprocess.run(command, check=True, capture_output=True).stdout
    found = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        for member in members:
            stream = members.extractfile(member) if member.name.endswith((".py", WALK)) else None
            if stream is not None:
                found[member.name] = stream.read().decode()
    return found


def sizes(found: dict[str, str]) -> dict[str, Size]:
    """Return the size of each Python file among texts by their path."""
    return {path: size(text) for path, text in found.items() if path.endswith(".py")}


def orientation(before: dict[str, str], after: dict[str, str]) -> str:
    """Return a Markdown table of the figures that say how hard it is to find one's way."""
    rows = ["| | before | after |", "|---|---|---|"]
    old, new = _figures(before), _figures(after)
    rows += [f"| {name} | {old[name] or '-'} | {new[name] or '-'} |" for name in new]
    return "\n".join(rows)


def _figures(found: dict[str, str]) -> dict[str, int]:
    parts = by_part(sizes(found))
    house = parts[PARTS["gcm"]]
    return {
        "code lines in `gcm` and `runtime`": house.code,
        "all their lines": house.lines,
        "their files": house.files,
        "lines of `tests`": parts[PARTS["tests"]].lines,
        "lines of `benchmarks` and `tools`": parts[PARTS["tools"]].lines,
        "contracts between processes": found.get(CONTRACTS, "").count("(Protocol):"),
        "stations from descriptor to rank": len(STATION.findall(found.get(WALK, ""))),
    }


def size(text: str) -> Size:
    """Return the figures of one file, given its text."""
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = {line for node in nodes if _is_docstring(node) for line in _lines(node)}
    imports = {line for node in nodes if _is_import(node) for line in _lines(node)}
    code = set(_token_lines(text)) - docstrings - imports
    lines = text.count("\n")
    return Size(
        files=1,
        short=int(lines < SHORT),
        lines=lines,
        code=len(code),
        docstrings=len(docstrings),
        imports=len(imports),
        functions=sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes),
        log_calls=sum(_is_log_call(node) for node in nodes),
    )


def _is_docstring(node: ast.AST) -> TypeGuard[ast.Expr]:
    match node:
        case ast.Expr(ast.Constant(str())):
            return True
    return False


def _is_import(node: ast.AST) -> TypeGuard[ast.Import | ast.ImportFrom]:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _token_lines(text: str) -> Iterator[int]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BESIDE_CODE:
            yield from range(token.start[0], token.end[0] + 1)


def _is_log_call(node: ast.AST) -> bool:
    match node:
        case ast.Call(ast.Attribute(ast.Name(name) | ast.Attribute(attr=name), method)):
            return method in LOG_METHODS and name.strip("_").lower() in {"log", "logger", "logging"}
    return False


def by_part(found: dict[str, Size]) -> dict[str, Size]:
    """Return the sizes of the parts, the packages first."""
    totals = {name: Size() for name in PARTS.values()}
    for path, figures in found.items():
        totals[PARTS[path.partition("/")[0]]] += figures
    return totals


def by_folder(found: dict[str, Size]) -> dict[str, Size]:
    """Return the sizes of the folders: `gcm/adl` with its subfolders, `gcm` without them."""
    totals: defaultdict[str, Size] = defaultdict(Size)
    for path, figures in found.items():
        parts = PurePosixPath(path).parts
        totals["/".join(parts[: min(2, len(parts) - 1)])] += figures
    return {f"`{name}`": totals[name] for name in sorted(totals)}


def table(head: str, before: dict[str, Size], after: dict[str, Size]) -> str:
    """Return a Markdown table with a row for each name, each cell `before → after`."""
    rows = [f"| {head} | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name in before | after:
        pair = (astuple(found.get(name, Size())) for found in (before, after))
        cells = (f"{old or '-'} → {new or '-'}" for old, new in zip(*pair, strict=True))
        rows.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    main()
