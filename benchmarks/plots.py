"""Curves over sizes and bars over cases, as SVG, with nothing but text.

Both axes of curves are logarithmic, as sizes and times span many powers of ten. The colours are
those of the pictures that `gcm draw` makes, for light and for dark backgrounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from gcm.drawing.metrics import text_width

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 400, 70, 50, 50
ROW, LABEL_SIZE = 9, 12
MOST_LINES = 10
WORST = 20.0

_LIGHT = ("#2563eb", "#b45309", "#0f766e", "#9333ea", "#be185d", "#526075",
          "#0891b2", "#65a30d", "#dc2626", "#4338ca", "#a16207", "#111827")  # fmt: skip
_DARK = ("#60a5fa", "#f0a63a", "#2dd4bf", "#c084fc", "#f472b6", "#a3b1c6",
         "#22d3ee", "#a3e635", "#f87171", "#a5b4fc", "#fde047", "#f3f4f6")  # fmt: skip
_BASE = """text{font:12px "Segoe UI",Roboto,Arial,"DejaVu Sans",sans-serif}
.title{font-size:15px;font-weight:600}polyline{fill:none;stroke-width:2}"""

Series = Mapping[str, Mapping[int, float]]
"""For each name: a value for each size."""

Spreads = Mapping[str, Mapping[int, tuple[float, float]]]
"""For each name and size: between which bounds the value lies."""


def curves(
    title: str,
    series: Series,
    *,
    unit: str,
    factor: float = 1.0,
    across: str = "",
    spreads: Spreads | None = None,
) -> str:
    """Return lines through the values times `factor`; names stand at the right, where lines end.

    `across` tells what the sizes are; `spreads` are drawn as upright strokes through the values.

    Raises `ValueError` where there is nothing to draw.
    """
    points = {name: one for name, one in series.items() if one}
    if not points:
        raise ValueError(f"there are no values for '{title}'")
    sizes = sorted({size for one in points.values() for size in one})
    values = [value * factor for one in points.values() for value in one.values()]
    room = 30 + max(round(text_width(name, LABEL_SIZE)) for name in points)
    scale = _Scale(sizes[0], sizes[-1], LEFT, WIDTH - room)
    bounds = [
        (name, size, below * factor, above * factor)
        for name, some in (spreads or {}).items()
        for size, (below, above) in some.items()
        if name in points and size in points[name] and 0 < below < above
    ]
    values += [value for *_, below, above in bounds for value in (below, above)]
    low = 10.0 ** math.floor(math.log10(min(values)))
    high = 10.0 ** math.ceil(math.log10(max(values)))
    up = _Scale(low, high, HEIGHT - BOTTOM, TOP)
    parts = [*_grid(scale, up, sizes, (low, high)), _text(LEFT, TOP - 8, unit)]
    parts.append(_text(scale.at(sizes[-1]), HEIGHT - 14, across, "axis", anchor="end"))
    ends: dict[str, tuple[float, int]] = {}
    for number, (name, one) in enumerate(points.items()):
        places = [(scale.at(size), up.at(one[size] * factor)) for size in sorted(one)]
        parts.append(_line(places, f'class="s{number % len(_LIGHT)}"'))
        ends[name] = places[-1][1], number
    for name, size, below, above in bounds:
        style = f'class="s{ends[name][1] % len(_LIGHT)}" stroke-opacity="0.6"'
        x = scale.at(size)
        parts.append(_line([(x, up.at(below)), (x, up.at(above))], style))
    taken: list[float] = []
    for name, (end, number) in sorted(ends.items(), key=lambda item: item[1]):
        taken.append(_free(end + 4, taken))
        parts.append(_text(scale.at(sizes[-1]) + 8, taken[-1], name, f"t{number % len(_LIGHT)}"))
    return _picture(title, parts, HEIGHT)


def bars(title: str, cases: Mapping[str, Mapping[str, float]], names: Sequence[str]) -> str:
    """Return groups of bars: for each case one bar per name, from 0, with a line at 1.

    Bars longer than twenty are cut off there; their figure tells the truth.
    """
    label = 20 + max((round(text_width(case, LABEL_SIZE)) for case in cases), default=0)
    most = min(WORST, max((v for one in cases.values() for v in one.values()), default=1.0))
    across = (WIDTH - label - 60) / max(1.5, most)
    parts, y = _keys(names, label), TOP + 22
    for case, values in cases.items():
        middle = y + ROW * len(names) / 2 + 4
        parts.append(_text(label - 8, middle, case, anchor="end"))
        for number, name in enumerate(names):
            if name in values:
                width = min(values[name], WORST) * across
                shape = f'x="{label}" y="{y + 1}" width="{width:.1f}" height="{ROW - 2}"'
                parts.append(f'<rect class="t{number % len(_LIGHT)}" {shape}/>')
                parts.append(
                    f'<text x="{label + width + 4:.0f}" y="{y + ROW - 1}" class="axis" '
                    f'style="font-size:8px">{values[name]:.2f}</text>'
                )
            y += ROW
        y += 8
    parts.append(_line([(label + across, TOP + 16), (label + across, y)], 'class="axis"'))
    return _picture(title, parts, y + 20)


def _keys(names: Sequence[str], left: int) -> list[str]:
    parts, x = [], float(left)
    for number, name in enumerate(names):
        parts.append(_text(x, TOP, name, f"t{number % len(_LIGHT)}"))
        x += text_width(name, LABEL_SIZE) + 18
    return parts


class _Scale:
    """Puts the logarithm of a value between two places."""

    def __init__(self, low: float, high: float, begin: float, end: float) -> None:
        self._low, self._begin = math.log(low), begin
        span = math.log(high) - self._low
        self._slope = (end - begin) / span if span else 0.0

    def at(self, value: float) -> float:
        return self._begin + (math.log(value) - self._low) * self._slope


def _free(wanted: float, taken: Sequence[float]) -> float:
    """Return the next place below the wanted one where a name hides no other one."""
    while any(abs(wanted - one) < LABEL_SIZE for one in taken):
        wanted += 1
    return wanted


def _grid(
    across: _Scale, up: _Scale, sizes: Sequence[int], edges: tuple[float, float]
) -> list[str]:
    parts = []
    right, bottom = across.at(sizes[-1]), HEIGHT - BOTTOM
    low, high = edges
    powers = range(round(math.log10(low)), round(math.log10(high)) + 1)
    for power in powers[:: math.ceil(len(powers) / MOST_LINES)]:
        y = up.at(10.0**power)
        parts.append(_line([(LEFT, y), (right, y)], 'class="grid"'))
        parts.append(_text(LEFT - 6, y + 4, f"{10.0**power:,.10g}", "axis", anchor="end"))
    last = -math.inf
    for size in sizes:
        x = across.at(size)
        if x - last >= 50:
            parts.append(_text(x, bottom + 18, _short(size), "axis", anchor="middle"))
            last = x
    return parts


def _short(size: int) -> str:
    for unit, factor in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if size >= factor and not 4 * size % factor:
            return f"{size / factor:g}{unit}"
    return f"{size:,}"


def _line(points: Sequence[tuple[float, float]], attributes: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" {attributes}/>'


def _text(x: float, y: float, text: str, style: str = "axis", *, anchor: str = "start") -> str:
    where = f'x="{x:.0f}" y="{y:.0f}"'
    return f'<text {where} class="{style}" text-anchor="{anchor}">{escape(text)}</text>'


def _picture(title: str, parts: Sequence[str], height: float) -> str:
    size = f'width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>'
    ground = f'<rect class="ground" width="{WIDTH}" height="{height:.0f}"/>'
    style = f"<style>{_BASE}{_theme(_LIGHT, '#fff', '#526075', '#e2e8f0')}"
    dark = _theme(_DARK, "#0f172a", "#a3b1c6", "#334155")
    style += f"@media (prefers-color-scheme:dark){{{dark}}}</style>"
    heading = _text(16, 24, title, "title axis")
    return "\n".join([head, style, ground, heading, *parts, "</svg>\n"])


def _theme(colours: Sequence[str], ground: str, ink: str, grid: str) -> str:
    rules = [f".ground{{fill:{ground}}}.axis{{fill:{ink}}}polyline.axis{{stroke:{ink}}}"]
    rules.append(f".grid{{stroke:{grid};stroke-width:1}}")
    rules += [f".s{n}{{stroke:{one}}}.t{n}{{fill:{one}}}" for n, one in enumerate(colours)]
    return "".join(rules)
