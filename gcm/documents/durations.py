"""Durations as they are written in documents: `60s`, `5min`, `2h`, or a number of seconds."""

from __future__ import annotations

import re

DURATION_PATTERN = r"([1-9][0-9]{0,5}(\.[0-9]{1,3})?|0\.0{0,2}[1-9][0-9]{0,2})(s|min|h)?"
"""What a duration looks like, for Python and XML Schema; without a unit it is in seconds."""

DURATION_HINT = "write it as 60s, 5min or 2h"

_DURATION = re.compile(DURATION_PATTERN)
_SECONDS = {"": 1, "s": 1, "min": 60, "h": 3600}


def is_duration(text: str) -> bool:
    """Return whether the text is a duration, with blanks around it at most."""
    return _DURATION.fullmatch(text.strip()) is not None


def seconds_of(text: str) -> float:
    """Return the seconds of a duration; 0 where nothing is written.

    >>> seconds_of("1.5min"), seconds_of("")
    (90.0, 0.0)
    """
    text = text.strip()
    number = text.rstrip("sminh")
    return float(number) * _SECONDS[text[len(number) :]] if text else 0.0
