"""Elements of a descriptor that is written, from a command line or from an older descriptor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

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
    """

    tag: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: Sequence[Element | str] = ()
    keeps_empty: bool = False

    def lines(self, indent: str = "") -> Iterable[str]:
        """Yield the lines of the element in a document.

        Raises:
            ValueError: some text has a character that XML does not allow.
        """
        given = "".join(
            f' {name}="{_escaped(value)}"'
            for name, value in self.attributes.items()
            if value or self.keeps_empty
        )
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


def _escaped(text: str) -> str:
    if bad := next((one for one in text if not _is_in_xml(one)), ""):
        raise ValueError(f"{text!r} has the character {bad!r}, which no descriptor can hold")
    return text.translate(_ESCAPES)


def _is_in_xml(character: str) -> bool:
    # A regular expression of these would take milliseconds to compile.
    is_low = " " <= character <= "\ud7ff" or character in "\t\n\r"
    return is_low or "\ue000" <= character <= "\ufffd" or character >= "\U00010000"
