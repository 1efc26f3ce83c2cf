"""Guesses what was meant by an unknown name, so that one fault does not bring on others."""

from __future__ import annotations

from collections.abc import Iterable

from gcm.documents import did_you_mean


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that a hint would suggest, or the empty string."""
    _, _, suggestion = did_you_mean(name, known).partition("'")
    return suggestion.rpartition("'")[0]
