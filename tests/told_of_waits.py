"""What users read above the waits of ranks, for tests of what stands below it."""

from __future__ import annotations

NEVER = "these ranks wait and can never go on:"
LEFT = "ranks wait for others that have ended, and would wait for ever:"


def stray(tag: int, size: int) -> str:
    """Return what is told with a wait of a message that has come, and that nobody receives."""
    return f" (a message that nobody receives has come: tag {tag}, {size} bytes)"
