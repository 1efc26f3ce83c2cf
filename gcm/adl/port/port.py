"""From documents with missing classes to skeletons, and documents that name these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path, PurePath

from gcm.adl.definitions.model import AttributesNode
from gcm.adl.drafts import Draft
from gcm.adl.loading import structure_of
from gcm.adl.port.counterparts import counterpart
from gcm.adl.port.documents import renamed, with_controllers
from gcm.adl.port.modules import completed, lacking, module_text, names_kept
from gcm.adl.port.skeletons import (
    Names,
    Skeleton,
    content_skeleton,
    controller_skeleton,
    interceptor_skeleton,
    membrane_skeleton,
    signature_skeleton,
)
from gcm.adl.port.wanted import Wanted, can_be_attribute, class_names
from gcm.adl.structure import MissingClasses, stands_in_for
from gcm.documents import Diagnostics, Location, decode_document
from gcm.records import dataclass

_INTERFACES = "What can be called: the interfaces of the components."
_COMPONENTS = "What does the work: the contents of the components."
_MEMBRANES = "What stands around the contents: controllers, interceptors and membranes."


@dataclass(frozen=True, slots=True)
class Ported:
    """A file of the result: its text, and what is new in it; nothing where it is unchanged."""

    file: Path
    text: str
    news: str


def port_files(
    files: Iterable[str | PathLike[str]],
    *,
    package: str,
    output: Path,
    roots: Sequence[str | PathLike[str]] = (),
    diagnostics: Diagnostics,
) -> list[Ported]:
    """Return the files of a Python package with a skeleton for each class that is missing.

    Beside it come the documents, with the names of the new classes. Existing files in `output` are
    kept: a module gets the classes that it lacks, a document stays as it is. Nothing is written.
    Every error is reported to `diagnostics`; then there are no files.
    """
    missing, wanted = MissingClasses(), Wanted()
    documents: dict[str, str] = {}
    drafts: list[Draft] = []
    files = list(dict.fromkeys(files))
    for file in files:
        structure = structure_of(file, roots=roots, diagnostics=diagnostics, missing=missing)
        if structure is not None:
            drafts += structure.root.walk()
            wanted.add(structure.root)
            # The same file may be given with one path, and found by its name with another.
            documents |= {os.path.abspath(one): name for one, name in structure.documents.items()}
    given = set(map(os.path.abspath, files))
    drafts += _overridden(documents.keys() - given, roots, missing, wanted)
    _check_attributes(drafts, diagnostics)
    if diagnostics.errors:
        return []
    signatures = [one for one in wanted.signatures if counterpart(one) is None]
    folder = output.joinpath(*package.split("."))
    names = Names(
        package,
        class_names(signatures, _kept(folder / "interfaces.py", diagnostics)),
        class_names(wanted.contents, _kept(folder / "components.py", diagnostics)),
        class_names(
            [*missing.controllers, *missing.interceptors, *missing.membranes],
            _kept(folder / "membranes.py", diagnostics),
        ),
    )
    if diagnostics.errors:
        return []
    modules = [
        ("interfaces", _INTERFACES, list(_interfaces(wanted, names))),
        ("components", _COMPONENTS, list(_components(wanted, names))),
    ]
    if names.around:
        modules.append(("membranes", _MEMBRANES, list(_around(missing, wanted, names))))
    found = [
        Ported(output.joinpath(*inside, "__init__.py"), "", "new")
        for inside in _packages(package)
        if not output.joinpath(*inside, "__init__.py").exists()
    ]
    for stem, about, skeletons in modules:
        found += _module(folder / f"{stem}.py", about, skeletons)
    inside = (*missing.interceptors, *missing.membranes)
    around = {one: names.around_contents(one) for one in inside}
    found += _documents(documents, output, names, wanted, around)
    found += _controller_files(missing, output, names)
    return found


def _overridden(
    documents: Iterable[str],
    roots: Sequence[str | PathLike[str]],
    missing: MissingClasses,
    wanted: Wanted,
) -> list[Draft]:
    """Add what only the documents themselves name, since those that extend them say otherwise.

    They are copied and can be checked alone. One that has faults alone names nothing more: it is
    part of an assembly without faults.
    """
    drafts: list[Draft] = []
    for file in sorted(documents):
        alone = structure_of(file, roots=roots, diagnostics=Diagnostics(), missing=missing)
        if alone is not None:
            drafts += alone.root.walk()
            wanted.add_others(alone.root)
    return drafts


def _check_attributes(drafts: Iterable[Draft], diagnostics: Diagnostics) -> None:
    """Report attributes that a class in Python cannot have."""
    nodes = (
        one
        for draft in drafts
        if draft.traits.content and stands_in_for(draft.traits.content)
        for one in (draft.node.body.attributes or AttributesNode()).attributes
    )
    for node in dict.fromkeys(nodes):
        if not can_be_attribute(node.name):
            diagnostics.report(
                "malformed-name",
                f"'{node.name}' cannot be the name of an attribute in Python",
                node.location,
                hint="rename it in the document: a letter, then letters, digits and _, and no word"
                " that Python or the module of the class uses",
            )


def _interfaces(wanted: Wanted, names: Names) -> Iterator[Skeleton]:
    for one in wanted.in_order():
        if counterpart(one.dotted) is None:
            yield signature_skeleton(one, wanted, names)


def _components(wanted: Wanted, names: Names) -> Iterator[Skeleton]:
    for _, one in sorted(wanted.contents.items()):
        yield content_skeleton(one, wanted, names)


def _around(missing: MissingClasses, wanted: Wanted, names: Names) -> Iterator[Skeleton]:
    for dotted, interface in sorted(missing.controllers.items()):
        yield controller_skeleton(dotted, interface, wanted, names)
    for dotted in sorted(missing.interceptors):
        yield interceptor_skeleton(dotted, names)
    for dotted, kind in sorted(missing.membranes.items()):
        yield membrane_skeleton(dotted, kind, names)


def _packages(package: str) -> Iterator[Sequence[str]]:
    parts = package.split(".")
    return (parts[:end] for end in range(1, len(parts) + 1))


def _kept(file: Path, diagnostics: Diagnostics) -> dict[str, str]:
    """Return the names that classes were given when the module was written."""
    if not file.exists():
        return {}
    try:
        return names_kept(file.read_text("utf-8"))
    except SyntaxError as error:
        where = Location(str(file), error.lineno or 0)
        hint = "fix it; classes that are missing are added to it"
        diagnostics.report("import-error", f"it is no Python: {error.msg}", where, hint=hint)
        return {}


def _module(file: Path, about: str, skeletons: Sequence[Skeleton]) -> Iterator[Ported]:
    if not file.exists():
        yield Ported(file, module_text(about, skeletons), _classes(skeletons))
        return
    text = file.read_text("utf-8")
    new = lacking(text, skeletons)
    yield Ported(file, completed(text, new) if new else text, _classes(new) if new else "")


def _classes(skeletons: Sequence[Skeleton]) -> str:
    return ", ".join(one.name for one in skeletons) or "no class"


def _documents(
    documents: dict[str, str],
    output: Path,
    names: Names,
    wanted: Wanted,
    around: Mapping[str, str],
) -> Iterator[Ported]:
    signatures = {one: names.signature(one) for one in wanted.signatures}
    contents = {one: names.content(one) for one in wanted.contents}
    for file, name in sorted(documents.items()):
        target = output / _place(Path(file), name)
        if target.exists():
            yield Ported(target, "", "")
            continue
        text = decode_document(Path(file).read_bytes())
        yield Ported(target, renamed(text, signatures, contents, around), "new")


def _controller_files(missing: MissingClasses, output: Path, names: Names) -> Iterator[Ported]:
    controllers = {one: names.around_contents(one) for one in missing.controllers}
    for file, desc in sorted(missing.controller_files.items()):
        target = output / desc.lstrip("/")
        text = decode_document(Path(file).read_bytes())
        new = "" if target.exists() else "new"
        yield Ported(target, with_controllers(text, controllers), new)


def _place(file: Path, name: str) -> PurePath:
    """Return where a document is found by its name: `a/b/C.fractal` where it has the name a.b.C."""
    packages = name.split(".")[:-1]
    above = file.absolute().parent.parts
    follows = bool(packages) and above[-len(packages) :] == tuple(packages)
    return PurePath(*(packages if follows else ()), file.name)
