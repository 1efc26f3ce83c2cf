"""Which variables of the caller's environment go where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

_NAME = re.compile(r"[A-Za-z_*][A-Za-z0-9_.*-]*")

TRAVELLING = (
    "BLIS_*",
    "GCM_MOST_CONNECTIONS",
    "GOMP_*",
    "KMP_*",
    "MKL_*",
    "MPI4PY_*",
    "NUMBA_*",
    "NUMEXPR_*",
    "OMP_*",
    "OPENBLAS_*",
    "PYTHONDEVMODE",
    "PYTHONFAULTHANDLER",
    "PYTHONHASHSEED",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
)
"""What every rank gets by default: how many threads, and how Python behaves."""


def matching(pattern: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of that name, in which `*` stands for any text.

    >>> matching("OMP_*", {"OMP_NUM_THREADS": "2", "HOME": "/home/ana"})
    {'OMP_NUM_THREADS': '2'}
    """
    if not is_pattern(pattern):
        return {pattern: environment[pattern]} if pattern in environment else {}
    return {name: environment[name] for name in sorted(environment) if fnmatchcase(name, pattern)}


def is_name(text: str, *, or_pattern: bool = False) -> bool:
    """Return whether a text is a valid name of a variable, or a pattern of names."""
    return bool(_NAME.fullmatch(text)) and (or_pattern or not is_pattern(text))


def is_pattern(name: str) -> bool:
    """Return whether a name is a pattern."""
    return "*" in name


def travelling(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that every rank gets, wherever it runs."""
    return {
        name: value
        for pattern in TRAVELLING
        for name, value in matching(pattern, environment).items()
    }
