"""Whether native requests may wait for something else than ranks: files, or other processes."""

from __future__ import annotations

_calls: set[str] = set()


def reaches_out_by(call: str) -> None:
    """Take note of a call after which a native request may wait for a file or for a process.

    Such a process is one that the program has started itself.
    """
    _calls.add(call)


def reaches_out() -> bool:
    """Return whether there was such a call."""
    return bool(_calls)
