"""Elements of a descriptor that is made, from a command line or from an older descriptor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from gcm.documents import Location, XmlNode
from gcm.records import dataclass

# `xml.sax.saxutils` has the same, but loads a web client with it.
_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
    | {blank: f"&#{ord(blank)};" for blank in "\t\n\r"}
)


@dataclass(slots=True)
class Element:
    """An element of our language; attributes without a value are left out, unless it keeps them.

    Among its children are lines that stand as they are: comments, and empty ones between parts.
    Making it raises `ValueError` where a text has a character that XML does not allow.
    """

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: Sequence[Element | str] = ()
    keeps_empty: bool = False

    def __post_init__(self) -> None:
        """Refuse what no document could say."""
        for text in self.attributes.values():
            if bad := next((one for one in text if not _is_in_xml(one)), ""):
                what = f"{text!r} has the character {bad!r}"
                raise ValueError(f"{what}, which no descriptor can hold")

    def given(self) -> dict[str, str]:
        """Return the attributes that are written."""
        return {name: one for name, one in self.attributes.items() if one or self.keeps_empty}

    def node(self, location: Location) -> XmlNode:
        """Return what reading its lines would return, with everything at one location."""
        inside = (one for one in self.children if isinstance(one, Element))
        children = tuple(one.node(location) for one in inside)
        return XmlNode(self.tag, self.given(), children, "", location)

    def lines(self, indent: str = "") -> Iterable[str]:
        """Yield the lines of the element in a document."""
        escaped = ((name, value.translate(_ESCAPES)) for name, value in self.given().items())
        given = "".join(f' {name}="{value}"' for name, value in escaped)
        if not self.children:
            yield f"{indent}<{self.tag}{given}/>"
            return
        yield f"{indent}<{self.tag}{given}>"
        for child in self.children:
            if isinstance(child, str):
                yield f"{indent}  {child}".rstrip()
            else:
                yield from child.lines(f"{indent}  ")
        yield f"{indent}</{self.tag}>"


def comment(text: str) -> list[str]:
    """Return the lines of a comment."""
    return f"<!-- {text} -->".splitlines()


def _is_in_xml(character: str) -> bool:
    # A regular expression of these would take milliseconds to compile.
    is_low = " " <= character <= "\ud7ff" or character in "\t\n\r"
    return is_low or "\ue000" <= character <= "\ufffd" or character >= "\U00010000"
