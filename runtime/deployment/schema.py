"""Writes the XML Schema of the descriptor language; `python -m` prints it for descriptor.xsd."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from runtime.deployment.grammar import (
    DURATION_PATTERN,
    NAME_PATTERN,
    NUMBER_PATTERN,
    Attribute,
    ElementType,
    Grammar,
    ValueKind,
)
from runtime.deployment.language import LANGUAGE

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!-- Generated from runtime/deployment/language.py by: python -m runtime.deployment.schema -->
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:simpleType name="withVariable">
    <xs:annotation><xs:documentation>Text that uses a variable.</xs:documentation></xs:annotation>
    <xs:restriction base="xs:string"><xs:pattern value=".*[$]\\{.*"/></xs:restriction>
  </xs:simpleType>
  <xs:simpleType name="filled">
    <xs:annotation><xs:documentation>Text that is not blank.</xs:documentation></xs:annotation>
    <xs:restriction base="xs:string"><xs:pattern value=".*\\S.*"/></xs:restriction>
  </xs:simpleType>
"""


def render_xsd(grammar: Grammar) -> str:
    """Return the XML Schema of a language.

    It knows elements, attributes and their kinds, and lets every value use variables. How often an
    element may be repeated and what refers to what is left to the checks of the reader.
    """
    blocks = [_element(element) for element in grammar.elements.values()]
    return _HEAD + "\n".join(blocks) + "\n</xs:schema>\n"


def _element(element: ElementType) -> str:
    lines = [f'  <xs:element name="{element.name}">', *_annotation(element.meaning, 4)]
    lines.append("    <xs:complexType>")
    if element.children:
        lines.append('      <xs:choice minOccurs="0" maxOccurs="unbounded">')
        lines += [f'        <xs:element ref="{child.name}"/>' for child in element.children]
        lines.append("      </xs:choice>")
    for attribute in element.attributes:
        lines += _attribute(attribute)
    return "\n".join([*lines, "    </xs:complexType>", "  </xs:element>"])


def _attribute(attribute: Attribute) -> list[str]:
    simple = _named_type(attribute)
    use = ' use="required"' if attribute.required else ""
    kind = f' type="{simple}"' if simple else ""
    default = f" default={quoteattr(attribute.default)}" if attribute.default else ""
    head = f'      <xs:attribute name="{attribute.name}"{kind}{use}{default}>'
    body = _annotation(attribute.meaning, 8)
    if not simple:
        body += _union(_restriction(attribute))
    return [head, *body, "      </xs:attribute>"]


def _named_type(attribute: Attribute) -> str:
    if attribute.kind in {ValueKind.NAME, ValueKind.NUMBER, ValueKind.CHOICE, ValueKind.DURATION}:
        return ""
    return "filled" if attribute.needs_text else "xs:string"


def _restriction(attribute: Attribute) -> list[str]:
    if attribute.kind is ValueKind.CHOICE:
        facets = [f'<xs:enumeration value="{choice}"/>' for choice in attribute.choices]
        return ['<xs:restriction base="xs:string">', *facets]
    if attribute.kind is ValueKind.NAME:
        return ['<xs:restriction base="xs:string">', f'<xs:pattern value="{NAME_PATTERN}"/>']
    if attribute.kind is ValueKind.DURATION:
        return ['<xs:restriction base="xs:string">', f'<xs:pattern value="{DURATION_PATTERN}"/>']
    facets = [
        f'<xs:pattern value="{NUMBER_PATTERN}"/>',
        f'<xs:minInclusive value="{attribute.least}"/>',
    ]
    if attribute.most is not None:
        facets.append(f'<xs:maxInclusive value="{attribute.most}"/>')
    return ['<xs:restriction base="xs:nonNegativeInteger">', *facets]


def _union(restriction: list[str]) -> list[str]:
    opening, *facets = restriction
    return [
        "        <xs:simpleType>",
        '          <xs:union memberTypes="withVariable">',
        "            <xs:simpleType>",
        f"              {opening}",
        *(f"                {facet}" for facet in facets),
        "              </xs:restriction>",
        "            </xs:simpleType>",
        "          </xs:union>",
        "        </xs:simpleType>",
    ]


def _annotation(text: str, indent: int) -> list[str]:
    blank = " " * indent
    return [
        f"{blank}<xs:annotation><xs:documentation>",
        f"{blank}  {escape(text)}",
        f"{blank}</xs:documentation></xs:annotation>",
    ]


if __name__ == "__main__":
    print(render_xsd(LANGUAGE), end="")
