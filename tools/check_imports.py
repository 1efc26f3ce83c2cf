"""Check that pure modules stay pure: the import rules that import-linter cannot express.

A pure module takes clocks, randomness and input from its caller. It imports

1. none of the modules through which a program meets the world (`WORLD`);
2. from its own package only other pure modules;
3. from other packages only their public face: `gcm.documents`, never `gcm.documents.reader`.

Imports for the type checker alone (`if TYPE_CHECKING:`) are free. Run it with
`python -m tools.check_imports`; it prints each breach and exits with 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

WORLD = {
    "_thread",
    "asyncio",
    "multiprocessing",
    "random",
    "select",
    "selectors",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "threading",
    "time",
}

DATA = {"signal.Signals"}
"""What is no more than names and numbers there."""

# Each pure package with its shells: the modules in it that may meet the world. A module is pure
# unless it is named here, and so is the face of a package without shells.
PURE_PACKAGES: dict[str, set[str]] = {
    "gcm.documents": set(),
    "gcm.drawing": set(),
    "gcm.interfaces": {
        "call_chain",
        "collective.broadcast",
        "collective.gathercast",
        "collective.multicast",
        "future",
        "going_on",
        "interface",
        "stacks",
        "stub",
        "submission",
    },
    "gcm.adl": {
        "assembling",
        "builder",
        "loading",
        "membranes.acting",
        "opening",
        "picture",
        "port",
        "writing",
    },
    "runtime.calls": set(),
    "runtime.topology": set(),
    "runtime.health": set(),
    "runtime.routing": set(),
    "runtime.matching": set(),
    "runtime.allocations": set(),
    "runtime.native_mpi": set(),
    "runtime.replicas": set(),
    "runtime.shim": set(),
    "runtime.collectives": set(),
    "runtime.deployment": set(),
    "runtime.doctor": {"asking", "examination", "jobs", "probe"},
    "runtime.lifecycle": set(),
    "runtime.machine.deaths": set(),
    "runtime.machine.rank_states": set(),
    "runtime.waits": set(),
    "runtime.wire.stream": set(),
    "runtime.checks": set(),
    "runtime.peers.advice": set(),
    "runtime.peers.booking": {"named"},
    "runtime.peers.contracts": set(),
    "runtime.peers.latency": set(),
    "runtime.peers.membership": set(),
    "runtime.peers.model": set(),
}

FOLDERS = ("runtime.machine", "runtime.peers", "runtime.wire")
"""Packages whose parts count as packages of their own."""

LEAN = {"runtime.collectives", "runtime.membership", "runtime.transport"}
"""Packages whose face is empty, because ranks load them at their start: their modules are named."""


@dataclass(frozen=True, slots=True)
class Breach:
    """One import that a rule forbids; str() is what a person reads."""

    path: Path
    line: int
    importer: str
    imported: str
    reason: str

    def __str__(self) -> str:
        """Return the place, the import and the rule."""
        return f"{self.path}:{self.line}: {self.importer} imports {self.imported}: {self.reason}"


def breaches(root: Path) -> list[Breach]:
    """Return every breach in the packages under `root`, in the order of files and lines."""
    modules = {name: path for top in ("gcm", "runtime") for name, path in _modules(root, top)}
    found = []
    for name, path in modules.items():
        if _is_pure(name):
            # Once, however many names one line imports.
            for line, imported in dict.fromkeys(_imports(name, path, frozenset(modules))):
                if reason := _objection(name, imported, frozenset(modules)):
                    found.append(Breach(path.relative_to(root), line, name, imported, reason))
    return found


def _modules(root: Path, top: str) -> Iterator[tuple[str, Path]]:
    for path in sorted((root / top).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _package_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[: 3 if ".".join(parts[:2]) in FOLDERS else 2])


def _is_pure(module: str) -> bool:
    package = _package_of(module)
    shells = PURE_PACKAGES.get(package)
    if shells is None:
        return False
    if module == package:
        return not shells
    inside = module.removeprefix(f"{package}.")
    return inside not in shells and inside.split(".")[0] not in shells


def _imports(module: str, path: Path, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in _executed(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            source = ".".join([*above, node.module or ""]).strip(".") if node.level else node.module
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                yield node.lineno, inner if inner in known | DATA else source or ""


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Walk `node` without the branches that only a type checker takes."""
    yield node
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _executed(other)
        else:
            yield from _executed(child)


def _objection(importer: str, imported: str, known: frozenset[str]) -> str:
    if imported in DATA:
        return ""
    if imported.split(".", maxsplit=1)[0] in WORLD or imported.startswith("concurrent.futures"):
        return "a pure module is handed time, randomness and input by its caller"
    if imported not in known:
        return ""
    package = _package_of(imported)
    if package == _package_of(importer):
        pure = imported == package or _is_pure(imported)
        return "" if pure else "a pure module builds on pure modules only"
    is_face = imported == package or package in LEAN
    return "" if is_face else f"import it from {package}, the public face"


def main() -> int:
    """Print the breaches of this checkout; return 1 if there are any."""
    found = breaches(Path(__file__).parents[1])
    for breach in found:
        print(breach)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
