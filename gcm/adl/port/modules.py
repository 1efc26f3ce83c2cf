"""Modules of skeletons: new ones, or completed with what they lack."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from gcm.adl.port.skeletons import Skeleton

_FUTURE = "from __future__ import annotations"
_NAMED = re.compile(r"^(?:class )?(\w+)(?:.*:| = .*\)) +# (\S+)$", re.MULTILINE)


def module_text(about: str, skeletons: Sequence[Skeleton]) -> str:
    """Return a new module with all skeletons."""
    parts = [f'"""{about}"""', _FUTURE, *_imports(skeletons, "")]
    return "\n\n".join(parts) + "".join(f"\n\n\n{one.text}" for one in skeletons) + "\n"


def names_kept(text: str) -> dict[str, str]:
    """Return the skeletons in a module, by the dotted name that each stands for.

    That name is in the comment behind the name of the class, or behind what a membrane is made of.

    Raises:
        SyntaxError: the module is not valid Python.
    """
    ast.parse(text)
    return {dotted: name for name, dotted in reversed(_NAMED.findall(text))}


def lacking(text: str, skeletons: Iterable[Skeleton]) -> list[Skeleton]:
    """Return the skeletons of classes and membranes that a module does not have."""
    body = ast.parse(text).body
    known = {one.name for one in body if isinstance(one, ast.ClassDef)}
    targets = (target for one in body if isinstance(one, ast.Assign) for target in one.targets)
    known |= {one.id for one in targets if isinstance(one, ast.Name)}
    return [one for one in skeletons if one.name not in known]


def completed(text: str, skeletons: Sequence[Skeleton]) -> str:
    """Append further skeletons to a module."""
    imports = "".join(f"\n\n{one}" for one in _imports(skeletons, text))
    return text.rstrip() + imports + "".join(f"\n\n\n{one.text}" for one in skeletons) + "\n"


def _imports(skeletons: Iterable[Skeleton], text: str) -> list[str]:
    """Return blocks of the imports that a module needs: the standard library, and the rest."""
    needed = {line for one in skeletons for line in one.imports} - set(text.splitlines())
    names: dict[str, set[str]] = {}
    blocks: tuple[list[str], list[str]] = ([], [])
    for line in sorted(needed):
        module, _, name = line.removeprefix("from ").partition(" import ")
        if name:
            names.setdefault(module, set()).add(name)
        else:
            blocks[0].append(line)
    for module, those in sorted(names.items()):
        listed = ", ".join(sorted(those, key=lambda name: (name[0].islower(), name)))
        standard = module in ("typing", "collections.abc")
        blocks[0 if standard else 1].append(f"from {module} import {listed}")
    return ["\n".join(block) for block in blocks if block]
