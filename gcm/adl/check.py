"""Checks a resolved tree of components against the rules of the model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gcm.adl.bindings import BindingCheck
from gcm.adl.classes import LoadClass
from gcm.adl.definitions import INCOMPLETE, ComponentNode, is_path
from gcm.adl.definitions.model import LOCAL
from gcm.adl.drafts import Draft, Traits, membrane_node
from gcm.adl.findings import Findings
from gcm.adl.interface_names import check_names
from gcm.adl.membranes.circles import report_circles
from gcm.adl.membranes.interceptors import check_interceptors
from gcm.adl.shared import resolve_shared
from gcm.adl.structure import MissingClasses
from gcm.adl.traits import TraitsReader
from gcm.documents import Diagnostics, Severity, did_you_mean
from gcm.interfaces import InterfaceType
from gcm.records import dataclass

_RESERVED = "this"


def check(
    root: ComponentNode,
    load_class: LoadClass,
    diagnostics: Diagnostics,
    folders: Sequence[Path] = (),
    *,
    is_made: bool = True,
    missing: MissingClasses | None = None,
) -> Draft:
    """Report every violation of a rule, and return what is known of each component.

    `folders` are searched for what is named by its path. Abstract components are errors if the
    assembly is to be made. With `missing`, classes need not exist: what depends on them is not
    checked. The drafts are complete only if no error was reported.
    """
    findings = Findings(diagnostics, missing)
    load_class = load_class if missing is None else missing.noted_by(load_class)
    tree = _Builder(findings, TraitsReader(findings, load_class, folders)).build(root, None)
    resolve_shared(tree, findings)
    bindings = BindingCheck(findings)
    for draft in tree.walk():
        if draft.is_composite:
            bindings.check(draft)
        elif draft.node.body.bindings:
            findings.report(
                "bindings-in-primitive",
                f"primitive '{draft.name}' has no sub-components to bind",
                draft.node.body.bindings[0].location,
                draft.path,
                hint="write the binding in the composite around it",
            )
    report_circles(tree, findings)
    for draft in tree.walk():
        draft.traits.interceptors = check_interceptors(draft, findings)
        if draft.traits.is_abstract and missing is None:
            _abstract(draft, tree, is_made, findings)
        check_names(draft, findings)
        _check_template(draft, findings)
        _check_bound(draft, tree, findings)
        _check_exported(draft, findings)
    return tree


@dataclass(slots=True)
class _Builder:
    """Makes the tree of drafts."""

    findings: Findings
    traits: TraitsReader

    def build(self, node: ComponentNode, parent: Draft | None) -> Draft:
        path = f"{parent.path if parent else ''}/{node.name}"
        self._check_name(node, path)
        if is_path(node.definition):
            return Draft(node.name, path, node, Traits(), parent)
        # Without a definition there is too little to judge the rest by.
        missing = node.definition == INCOMPLETE
        traits = Traits(incomplete=True) if missing else self.traits.read(node, path)
        draft = Draft(node.name, path, node, traits, parent)
        self._fill(draft)
        controller = node.body.controller
        if controller is not None and (
            controller.interfaces or controller.components or controller.bindings
        ):
            inside = membrane_node(controller)
            where = f"{path}/{inside.name}"
            traits = self.traits.read_membrane(inside, where)
            draft.membrane = Draft(inside.name, where, inside, traits, draft)
            self._fill(draft.membrane)
        return draft

    def _fill(self, draft: Draft) -> None:
        for child in draft.node.body.components:
            draft.children[child.name] = self.build(child, draft)

    def _check_name(self, node: ComponentNode, path: str) -> None:
        if node.name == _RESERVED or not node.name.strip() or set(node.name) & set("./:"):
            self.findings.report(
                "bad-component-name",
                f"'{node.name}' cannot name a component",
                node.location,
                path,
                hint="use a name without '.', '/' and ':', other than 'this'",
            )


def _abstract(draft: Draft, root: Draft, is_made: bool, findings: Findings) -> None:
    """Report a component without content that would be made; the root may be a mere type."""
    if draft is root and not is_made:
        return
    findings.report(
        "missing-content",
        f"component '{draft.name}' has neither content nor sub-components"
        + (", so it cannot be made" if is_made else " yet, so the assembly cannot be made"),
        draft.node.location,
        draft.path,
        hint='add <content class="module.Class"/>, or name a definition that has some'
        if is_made
        else "supply it in a definition that extends this one",
        severity=Severity.ERROR if is_made else Severity.WARNING,
    )


def _check_template(draft: Draft, findings: Findings) -> None:
    """Report a component where only a template can be, and the reverse."""
    traits = draft.traits
    for child in draft.children.values():
        if child.is_reference and child.target is None:
            continue
        if child.traits.is_template != traits.is_template and not child.traits.incomplete:
            is_not = "is not a template" if traits.is_template else "is a template"
            inside = "one" if traits.is_template else "none"
            findings.report(
                "template-mixture",
                f"'{child.name}' {is_not} and is inside '{draft.name}', which is {inside}",
                child.node.location,
                child.path,
                hint="give both a <template-controller>, or neither",
            )
    if traits.is_template and (traits.interceptors or draft.membrane):
        findings.report(
            "template-membrane",
            f"the template '{draft.name}' has interceptors or components in its membrane",
            draft.node.location,
            draft.path,
            hint="a template only says how its instances are built; give them a controller class",
        )


def _check_bound(draft: Draft, root: Draft, findings: Findings) -> None:
    """Report mandatory client interfaces without a binding, outside and inside."""
    if draft.is_reference or draft.traits.incomplete:
        return
    for interface in draft.traits.component_type.interfaces:
        if not interface.is_mandatory or draft.is_membrane:
            continue
        outside = interface.is_client and not interface.is_internal
        if outside and draft is not root and not _has(draft.bound, interface):
            _unbound(draft, interface, "no binding", "add <binding client=", findings)
        if draft.is_composite and _inner_client(interface) and not _has(draft.linked, interface):
            _unbound(draft, interface, "no binding inside", "add <binding client=", findings)


def _unbound(
    draft: Draft, interface: InterfaceType, lacks: str, hint: str, findings: Findings
) -> None:
    owner = "this" if "inside" in lacks else draft.name
    if interface.is_collection:
        # The specification allows it; most often the bindings were forgotten.
        findings.report(
            "empty-collection",
            f"mandatory collection '{interface.name}' has {lacks}",
            draft.location_of(interface.name),
            draft.path,
            hint=f'{hint}"{owner}.{interface.name}1" .../>, or make it optional',
            severity=Severity.WARNING,
        )
        return
    findings.report(
        "unbound-interface",
        f"mandatory interface '{interface.name}' has {lacks}",
        draft.location_of(interface.name),
        draft.path,
        hint=f'{hint}"{owner}.{interface.name}" .../>, or make it optional',
    )


def _inner_client(interface: InterfaceType) -> bool:
    return interface.is_server != interface.is_internal


def _has(bound: set[str], interface: InterfaceType) -> bool:
    if interface.is_collection:
        return any(name.startswith(interface.name) for name in bound)
    return interface.name in bound


def _check_exported(draft: Draft, findings: Findings) -> None:
    """Report exported virtual nodes that are composed of something that does not exist."""
    for exported in draft.node.body.exported_virtual_nodes:
        for part in exported.composed_from:
            if LOCAL in (part.component, part.name):
                continue
            owners = _owners(draft, part.component)
            if not owners:
                message = f"there is no component '{part.component}' inside '{draft.name}'"
                hint = did_you_mean(part.component, (*draft.children, _RESERVED))
                findings.report("unknown-component", message, part.location, draft.path, hint=hint)
                continue
            known = [
                name
                for owner in owners
                for name in _virtual_nodes(owner.target or owner, part.component == _RESERVED)
            ]
            if part.name not in known:
                findings.report(
                    "unknown-virtual-node",
                    f"component '{part.component}' has no virtual node '{part.name}'",
                    part.location,
                    draft.path,
                    hint=did_you_mean(part.name, known) or f"it has: {', '.join(known) or 'none'}",
                )


def _owners(draft: Draft, name: str) -> list[Draft]:
    """Return the components that a composing virtual node may refer to: parts, or their parts."""
    if name == _RESERVED:
        return [draft]
    if name in draft.children:
        return [draft.children[name]]
    return [one for one in draft.walk() if one.name == name and one is not draft]


def _virtual_nodes(draft: Draft, own: bool) -> list[str]:
    body = draft.node.body
    names = [body.virtual_node.name] if body.virtual_node else []
    return names if own else [*names, *(one.name for one in body.exported_virtual_nodes)]
