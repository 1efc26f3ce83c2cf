"""The entry point of the ADL: from a file to a checked plan."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gcm.adl.check import check
from gcm.adl.classes import ImportingLoader, LoadClass
from gcm.adl.definitions import (
    DefinitionDocument,
    FileLoader,
    Resolver,
    Source,
    implied_root,
    placeholder,
    same_definition,
)
from gcm.adl.drafts import Draft
from gcm.adl.outline import Outline, outline_of_node
from gcm.adl.plan import AssemblyPlan
from gcm.adl.planning import plan_of
from gcm.adl.structure import MissingClasses
from gcm.documents import Diagnostics, Location, Severity
from gcm.records import dataclass

PathLike = str | os.PathLike[str]
_NO_ARGUMENTS: Mapping[str, str] = {}
_Opened = tuple[Resolver, Source, DefinitionDocument, list[Path]]


def plan_document(
    path: PathLike,
    *,
    arguments: Mapping[str, str] = _NO_ARGUMENTS,
    roots: Sequence[PathLike] = (),
    diagnostics: Diagnostics,
    load_class: LoadClass | None = None,
    missing: MissingClasses | None = None,
) -> AssemblyPlan | None:
    """Read, resolve and check a document and all that it refers to.

    `arguments` are the values of its declared arguments; `roots` are folders in which further
    definitions and Python modules are searched. Every error is reported to `diagnostics`; then
    there is no plan. `load_class` replaces the import of Python classes. With `missing`, which
    collects them, classes need not exist, components need no content and arguments no value: such a
    plan can be shown and drawn, but not be made.

    >>> found = Diagnostics()
    >>> plan = plan_document("hello.fractal", diagnostics=found)  # doctest: +SKIP
    """
    found = Diagnostics()
    opened = _open(path, roots, found)
    draft = None
    if opened is not None:
        loader = load_class or ImportingLoader(opened[-1])
        arguments = arguments if missing is None else {**_left_open(opened), **arguments}
        draft, found = _check(
            opened, arguments, loader, found, is_made=missing is None, missing=missing
        )
    for one in found:
        diagnostics.add(one)
    return None if draft is None or found.errors else plan_of(draft)


@dataclass(frozen=True, slots=True)
class Structure:
    """What is known of a definition without its classes: its components, and its documents.

    `documents` has the name of the definition in each file.
    """

    root: Draft
    documents: Mapping[str, str]


def structure_of(
    path: PathLike,
    *,
    roots: Sequence[PathLike] = (),
    diagnostics: Diagnostics,
    missing: MissingClasses,
) -> Structure | None:
    """Check a document alone, without values for its arguments and without its classes.

    Returns None if there are errors, which are reported to `diagnostics`.
    """
    opened = _open(path, roots, diagnostics)
    if opened is None:
        return None
    found = Diagnostics()
    loader = ImportingLoader(opened[-1])
    draft, found = _check(opened, _left_open(opened), loader, found, is_made=False, missing=missing)
    for one in found:
        diagnostics.add(one)
    return None if draft is None or found.errors else Structure(draft, opened[0].names())


def outline_of(
    path: PathLike,
    *,
    arguments: Mapping[str, str] = _NO_ARGUMENTS,
    roots: Sequence[PathLike] = (),
    diagnostics: Diagnostics,
) -> Outline | None:
    """Return the outline of an assembly without importing, and so running, its modules.

    Only what the documents themselves say is checked: how they refer to one another, their
    arguments and their size. With an error there is no outline.
    """
    found = Diagnostics()
    opened = _open(path, roots, found)
    root = None if opened is None else opened[0].root(opened[1], arguments)
    for one in found:
        diagnostics.add(one)
    return None if root is None or found.errors else outline_of_node(root)


def check_files(
    paths: Iterable[PathLike],
    *,
    roots: Sequence[PathLike] = (),
    missing: MissingClasses | None = None,
) -> Diagnostics:
    """Check files, each on its own, and return everything that was found.

    A file that cannot be assembled alone, because it is abstract or needs values for its arguments,
    is no error: it is checked as far as possible, with a warning. With `missing`, which collects
    them, classes need not exist, and abstract parts are not reported.
    """
    diagnostics = Diagnostics()
    told = set()
    for path in paths:
        for found in _check_file(path, roots, missing):
            # A file that is checked and referred to may have a relative and an absolute path.
            file = os.path.abspath(found.location.file)
            same = replace(found, location=replace(found.location, file=file))
            if same not in told:
                told.add(same)
                diagnostics.add(found)
    return diagnostics


def _check_file(
    path: PathLike, roots: Sequence[PathLike], missing: MissingClasses | None
) -> Diagnostics:
    diagnostics = Diagnostics()
    opened = _open(path, roots, diagnostics)
    if opened is None:
        return diagnostics
    _resolver, _source, document, folders = opened
    kept = _left_open(opened)
    needed = list(kept)
    if needed and missing is None:
        _warn(document, f"it needs values for {', '.join(needed)}", diagnostics)
    loader = ImportingLoader(folders)
    draft, found = _check(opened, kept, loader, diagnostics, is_made=False, missing=missing)
    if draft is not None and draft.traits.is_abstract and missing is None and not needed:
        _warn(document, "it has neither content nor sub-components", found)
    return found


def _left_open(opened: _Opened) -> dict[str, str]:
    """Return the arguments that need a value, each with its placeholder."""
    resolver, _source, document, _folders = opened
    kept = {one.name: placeholder(one.name) for one in document.parameters if one.default is None}
    resolver.missing.update(kept.values())
    return kept


def _warn(document: DefinitionDocument, reason: str, diagnostics: Diagnostics) -> None:
    diagnostics.report(
        "not-checked-alone",
        f"definition '{document.name}' cannot be assembled alone: {reason}",
        document.node.location,
        hint="check a definition that uses it",
        severity=Severity.WARNING,
    )


_ABOUT_STRUCTURE = {
    "unbound-interface",
    "unknown-component",
    "unknown-interface",
    "unknown-virtual-node",
    "missing-component",
}
"""Errors that may be false when the name or content of a component is unknown."""


def _sure(found: Diagnostics, kept: Collection[str], draft: Draft | None) -> Diagnostics:
    """Return the errors that a definition has whatever the values of its arguments are.

    It was checked with `${name}` kept where a value is needed; findings about such a text are no
    errors of the document.
    """

    def is_open(text: str) -> bool:
        return any(one in text for one in kept)

    dropped = [one for one in found if is_open(one.message)]
    names = [] if draft is None else [one.path for one in draft.walk()]
    vague = any(one.code != "bad-value" for one in dropped) or any(map(is_open, names))
    sure = Diagnostics()
    for one in found:
        if one not in dropped and not (vague and one.code in _ABOUT_STRUCTURE):
            sure.add(one)
    return sure


def _open(path: PathLike, roots: Sequence[PathLike], diagnostics: Diagnostics) -> _Opened | None:
    """Read the first document, which determines the folders in which the rest is searched."""
    source = Source(os.fspath(path))
    loader = FileLoader()
    resolver = Resolver(loader, diagnostics)
    document = resolver.document(source)
    if document is None:
        return None
    implied = implied_root(Path(path), document.name)
    folders = list(dict.fromkeys([Path(path).parent, implied, *map(Path, roots)]))
    loader.add_roots(folders)
    stem = Path(path).stem
    if not same_definition(stem, document.name):
        diagnostics.report(
            "definition-name",
            f"the definition is named '{document.name}' but the file '{Path(path).name}'",
            Location(source.file, document.node.location.line),
            hint=f'write name="{stem}", or rename the file',
        )
    return resolver, source, document, folders


def _check(
    opened: _Opened,
    arguments: Mapping[str, str],
    load_class: LoadClass,
    diagnostics: Diagnostics,
    *,
    is_made: bool,
    missing: MissingClasses | None,
) -> tuple[Draft | None, Diagnostics]:
    """Check a tree; also return the findings that are certain where arguments have no value."""
    resolver, source, _document, folders = opened
    root = resolver.root(source, arguments)
    draft = None
    if root is not None:
        draft = check(root, load_class, diagnostics, folders, is_made=is_made, missing=missing)
    unset = resolver.missing
    return draft, _sure(diagnostics, unset, draft) if unset else diagnostics
