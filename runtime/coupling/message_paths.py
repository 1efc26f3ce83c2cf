"""The paths of messages between participants, front-ends and the launcher, and their names."""

from __future__ import annotations

from runtime.machine.paths import RANKS
from runtime.part_names import part_above

DRIVER = "(driver)"
"""The name that ranks use for the Python program that holds the machine; no code can have it."""


def rank_path(identifier: str) -> str:
    """Return the message path of a rank, given as `site:cluster:rank`."""
    return RANKS + identifier


def cluster_of(path: str) -> str:
    """Return the cluster whose front-end a message goes to, or "" if it goes to the launcher.

    >>> cluster_of("/ranks/0:1:2"), cluster_of("/driver")
    ('0:1', '')
    """
    return part_above(path.removeprefix(RANKS)) if path.startswith(RANKS) else ""


def identifier_of(path: str) -> str:
    """Return the identifier of the rank at a path, or ""."""
    return path.removeprefix(RANKS) if path.startswith(RANKS) else ""
