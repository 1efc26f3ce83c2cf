"""The page of a lab: HTML with a picture of the peers by round trip, and nothing from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from runtime.peers.watching.view import LabView, PeerLine

RELOAD = 3
"""Seconds until the page is fetched again."""

SIZE, MARGIN = 480, 70
_COLOURS = ("#2563eb", "#b45309", "#0f766e", "#9333ea", "#be185d", "#0891b2", "#65a30d", "#dc2626")
_STYLE = """
:root{color-scheme:light dark}body{font:15px system-ui,sans-serif;margin:2em auto;padding:0 1em;
max-width:76em}main{display:flex;flex-wrap:wrap;align-items:flex-start;gap:0 3em}
table{border-collapse:collapse}td,th{padding:.25em 1em .25em 0;text-align:left}
th{border-bottom:1px solid #8888}svg{max-width:100%;height:auto}
svg text{font:11px system-ui,sans-serif;fill:currentColor}.dim{opacity:.6}
circle.ring{fill:none;stroke:#8886}circle.here{fill:currentColor}
"""


def page(view: LabView) -> str:
    """Return the whole page of a lab."""
    title = f"{escape(view.lab)}, seen by {escape(view.name)}"
    peers = _table(
        ("peer", "address", "share", "round trip", "site", "runs", ""),
        [
            [
                *_cells(one.name, one.address, one.share, shown_rtt(one.rtt)),
                f'<span style="color:{_colour(one.site)}">●</span> {one.site}' if one.site else "",
                *_cells(one.busy, one.note),
            ]
            for one in view.peers
        ],
    )
    runs = _table(
        ("run", "user", "phase", "places", "peers, with ranks"),
        [
            _cells(one.program, one.user, one.phase, one.processes, ", ".join(one.peers))
            for one in view.runs
        ],
    )
    runs += '<p class="dim">3.1 is replica 1 of rank 3.</p>'
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta http-equiv="refresh" content="{RELOAD}"><style>{_STYLE}</style></head><body>'
        f"<h1>{title}</h1><p>{escape(view.state)}</p>"
        f"<h2>Peers: {len(view.peers)}</h2><main><div>{peers}</div>{picture(view.peers)}</main>"
        f"<h2>Runs: {len(view.runs)}</h2>{runs if view.runs else '<p>Nothing runs.</p>'}"
        f'<p class="dim">{view.told} of {len(view.peers)} peers have told of their runs.</p>'
        "</body></html>"
    )


def picture(peers: Sequence[PeerLine]) -> str:
    """Return an SVG: this peer in the middle, the others as far as their round trips, by site."""
    near = [one for one in peers if one.rtt]
    if not near:
        return ""
    low = math.log10(min(one.rtt or 1.0 for one in near) / 2)
    high = math.log10(max(one.rtt or 0.0 for one in near) * 1.2)
    middle, most = SIZE / 2, SIZE / 2 - MARGIN

    def radius(rtt: float) -> float:
        return most * (math.log10(rtt) - low) / (high - low)

    parts = []
    for power in range(math.floor(low), math.ceil(high) + 1):
        if low < power <= high:
            far = radius(10.0**power)
            parts.append(f'<circle class="ring" cx="{middle}" cy="{middle}" r="{far:.0f}"/>')
            parts.append(f'<text class="dim" x="{middle + 3}" y="{middle - far - 3:.0f}">'
                         f"{1000 * 10.0**power:g} ms</text>")  # fmt: skip
    ordered = sorted(near, key=lambda one: (one.site, one.name))
    for number, one in enumerate(ordered):
        angle = 2 * math.pi * ((number + 0.5) / len(ordered) - 0.25)  # none where rings are named
        far = radius(one.rtt or 1.0)
        x, y = middle + far * math.cos(angle), middle + far * math.sin(angle)
        colour = _colour(one.site)
        line = f'x1="{middle}" y1="{middle}" x2="{x:.0f}" y2="{y:.0f}"'
        parts.append(f'<line {line} stroke="{colour}" stroke-opacity=".35"/>')
        title = f"<title>{escape(one.name)} {shown_rtt(one.rtt)}</title>"
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="{colour}">{title}</circle>')
        if len(ordered) <= _NAMED:
            at, anchor = (x + 8, "start") if x >= middle else (x - 8, "end")
            parts.append(f'<text x="{at:.0f}" y="{y + 4:.0f}" text-anchor="{anchor}">'
                         f"{escape(one.name)}</text>")  # fmt: skip
    parts.append(f'<circle cx="{middle}" cy="{middle}" r="7" class="here"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="peers by round trip" '
        f'width="{SIZE}" height="{SIZE}" viewBox="0 0 {SIZE} {SIZE}">{"".join(parts)}</svg>'
    )


_NAMED = 60
"""With more peers the picture has no names; they show when the mouse is over a point."""


def shown_rtt(rtt: float | None) -> str:
    """Return a round trip for people.

    >>> [shown_rtt(one) for one in (None, 0.0, 0.000369, 0.0123)]
    ['', 'here', '0.37 ms', '12.30 ms']
    """
    if rtt is None:
        return ""
    return f"{1000 * rtt:.2f} ms" if rtt else "here"


def _colour(site: int) -> str:
    return _COLOURS[site % len(_COLOURS)]


def _cells(*values: object) -> list[str]:
    return [escape(str(one)) for one in values]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; cells are HTML."""
    heading = "".join(f"<th>{escape(one)}</th>" for one in head)
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    return f"<table><tr>{heading}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
