"""Reads the words in which somebody tells how often hosts fail, and writes times and chances."""

from __future__ import annotations

import re

UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "y": 31557600.0}

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(s|min|h|d|w|y)\s*")
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*/\s*(\d+(?:\.\d+)?|\.\d+)?\s*(s|min|h|d|w|y)\s*")
_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*%\s*")


def duration(written: str) -> float:
    """Return seconds; raises ValueError.

    >>> duration("90min"), duration("2h")
    (5400.0, 7200.0)
    """
    found = _DURATION.fullmatch(written)
    seconds = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not seconds:
        raise ValueError(f"'{written}' is not a duration; write it as 30s, 90min, 2h, 5d or 1y")
    return seconds


def rate(written: str) -> float:
    """Return failures per second; raises ValueError.

    >>> rate("1/h") * 3600, rate("2 / 10d") * 864000
    (1.0, 2.0)
    """
    found = _RATE.fullmatch(written)
    per = float(found[2] or 1) * UNITS[found[3]] if found else 0.0
    if not found or not per:
        raise ValueError(
            f"'{written}' is not a rate of failures; write how often a host fails as 1/30d or"
            " 0.01/h, or how likely it fails during the run as 5%"
        )
    return float(found[1]) / per


def chance(written: str) -> float:
    """Return a probability between 0 and 1; raises ValueError.

    >>> chance("5%"), chance("0.05")
    (0.05, 0.05)
    """
    found = _PERCENT.fullmatch(written)
    try:
        value = float(found[1]) / 100 if found else float(written)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError(
            f"'{written}' is not a probability; write it as 5% or 0.05, between 0 and 1"
        )
    return value


def is_chance(written: str) -> bool:
    """Tell whether somebody writes a chance, and not a rate."""
    return "/" not in written


def shown_time(seconds: float) -> str:
    """Return a duration in its own unit.

    >>> [shown_time(one) for one in (45.0, 5400.0, 7200.0, 90000.0)]
    ['45 s', '90 min', '2 h', '25 h']
    """
    unit = next((one for one in ("y", "d", "h", "min") if seconds >= 2 * UNITS[one]), "s")
    return f"{seconds / UNITS[unit]:.3g} {unit}"


def shown_chance(value: float) -> str:
    """Return a probability as people read it.

    >>> [shown_chance(one) for one in (0.99999, 0.27414, 0.01, 0.0008, 1e-9, 0.0)]
    ['>99.9 %', '27.4 %', '1 %', '0.08 %', '1e-09', '0']
    """
    if _ALMOST < value < 1:
        return ">99.9 %"
    if not value:
        return "0"
    return f"{value:.0e}" if value < _SMALL else f"{100 * value:.3g} %"


_SMALL = 1e-5
_ALMOST = 0.9995
