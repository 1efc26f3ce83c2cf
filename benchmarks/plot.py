"""The figures as two small SVG pictures, drawn with nothing but text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

WIDTH, HEIGHT, EDGE = 640, 320, 60
COLOURS = ("#2a6f97", "#c1666b", "#4f7942")
FONT = 'font-family="sans-serif" font-size="13"'


def lines(title: str, unit: str, across: Sequence[int], series: Mapping[str, list[float]]) -> str:
    """Return curves over `across`, from zero upwards, so that what is constant looks so."""
    top = 1.2 * max(max(values) for values in series.values())
    right, bottom = WIDTH - 3 * EDGE, HEIGHT - EDGE

    def place(index: int, value: float) -> tuple[float, float]:
        step = (right - EDGE) * across[index] / across[-1]
        return EDGE + step, bottom - (bottom - EDGE) * value / top

    parts = [_text(EDGE, EDGE / 2, title, weight="bold"), _text(EDGE, EDGE - 8, unit)]
    parts += [_line([(EDGE, EDGE), (EDGE, bottom), (right, bottom)], "#888")]
    parts += [_text(place(n, 0)[0], bottom + 20, f"{at:,}") for n, at in enumerate(across)]
    for (name, values), colour in zip(series.items(), COLOURS, strict=False):
        points = [place(index, value) for index, value in enumerate(values)]
        parts.append(_line(points, colour))
        parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>' for x, y in points]
        parts.append(_text(right + 8, points[-1][1] + 4, f"{name}: {values[-1]:.0f}", colour))
    return _picture(parts, HEIGHT)


def bars(title: str, values: Mapping[str, float]) -> str:
    """Return bars against a line at 1: everything that ends before it has met its goal."""
    most = max(1.5, *values.values())
    left, scale = 280, (WIDTH - 280 - EDGE) / most
    parts = [_text(EDGE / 3, 25, title, weight="bold")]
    for row, (name, value) in enumerate(values.items()):
        y = 45 + 26 * row
        colour = COLOURS[0] if value <= 1 else COLOURS[1]
        parts.append(_text(left - 10, y + 13, name, anchor="end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{value * scale:.0f}" height="18" fill="{colour}"/>'
        )
        parts.append(_text(left + value * scale + 6, y + 13, f"{value:.2f}"))
    bottom = 45 + 26 * len(values)
    parts.append(_line([(left + scale, 40), (left + scale, bottom)], "#222"))
    return _picture(parts, bottom + 20)


def _picture(parts: Sequence[str], height: int) -> str:
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">'
    return "\n".join(
        [start, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *parts, "</svg>\n"]
    )


def _line(points: Sequence[tuple[float, float]], colour: str) -> str:
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _text(
    x: float,
    y: float,
    text: str,
    colour: str = "#222",
    *,
    weight: str = "normal",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" {FONT} fill="{colour}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )
