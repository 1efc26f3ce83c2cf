"""Writes docs/reference.md, the public names with what their docstrings say in short.

    python -m tools.reference                 write it
    python -m tools.reference --check         tell whether it is up to date
    python -m tools.reference --whole FILE    write it with whole docstrings, as the site has it

A test compares the file with the code, and asks that each name is used in an example.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import griffe

import gcm.errors

ROOT = Path(__file__).parents[1]
FILE = ROOT / "docs" / "reference.md"

_HEAD = """\
# Reference

The public names, each with the beginning of its docstring: `python -m tools.reference` writes this
page. `help(name)` prints all of one; the site that `make docs` builds has all, with types, errors
and examples. [How to](how-to.md) shows names at work.
"""

_SECTIONS = (
    ("Assembling components", ("gcm.factory", "gcm.components")),
    ("Interfaces and types", ("gcm.interfaces.types",)),
    ("Calls", ("gcm.invocation", "gcm.interfaces.future", "gcm.interfaces.submission")),
    ("Distribution and reduction", ("gcm.interfaces",)),
    ("Membranes and controllers", ("gcm.membranes",)),
    ("Errors", ("gcm.errors",)),
)
_PACKAGES = {
    "gcm": "",  # has the sections above
    "gcm.adl": "Documents",
    "gcm.documents": "What was found in documents",
    "gcm.drawing": "Pictures",
    "gcm.testing": "Test kits",
    "runtime": "The machine",
    "runtime.coupling": "Messages between codes",
}
"""The packages whose names are public, and the title of their section."""

_FINDINGS = ("Diagnostic", "Diagnostics", "Location", "Severity")
"""What users meet of `gcm.documents`; the rest reads documents for the other packages."""

_WRITTEN = {
    "runtime.MPI": "mpi4py's `MPI`, with the communicators of the whole machine; "
    "[docs/mpi.md](mpi.md) tells what is covered.",
    "runtime.coupling": "The package of [messages between codes](#messages-between-codes-"
    "runtimecoupling).",
}
"""Names that stand for modules."""

_INSIDE = {
    "Component": "attach bindable bindables client_changed content_class is_elsewhere other_face "
    "rewire serves_at_once target_of wire_servers",
    "Composite": "drop_child put_child rename_child",
    "AttributeController": "follow",
    "FactoryController": "is_to_make new_part",
    "LifeCycleController": "arrive bring_up close drain has_ended holding_port leave "
    "not_started_again open refuse_if_hopeless settle wait_until_open",
    "RequestQueueController": "allow enqueue fail is_own_thread look_after port refuse resume "
    "serve_now withdraw",
    "InterfaceType": "inner is_client is_collection is_gathercast is_internal is_mandatory "
    "is_multicast is_server with_name",
    "Role": "is_client is_internal is_server",
    "InterceptorController": "acting_on",
    "MembraneController": "leads_inside",
    "MissingClasses": "noted_by stand_in",
    "Outline": "every virtual_nodes",
    "Box": "outer_ports title",
    "ScenePort": "caption is_control is_internal on_left",
    "Future": "add_done_callback comes_of done exception result set_exception set_result "
    "set_running_or_notify_cancel",
}
"""Members that the package itself calls, or that explain themselves."""

_FOR_TOOLS = {
    "gcm.adl": "AssemblyPlan ComponentPlan has_run MissingClasses Ported port_files result_of "
    "Outline outline_of outline_of_plan run_operation scene_of_plan",
    "gcm.drawing": "Box check_ending OutputError SceneError SceneLink ScenePort write_picture",
}
"""What commands are made of; the page says in a sentence what each is."""

_ROLE = re.compile(r"^(Raises|Returns|Yields):$", re.MULTILINE)


def public_names() -> dict[str, dict[str, str]]:
    """Return the public names of each package, each with the module that it comes from."""
    found = {package: dict(_homes(package)) for package in _PACKAGES}
    found["gcm.errors"] = {
        name: "gcm.errors"
        for name, value in vars(gcm.errors).items()
        if inspect.isclass(value) and issubclass(value, gcm.errors.GcmError) and name != "GcmError"
    }
    return found


def _homes(package: str) -> Iterator[tuple[str, str]]:
    """Yield the public names of a package, each with the module that it is imported from."""
    module = importlib.import_module(package)
    homes = {
        alias.asname or alias.name: one.module or package
        for one in ast.walk(ast.parse(_names_of(module)))
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }
    for name in module.__all__:
        if package != "gcm.documents" or name in _FINDINGS:
            yield name, homes.get(name, package)


def _names_of(module: ModuleType) -> str:
    """Return the source in which a package imports its public names: its stub, if there is one."""
    stub = Path(inspect.getfile(module)).with_suffix(".pyi")
    return stub.read_text("utf-8") if stub.exists() else inspect.getsource(module)


def reference(*, whole: bool = False) -> str:
    """Return the text of the page, in short or with whole docstrings."""
    names = public_names()
    left = names["gcm"]
    parts = [_HEAD]
    for title, homes in _SECTIONS:
        inside = {name: home for name, home in left.items() if home.startswith(homes)}
        parts += _section(title, "gcm", inside, whole=whole)
        left = {name: home for name, home in left.items() if name not in inside}
    assert not left, f"no section holds {', '.join(left)}"
    errors = names["gcm.errors"].items()
    parts += [_entry("gcm.errors", name, home, whole=whole) for name, home in errors]
    for package, title in _PACKAGES.items():
        if title:
            parts += _section(f"{title}: `{package}`", package, names[package], whole=whole)
    return "\n".join(parts)


def _section(title: str, package: str, names: Mapping[str, str], *, whole: bool) -> Iterator[str]:
    yield f"## {title}\n"
    for name in sorted(names, key=str.lower):
        known = _WRITTEN.get(f"{package}.{name}")
        yield (
            _entry(package, name, names[name], whole=whole)
            if known is None
            else f"### `{package}.{name}`\n\n{known}\n"
        )


def _entry(package: str, name: str, home: str, *, whole: bool) -> str:
    value = getattr(importlib.import_module(home), name)
    here = value.__module__ if callable(value) and hasattr(value, "__qualname__") else home
    found = _loaded(here)[name]
    while isinstance(found, griffe.Alias):
        here, _, last = found.target_path.rpartition(".")
        found = _loaded(here)[last]
    text = [f"### `{package}.{name}`\n"]
    if not whole and name in _FOR_TOOLS.get(package, "").split():
        return "\n".join([*text, f"{_first(found)}\n"])
    if isinstance(found, griffe.Function):
        signature = _signature(found, typed=whole)
        text.append(_code(signature) if "\n" in signature or whole else f"`{signature}`\n")
    elif isinstance(found, griffe.Class) and (fields := list(_fields(found, whole=whole))):
        text.append(_code("\n".join([_class_line(found), *fields])))
    text.append(_whole(found) if whole else f"{_first(found)}\n")
    if isinstance(found, griffe.Class):
        text += _members(found, value, typed=whole)
    return "\n".join(text)


@cache
def _loaded(module: str) -> griffe.Module:
    file = Path(inspect.getfile(importlib.import_module(module)))
    return griffe.visit(module, filepath=file, code=file.read_text("utf-8"))


def _class_line(found: griffe.Class) -> str:
    bases = ", ".join(str(base) for base in found.bases)
    return f"class {found.name}({bases})" if bases else f"class {found.name}"


def _fields(found: griffe.Class, *, whole: bool) -> Iterator[str]:
    """Yield the members of enumerations and fields; the only one of a controller is its name."""
    if not whole and found.name.endswith("Controller"):
        return
    for name, member in found.members.items():
        if isinstance(member, griffe.Attribute) and not name.startswith("_"):
            made_later = member.value and "class-attribute" not in member.labels
            if "property" in member.labels or made_later or name in _inside(found):
                continue
            kind = f": {member.annotation}" if member.annotation else ""
            yield f"    {name}{kind}" + (f" = {member.value}" if member.value else "")


def _inside(found: griffe.Class) -> list[str]:
    return _INSIDE.get(found.name, "").split()


def _members(found: griffe.Class, value: type, *, typed: bool) -> Iterator[str]:
    """Yield a line for each method and property of its own: its signature, and what it is for."""
    lines = []
    for name, member in found.members.items():
        if name.startswith("_") or not member.docstring or name in _inside(found):
            continue
        if any(name in vars(base) for base in value.__mro__[1:]):
            continue
        said = _first(member) if typed else _first(member).removeprefix("Return ")
        said = said[:1].upper() + said[1:]
        if isinstance(member, griffe.Function):
            lines.append(f"- `{_signature(member, method=True, typed=typed)}`: {said}")
        elif "property" in member.labels:
            lines.append(f"- `{name}`: {said}")
    if lines:
        yield "\n".join(lines) + "\n"


def _signature(found: griffe.Function, *, method: bool = False, typed: bool = True) -> str:
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
        kind_of = f": {parameter.annotation}" if parameter.annotation and typed else ""
        given = parameter.default is not None and not stars
        default = f"{' = ' if kind_of else '='}{parameter.default}" if given else ""
        words.append(f"{stars}{parameter.name}{kind_of}{default}")
    result = f" -> {found.returns}" if found.returns and typed else ""
    line = f"{found.name}({', '.join(words)}){result}"
    if method or len(line) <= 96:
        return line
    inner = "".join(f"    {word},\n" for word in words)
    return f"{found.name}(\n{inner}){result}"


def _whole(found: griffe.Object | griffe.Alias) -> str:
    """Return the docstring as Markdown, with its examples."""
    lines: list[str] = []
    example = False
    for line in found.docstring.value.splitlines() if found.docstring else ():
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
    if "--whole" in sys.argv:
        Path(sys.argv[-1]).write_text(reference(whole=True), encoding="utf-8")
        return 0
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
