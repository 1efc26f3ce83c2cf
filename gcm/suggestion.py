"""Suggests the nearest known name for an unknown one."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name most like `name`, or nothing when none is like it.

    >>> nearest("greter", ["greeter", "logger"])
    'greeter'
    """
    import difflib  # imported only for errors

    folded = {candidate.casefold(): candidate for candidate in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?" for the known name most like `name`, or nothing.

    >>> did_you_mean("greter", ["greeter", "logger"])
    "did you mean 'greeter'?"
    """
    found = nearest(name, known)
    return f"did you mean '{found}'?" if found else ""
