"""The table of who is where: encoded once, passed on as it is, opened where it is needed."""

from __future__ import annotations

from typing import Any

from runtime.transport.messages import PLAIN_DATA

Report = dict[str, Any]
"""What others know of a rank: its name, its host, and the addresses at which it listens."""


def encoded(reports: list[Report]) -> bytes:
    """Return the bytes that travel.

    >>> decoded(encoded([{"rank": "0:0:0", "host": "here"}]))
    [{'rank': '0:0:0', 'host': 'here'}]
    """
    return bytes(PLAIN_DATA.dump(reports)[0])


def decoded(table: bytes) -> list[Report]:
    """Return what was encoded; raises `pickle.UnpicklingError` for anything but plain data."""
    reports: list[Report] = PLAIN_DATA.load([table])
    return reports
