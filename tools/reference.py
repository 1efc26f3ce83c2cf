"""Writes docs/reference.md, the public names with what their docstrings say.

    python -m tools.reference            write it
    python -m tools.reference --check    tell whether it is up to date

A test compares the file with the code, and asks that each name is used in an example.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe

import gcm
import runtime.coupling

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "reference.md"

_HEAD = """\
# Reference

Every public name, as its docstring describes it. This page is generated: `python -m
tools.reference` writes it again. The [how-to](how-to.md) shows most of them at work, and each is
used in at least one of the [examples](../examples).
"""

_SECTIONS = (
    ("Assembling components", ("gcm.factory", "gcm.components")),
    ("Interfaces and types", ("gcm.interfaces.types",)),
    ("Calls", ("gcm.invocation", "gcm.interfaces.future", "gcm.interfaces.submission")),
    ("Distribution and reduction", ("gcm.interfaces",)),
    ("Membranes and controllers", ("gcm.membranes",)),
    ("Errors", ("gcm.errors",)),
)
_ROLE = re.compile(r"^(Raises|Returns|Yields):$", re.MULTILINE)


def public_names() -> dict[str, str]:
    """Return the public names of `gcm`, each with the module that it comes from."""
    return {name: gcm._HOME_OF[name] for name in gcm.__all__}


def coupling_names() -> dict[str, str]:
    """Return the public names of `runtime.coupling`, for programs that are coupled."""
    return {
        name: getattr(runtime.coupling, name).__module__
        for name in runtime.coupling.__all__
        if hasattr(getattr(runtime.coupling, name), "__module__")
    }


def reference() -> str:
    """Return the text of the page."""
    left = public_names()
    parts = [_HEAD]
    for title, homes in _SECTIONS:
        names = sorted(
            (name for name, home in left.items() if home.startswith(homes)), key=str.lower
        )
        parts.append(f"## {title}\n")
        parts += [_entry("gcm", name, left.pop(name)) for name in names]
    assert not left, f"no section holds {', '.join(left)}"
    parts.append("## The machine: `runtime`\n")
    parts.append(_entry("runtime", "Machine", "runtime.engine.launch"))
    parts.append(
        "### `runtime.MPI`\n\nmpi4py's `MPI`, with the communicators of the whole machine; "
        "[docs/mpi.md](mpi.md) tells what is covered.\n"
    )
    parts.append("## Messages between codes: `runtime.coupling`\n")
    parts += [
        _entry("runtime.coupling", name, home)
        for name, home in sorted(coupling_names().items(), key=lambda item: item[0].lower())
    ]
    return "\n".join(parts)


def _entry(package: str, name: str, home: str) -> str:
    value = getattr(importlib.import_module(home), name)
    here = value.__module__ if callable(value) and hasattr(value, "__qualname__") else home
    found = _loaded(here)[name]
    while isinstance(found, griffe.Alias):
        here, _, last = found.target_path.rpartition(".")
        found = _loaded(here)[last]
    text = [f"### `{package}.{name}`\n"]
    if isinstance(found, griffe.Function):
        text.append(_code(_signature(found)))
    elif isinstance(found, griffe.Class):
        text.append(_code("\n".join([_class_line(found), *_fields(found)])))
    text.append(_said(found))
    if isinstance(found, griffe.Class):
        text += _members(found)
    return "\n".join(text)


@cache
def _loaded(module: str) -> griffe.Module:
    file = Path(inspect.getfile(importlib.import_module(module)))
    return griffe.visit(module, filepath=file, code=file.read_text("utf-8"))


def _class_line(found: griffe.Class) -> str:
    bases = ", ".join(str(base) for base in found.bases)
    return f"class {found.name}({bases})" if bases else f"class {found.name}"


def _fields(found: griffe.Class) -> Iterator[str]:
    """Yield the members of enumerations and the fields of records."""
    for name, member in found.members.items():
        if isinstance(member, griffe.Attribute) and not name.startswith("_"):
            made_later = member.value and "class-attribute" not in member.labels
            if "property" in member.labels or made_later:
                continue
            kind = f": {member.annotation}" if member.annotation else ""
            yield f"    {name}{kind}" + (f" = {member.value}" if member.value else "")


def _members(found: griffe.Class) -> Iterator[str]:
    """Yield a line for each public method and property: its signature, and what it is for."""
    lines = []
    for name, member in found.members.items():
        if name.startswith("_") or not member.docstring:
            continue
        if isinstance(member, griffe.Function):
            lines.append(f"- `{_signature(member, method=True)}`: {_first(member)}")
        elif "property" in member.labels:
            lines.append(f"- `{name}`: {_first(member)}")
    if lines:
        yield "\n".join(lines) + "\n"


def _signature(found: griffe.Function, *, method: bool = False) -> str:
    words: list[str] = []
    starred = False
    for parameter in found.parameters:
        if method and parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind
        starred = starred or kind is griffe.ParameterKind.var_positional
        if kind is griffe.ParameterKind.keyword_only and not starred:
            words.append("*")
            starred = True
        stars = {
            griffe.ParameterKind.var_positional: "*",
            griffe.ParameterKind.var_keyword: "**",
        }.get(kind, "")
        typed = f": {parameter.annotation}" if parameter.annotation else ""
        given = parameter.default is not None and not stars
        default = f"{' = ' if typed else '='}{parameter.default}" if given else ""
        words.append(f"{stars}{parameter.name}{typed}{default}")
    result = f" -> {found.returns}" if found.returns else ""
    line = f"{found.name}({', '.join(words)}){result}"
    if method or len(line) <= 96:
        return line
    inner = "".join(f"    {word},\n" for word in words)
    return f"{found.name}(\n{inner}){result}"


def _said(found: griffe.Object | griffe.Alias) -> str:
    """Return the docstring as Markdown."""
    if not found.docstring:
        return ""
    lines: list[str] = []
    example = False
    for line in found.docstring.value.splitlines():
        shown = line.startswith((">>>", "...")) or (example and line.strip())
        if shown and not example:
            lines.append("```pycon")
        elif example and not shown:
            lines.append("```")
        example = bool(shown)
        lines.append(re.sub(r" *# doctest: .*", "", line) if shown else line)
    lines += ["```"] if example else []
    return _ROLE.sub(r"**\1**\n", "\n".join(lines)) + "\n"


def _first(found: griffe.Object | griffe.Alias) -> str:
    text = found.docstring.value if found.docstring else ""
    return " ".join(text.partition("\n\n")[0].split())


def _code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def main() -> int:
    """Write the page, or check it; return the exit code."""
    made = reference()
    if "--check" not in sys.argv:
        FILE.write_text(made, encoding="utf-8")
        return 0
    if FILE.read_text("utf-8") == made:
        return 0
    print("docs/reference.md is out of date: python -m tools.reference", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
