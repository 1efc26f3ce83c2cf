"""Reads which ports of codes are connected."""

from __future__ import annotations

from collections.abc import Sequence

from gcm.documents import CheckedElement, did_you_mean
from runtime.code_port import CodePort, PortLink
from runtime.deployment.context import Reading
from runtime.deployment.model import Application


def read_links(
    root: CheckedElement, applications: Sequence[Application], reading: Reading
) -> tuple[PortLink, ...]:
    """Return the links between ports; each port only gives, or takes from one other."""
    found: list[PortLink] = []
    codes = [one.name for one in applications]
    for entry in root.each("connect"):
        if not (entry["from"] and entry["to"]):
            continue  # that was reported
        link: PortLink = entry.record(reading)
        unknown = [end.code for end in link if end.code not in codes]
        for code in unknown:
            reading.fault(
                "unknown-code",
                f"there is no application '{code}' to connect",
                entry.location,
                hint=did_you_mean(code, codes) or f"there are: {', '.join(codes) or 'none'}",
            )
        if unknown:
            continue
        if problem := _problem(link, found):
            reading.fault("bad-connection", problem, entry.location)
        else:
            found.append(link)
    return tuple(found)


def _problem(link: PortLink, before: Sequence[PortLink]) -> str:
    """Return why a link cannot be beside those before it; empty if it can."""
    if link.giver.code == link.taker.code:
        return f"{link} would connect a code with itself"
    sources: dict[CodePort, CodePort] = {one.taker: one.giver for one in before}
    if link.taker in sources:
        return f"port {link.taker} takes from {sources[link.taker]} already"
    if link.giver in sources:
        return f"port {link.giver} takes from {sources[link.giver]}, so it cannot give"
    if any(one.giver == link.taker for one in before):
        return f"port {link.taker} gives, so it cannot take from {link.giver}"
    return ""
