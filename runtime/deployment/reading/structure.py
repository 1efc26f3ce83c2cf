"""The check of a descriptor against the table of its language, after replacing its variables."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.documents import (
    Attribute,
    CheckedElement,
    ChildRule,
    Diagnostics,
    DocumentCheck,
    ElementType,
    ForeignDocument,
    Location,
    ValueFault,
    XmlNode,
    did_you_mean,
)
from runtime.deployment.extent import MachineAmount
from runtime.deployment.language.kinds import HOSTS, LIST, RAW, list_size
from runtime.deployment.language.table import LANGUAGE
from runtime.deployment.variables import Variables
from runtime.shown_text import shown


def check_structure(
    root: XmlNode, variables: Variables, diagnostics: Diagnostics
) -> CheckedElement | None:
    """Return the checked form of a document; None when it has another root.

    Reports unknown, missing and repeated elements and attributes, and values that do not fit their
    kind. Faulty parts are left out of the result, so that later checks can continue.
    """
    found = _DescriptorCheck(variables, diagnostics).document(root)
    return None if found is None else LANGUAGE.checked(found)


class _DescriptorCheck(DocumentCheck):
    understands_misspelled = False
    leaves_out_incomplete = False
    # how an editor is told where the schema is
    ignored = frozenset({"xmlns:xsi", "xsi:noNamespaceSchemaLocation"})

    def __init__(self, variables: Variables, diagnostics: Diagnostics) -> None:
        super().__init__(LANGUAGE, diagnostics)
        self._variables = variables

    def expanded(self, row: Attribute, written: str, location: Location) -> str | None:
        return written if row.kind is RAW else self._variables.expand(written, location)

    def has_room(self, row: Attribute, text: str, location: Location) -> bool:
        """Return whether the names of a list, with those of lists before it, are not too many."""
        if row.kind not in (LIST, HOSTS):
            return True
        count = list_size(row.kind, text)
        return self._variables.extent.grow(MachineAmount.PARTS, count, location)

    def wrong_root(self, root: XmlNode, foreign: ForeignDocument | None) -> None:
        self.diagnostics.report(
            "wrong-root",
            f"the document is {foreign.kind}, and no descriptor of gcm-deploy"
            if foreign
            else f"the root element is <{root.tag}>, a descriptor begins with <deployment>",
            root.location,
            hint=foreign.hint if foreign else "",
        )

    def stray_text(self, node: XmlNode) -> None:
        self.diagnostics.report(
            "unexpected-text",
            f"<{node.tag}> has text between its tags, which means nothing here",
            node.location,
            hint="values are written as attributes",
        )

    def unknown_attribute(self, node: XmlNode, name: str, element: ElementType) -> None:
        known = [found.name for found in element.attributes]
        self.diagnostics.report(
            "unknown-attribute",
            f"<{node.tag}> has no attribute '{name}'",
            node.location,
            hint=did_you_mean(name, known) or _listing("its attributes", known),
        )

    def missing_attribute(self, node: XmlNode, row: Attribute) -> None:
        self.diagnostics.report(
            "missing-attribute",
            f"<{node.tag}> needs the attribute '{row.name}'",
            node.location,
            hint=row.meaning,
        )

    def empty_attribute(self, node: XmlNode, row: Attribute, text: str) -> None:
        self.faulty_value(node, row, text, ValueFault("empty-attribute", "is empty", row.meaning))

    def faulty_value(self, node: XmlNode, row: Attribute, text: str, fault: ValueFault) -> None:
        super().faulty_value(node, row, shown(text), fault)

    def unknown_element(self, child: XmlNode, element: ElementType) -> None:
        allowed = [found.name for found in element.children]
        hint = did_you_mean(child.tag, allowed) or _listing("it takes", allowed)
        if child.tag in self.grammar.elements:
            above = [one.name for one in self.grammar.elements.values() if one.child(child.tag)]
            parents = " or ".join(f"<{one}>" for one in above)
            hint = f"it belongs into {parents}" if parents else "it is the root"
        self.diagnostics.report(
            "unknown-element",
            f"<{element.name}> takes no <{child.tag}>",
            child.location,
            hint=hint,
        )

    def missing_element(self, node: XmlNode, rule: ChildRule, count: int) -> None:
        self.diagnostics.report(
            "missing-element",
            f"<{node.tag}> has {count} <{rule.name}>, it needs at least {rule.least}",
            node.location,
            hint=self.grammar.elements[rule.name].meaning,
        )

    def repeated_element(self, node: XmlNode, rule: ChildRule, found: Sequence[XmlNode]) -> None:
        self.diagnostics.report(
            "repeated-element",
            f"<{node.tag}> has {len(found)} <{rule.name}>, it takes at most {rule.most}",
            node.location,
        )


def _listing(intro: str, names: list[str]) -> str:
    return f"{intro}: {', '.join(names)}" if names else f"{intro}: none"
