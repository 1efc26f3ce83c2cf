"""Checks the attributes of a component against the class that has them, and converts them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_type_hints

from gcm.adl.classes import ClassFault, LoadClass
from gcm.adl.definitions import AttributesNode
from gcm.adl.findings import Findings
from gcm.adl.structure import stands_in_for
from gcm.adl.values import AdlValueFault, convert
from gcm.components import declared_attributes
from gcm.documents import did_you_mean
from gcm.interfaces import split_annotated

Values = tuple[tuple[str, object], ...]


def read_attributes(
    node: AttributesNode | None,
    content: type[Any] | None,
    load_class: LoadClass,
    findings: Findings,
    path: str,
) -> Values:
    """Return the attributes as (name, value); errors go to `findings`."""
    if node is None:
        return ()
    if content is None:
        findings.report(
            "attributes-without-content",
            "a composite has no content whose attributes could be set",
            node.location,
            path,
            hint='add <content class="module.Class"/>, the class that declares them',
        )
        return ()
    if stands_in_for(content):
        return _as_written(node, load_class, findings, path)
    annotations = _annotations(node, content, load_class, findings, path)
    return () if annotations is None else _convert(node, annotations, findings, path)


def _as_written(
    node: AttributesNode, load_class: LoadClass, findings: Findings, path: str
) -> Values:
    """Return the attributes of a missing content class; its signature may exist."""
    if node.signature:
        try:
            load_class(node.signature)
        except ClassFault as fault:
            findings.class_fault(fault, node.location, path)
    return tuple([(one.name, one.value) for one in node.attributes])


def _convert(
    node: AttributesNode, annotations: Mapping[str, Any], findings: Findings, path: str
) -> Values:
    values = []
    for one in node.attributes:
        if one.name not in annotations:
            known = f"known: {', '.join(annotations)}" if annotations else _HOW_TO_DECLARE
            findings.report(
                "unknown-attribute",
                f"there is no attribute '{one.name}'",
                one.location,
                path,
                hint=did_you_mean(one.name, annotations) or known,
            )
            continue
        try:
            values.append((one.name, convert(one.value, annotations[one.name])))
        except AdlValueFault as fault:
            message = f"attribute '{one.name}': {fault}"
            findings.report("bad-value", message, one.location, path, hint=fault.hint)
    return tuple(values)


_HOW_TO_DECLARE = "declare it in the content class: name: Annotated[int, attribute()]"


def _annotations(
    node: AttributesNode,
    content: type[Any],
    load_class: LoadClass,
    findings: Findings,
    path: str,
) -> Mapping[str, Any] | None:
    """Return the types of the attributes by name, or `None` where that was reported."""
    try:
        if node.signature:
            annotations = _of_signature(load_class(node.signature))
            _check_declared(node, annotations, content, findings, path)
            return annotations
        return declared_attributes(content)
    except ClassFault as fault:
        findings.class_fault(fault, node.location, path)
        return None
    except Exception as error:  # annotations are user code and may raise anything
        message = f"the types of the attributes cannot be read: {error}"
        findings.report("illegal-declaration", message, node.location, path)
        return None


def _check_declared(
    node: AttributesNode,
    annotations: Mapping[str, Any],
    content: type[Any],
    findings: Findings,
    path: str,
) -> None:
    """Report attributes that the signature has and the content class lacks."""
    declared = declared_attributes(content)
    for one in node.attributes:
        if one.name in annotations and one.name not in declared:
            findings.report(
                "unknown-attribute",
                f"the content '{content.__qualname__}' does not declare the attribute "
                f"'{one.name}' of the signature",
                one.location,
                path,
                hint=did_you_mean(one.name, declared) or _HOW_TO_DECLARE,
            )


def _of_signature(signature: object) -> Mapping[str, Any]:
    if not isinstance(signature, type):
        raise ClassFault("not-a-class", f"{signature!r} is not a class", "name a class")
    hints = get_type_hints(signature, include_extras=True)
    return {
        name: split_annotated(annotation)[0]
        for name, annotation in hints.items()
        if not name.startswith("_")
    }
