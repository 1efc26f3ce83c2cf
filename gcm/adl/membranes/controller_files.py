"""Controller files of the Java implementation, `...-config.xml`: which controllers a membrane has.

<componentConfiguration name="counted">
  <controllers>
    <controller>
      <interface>org.etsi.uri.gcm.api.control.MonitorController</interface>
      <implementation>org.objectweb.proactive.core.component.control.PAMonitorControllerImpl</implementation>
    </controller>
  </controllers>
</componentConfiguration>

Controllers of that implementation mean those of the same name here; every other implementation is
the dotted name of a controller class in Python.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath

from gcm.adl.classes import ClassFault, LoadClass
from gcm.adl.findings import Findings
from gcm.adl.structure import is_missing, stands_in_for
from gcm.components import Controller, MembraneDescription
from gcm.documents import Diagnostics, Location, Severity, XmlNode, did_you_mean, read_document
from gcm.errors import IllegalTypeError
from gcm.factory import described
from gcm.records import dataclass

SUFFIX = ".xml"
_DEFAULTS = re.compile(
    r"default-(?:component|composite|primitive|nfcomponent|component-controller)-config(?:-basic)?\.xml"
)
"""The files that come with the Java implementation: what they list, every component has here."""

_JAVA = re.compile(r"org\.(?:objectweb|etsi|ow2)\.")
_JAVA_NAME = re.compile(r"(?:PA)?(?:NF)?(?:GCM)?(?P<name>[A-Za-z]+)Controller(?:Impl)?")

_KNOWN = {one.name for kind in ("active", "composite") for one in described(kind).controllers}
_CHOSEN = frozenset({"monitor", "multicast", "gathercast", "migration"})
"""The controllers that a file decides about; the others belong to every component."""

_CHILDREN = {
    "componentConfiguration": ("controllers",),
    "controllers": ("controller",),
    "controller": ("interface", "implementation"),
    "interface": (),
    "implementation": (),
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One controller of a file, as written there."""

    interface: str
    implementation: str
    location: Location


def names_file(desc: str) -> bool:
    """Return whether `desc` of a `<controller>` is the name of a controller file."""
    return desc.endswith(SUFFIX)


def is_default(desc: str) -> bool:
    """Return whether it is a file that comes with the Java implementation.

    >>> is_default("/org/objectweb/proactive/core/component/config/default-composite-config.xml")
    True
    """
    return _DEFAULTS.fullmatch(PurePosixPath(desc).name) is not None


def candidates(desc: str, folders: Sequence[Path]) -> list[Path]:
    """Return where a controller file may be: below each folder, and directly in the first."""
    path = PurePosixPath(desc)
    inside = [folder / desc.lstrip("/") for folder in folders]
    beside = [folder / path.name for folder in folders[:1]]
    return list(dict.fromkeys([*([Path(desc)] if path.is_absolute() else []), *inside, *beside]))


@dataclass(slots=True)
class ControllerFiles:
    """Finds and reads controller files, each of them once.

    `folders` are searched after that of the document that names a file.
    """

    findings: Findings
    load_class: LoadClass
    folders: Sequence[Path] = ()
    _read: dict[str, tuple[Listed, ...] | None] = field(default_factory=dict)

    def describe(
        self, desc: str, base: MembraneDescription, location: Location, path: str
    ) -> MembraneDescription | None:
        """Return the membrane of a component whose `<controller>` names a file.

        `base` is the membrane it has otherwise. None is returned where the file, or a controller in
        it, was reported.
        """
        folders = [Path(os.path.dirname(location.file)), *self.folders]
        tried = candidates(desc, folders)
        file = next((one for one in tried if one.is_file()), None)
        if file is None:
            self.findings.report(
                "missing-controller-file",
                f"there is no controller file '{desc}'",
                location,
                path,
                hint=f"it was looked for as {', '.join(map(str, tried))}",
            )
            return None
        name = str(file)
        if name not in self._read:
            self._read[name] = read_controllers(name, self.findings.diagnostics)
        listed = self._read[name]
        if self.findings.missing is not None:
            self.findings.missing.controller_files[name] = desc
        return None if listed is None else self._described(file.stem, listed, base, path)

    def _described(
        self, name: str, listed: Sequence[Listed], base: MembraneDescription, path: str
    ) -> MembraneDescription | None:
        chosen: set[str] = set()
        own: list[type[Controller]] = []
        sound = True
        for one in listed:
            if _JAVA.match(one.interface) and _JAVA.match(one.implementation):
                chosen.add(self._counterpart(one, path))
                continue
            found = self._own(one, path)
            sound = sound and found is not None
            own += [] if found is None else [found]
        if not sound:
            return None
        kept = [known for known in base.controllers if known.name not in _CHOSEN - chosen]
        try:
            return MembraneDescription(name, tuple(kept)).including(*own)
        except IllegalTypeError as error:
            where = listed[0].location
            self.findings.report("not-a-controller", error.what, where, path, hint=error.cure)
            return None

    def _counterpart(self, one: Listed, path: str) -> str:
        """Return the name of the corresponding controller here, or report that there is none."""
        name = controller_here(one.interface)
        if name:
            return name
        self.findings.report(
            "no-counterpart",
            f"the controller {one.interface} has no counterpart here, and is left out",
            one.location,
            path,
            hint="write a controller class, and name it in <implementation>",
            severity=Severity.WARNING,
        )
        return ""

    def _own(self, one: Listed, path: str) -> type[Controller] | None:
        try:
            found = self.load_class(one.implementation)
        except ClassFault as fault:
            if self.findings.missing is not None and is_missing(fault.code):
                self.findings.missing.controllers[one.implementation] = one.interface
            self.findings.class_fault(fault, one.location, path)
            return None
        if isinstance(found, type) and issubclass(found, Controller) and found.name:
            return found
        if isinstance(found, type) and stands_in_for(found):
            return None
        self.findings.report(
            "not-a-controller",
            f"'{one.implementation}' is not a controller class",
            one.location,
            path,
            hint='make it a subclass of gcm.Controller with a name: name = "counter"',
        )
        return None


