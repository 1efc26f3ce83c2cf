"""The colours and fonts of a picture, for light and for dark backgrounds."""

from __future__ import annotations

WIRE_COLOURS = 6
"""Nets take turns with this many colours, so that neighbouring wires can be told apart."""

_SHARED = """
text{font-family:"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
.heading{font-size:17px;font-weight:600}
.name{font-size:13px;font-weight:600}
.note{font-size:10px}
.label,.key{font-size:11px}
.box{stroke-width:1.4}
.composite{stroke-width:1.2}
.shared{stroke-dasharray:6 3}
.port{fill:none;stroke-width:1.8;stroke-linecap:round;stroke-linejoin:round}
.optional{stroke-dasharray:2.5 3}
.icon{fill:none;stroke-width:1.3;stroke-linecap:round;stroke-linejoin:round}
.wire{fill:none;stroke-width:1.5;stroke-linejoin:round}
.many{stroke-width:2.6}
.content{stroke-width:1}
.wire:hover{stroke-width:3.5}
""".strip()

# For each selector: the property, its light value, its dark value.
_COLOURS = (
    (".ground", "fill", "#ffffff", "#0f172a"),
    ("text", "fill", "#1e293b", "#e2e8f0"),
    (".note,.label,.key", "fill", "#526075", "#a3b1c6"),
    (".composite", "stroke", "#94a3b8", "#52627a"),
    (".even", "fill", "#f8fafc", "#131d33"),
    (".odd", "fill", "#eef2f7", "#1b2742"),
    (".primitive", "fill", "#ffffff", "#0c1426"),
    (".primitive", "stroke", "#526075", "#94a3b8"),
    (".active", "fill", "#eaf3ff", "#10264a"),
    (".active", "stroke", "#2563eb", "#60a5fa"),
    (".wrapper", "fill", "#fff6e5", "#2c200c"),
    (".wrapper", "stroke", "#b45309", "#f0a63a"),
    (".clustering", "fill", "#f3eeff", "#251b45"),
    (".clustering", "stroke", "#7c3aed", "#a78bfa"),
    (".controller", "fill", "#ffffff", "#0c1426"),
    (".controller", "stroke", "#94a3b8", "#52627a"),
    (".membrane", "fill", "#e3e9f1", "#25324c"),
    (".server", "stroke", "#c8322b", "#fb7b74"),
    (".client", "stroke", "#15803d", "#4ade80"),
    (".control", "stroke", "#64748b", "#94a3b8"),
    (".funnel.server", "fill", "#c8322b", "#fb7b74"),
    (".funnel.client", "fill", "#15803d", "#4ade80"),
    (".icon", "stroke", "#64748b", "#94a3b8"),
    (".wire0", "stroke", "#526075", "#a3b1c6"),
    (".wire1", "stroke", "#2563eb", "#60a5fa"),
    (".wire2", "stroke", "#b45309", "#f0a63a"),
    (".wire3", "stroke", "#0f766e", "#2dd4bf"),
    (".wire4", "stroke", "#9333ea", "#c084fc"),
    (".wire5", "stroke", "#be185d", "#f472b6"),
)


_DARK_RULES = "@media (prefers-color-scheme:dark){"


def stylesheet() -> str:
    """Return the rules: the light colours, and the dark ones where the reader prefers them."""
    light = "\n".join(f"{where}{{{what}:{value}}}" for where, what, value, _ in _COLOURS)
    dark = "\n".join(f"{where}{{{what}:{value}}}" for where, what, _, value in _COLOURS)
    return f"{_SHARED}\n{light}\n{_DARK_RULES}\n{dark}\n}}"


def with_colours(picture: str, colours: str) -> str:
    """Return a picture with the colours for a `light` or a `dark` background only.

    Anything else leaves the choice to the reader.
    """
    if colours == "light":
        before, _, rest = picture.partition(f"\n{_DARK_RULES}\n")
        return before + rest.partition("\n}\n")[2].join(("\n", ""))
    if colours == "dark":
        before, _, rest = picture.partition(f"{_DARK_RULES}\n")
        dark, _, after = rest.partition("\n}\n")
        return f"{before}{dark}\n{after}"
    return picture
