"""The elements of every picture: text, rectangles, and the document around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape as escape_markup

from gcm.drawing.style import stylesheet

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def escape(text: str) -> str:
    """Return the text for use in XML; what XML cannot hold becomes the replacement character."""
    return escape_markup(_ILLEGAL.sub("\ufffd", text), {'"': "&quot;"})


def text(classes: str, x: int, y: int, words: str, anchor: str = "start") -> str:
    """Return a line of text."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{classes}" x="{x}" y="{y}"{where}>{escape(words)}</text>'


def rectangle(classes: str, width: int, height: int, radius: int, *, x: int = 0, y: int = 0) -> str:
    """Return a rectangle with round corners."""
    at = f'x="{x}" y="{y}" ' if x or y else ""
    return f'<rect class="{classes}" {at}width="{width}" height="{height}" rx="{radius}"/>'


def document(lines: Iterable[str], *, width: int, height: int, title: str, description: str) -> str:
    """Return a whole picture; screen readers tell its title and description."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f"<style>\n{stylesheet()}\n</style>",
            f'<rect class="ground" width="{width}" height="{height}"/>',
            *lines,
            "</svg>",
            "",
        ]
    )