def controller_here(interface: str) -> str:
    """Return the controller that corresponds to an interface of the Java implementation, if any.

    >>> controller_here("org.etsi.uri.gcm.api.control.GCMLifeCycleController")
    'lifecycle'
    """
    found = _JAVA_NAME.fullmatch(interface.rpartition(".")[2])
    name = found["name"].lower() if found and _JAVA.match(interface) else ""
    return name if name in _KNOWN else ""


def read_controllers(file: str, diagnostics: Diagnostics) -> tuple[Listed, ...] | None:
    """Return the controllers that a file lists; None if it has errors, which are all reported."""
    root = read_document(file, diagnostics=diagnostics)
    if root is None:
        return None
    before = len(diagnostics.errors)
    if root.tag != "componentConfiguration":
        diagnostics.report(
            "unexpected-element",
            f"the controller file is a <{root.tag}>, not a <componentConfiguration>",
            root.location,
            hint='a controller file begins with <componentConfiguration name="...">',
        )
        return None
    _check(root, diagnostics)
    listed = tuple(_listed(root, diagnostics))
    if not listed and len(diagnostics.errors) == before:
        hint = "add <controllers> with a <controller> for each"
        diagnostics.report("missing-element", "it lists no controller", root.location, hint=hint)
    return listed if len(diagnostics.errors) == before else None


def _check(node: XmlNode, diagnostics: Diagnostics) -> None:
    """Report elements and text that a controller file cannot have."""
    allowed = _CHILDREN[node.tag]
    if node.text and allowed:
        message = f"<{node.tag}> holds the text '{node.text[:40]}'"
        diagnostics.report(
            "unexpected-text", message, node.location, hint="only elements can stand here"
        )
    for child in node.children:
        if child.tag in allowed:
            _check(child, diagnostics)
            continue
        hint = did_you_mean(child.tag, allowed) or (
            "a controller file lists all its controllers itself; it includes no other file"
            if "include" in child.tag or child.tag.endswith("import")
            else f"<{node.tag}> may hold: {', '.join(allowed) or 'text'}"
        )
        diagnostics.report(
            "unexpected-element" if child.tag in _CHILDREN else "unknown-element",
            f"<{child.tag}> cannot stand in <{node.tag}>",
            child.location,
            hint=hint,
        )


def _listed(root: XmlNode, diagnostics: Diagnostics) -> Iterator[Listed]:
    for group in root.children:
        for node in group.children if group.tag == "controllers" else ():
            if node.tag != "controller":
                continue
            texts = {child.tag: child.text for child in node.children}
            for tag in _CHILDREN["controller"]:
                if not texts.get(tag):
                    diagnostics.report(
                        "missing-element",
                        f"<controller> {'has an empty' if tag in texts else 'lacks'} <{tag}>",
                        node.location,
                        hint=f"write the name of a class in <{tag}>",
                    )
            yield Listed(texts.get("interface", ""), texts.get("implementation", ""), node.location)
