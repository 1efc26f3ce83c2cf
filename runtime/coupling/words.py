"""The words that participants, front-ends and the launcher share: paths and names."""

from __future__ import annotations

from runtime.machine.paths import RANKS

DRIVER = "(driver)"
"""What ranks call the Python program that holds the machine; no code can have this name."""

DRIVER_PATH = "/driver"


def rank_path(identifier: str) -> str:
    """Return where messages for a rank go: its identifier is `site:cluster:rank`."""
    return RANKS + identifier


def cluster_of(path: str) -> str:
    """Return the cluster whose front-end a message goes to, or nothing if it goes to the launcher.

    >>> cluster_of("/ranks/0:1:2"), cluster_of("/driver")
    ('0:1', '')
    """
    return path.removeprefix(RANKS).rpartition(":")[0] if path.startswith(RANKS) else ""


def identifier_of(path: str) -> str:
    """Return which rank a path means, or nothing."""
    return path.removeprefix(RANKS) if path.startswith(RANKS) else ""
