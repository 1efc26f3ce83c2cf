"""How batch systems write times, and commands that reach a node by a remote shell: pure text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby

_LONGEST_NUMBER = 12

_TIME = re.compile(r"(\d{1,9}-)?\d{1,9}(:\d{1,9}){0,2}")


def seconds_of(time: str) -> float | None:
    """Return a time that is written as days-hours:minutes:seconds, None for what is no time.

    >>> seconds_of("1-02:00:05"), seconds_of("30:00"), seconds_of("UNLIMITED")
    (93605.0, 1800.0, None)
    """
    if not _TIME.fullmatch(time):
        return None
    days, _, rest = time.rpartition("-")
    total = 0
    for part in rest.split(":"):
        total = 60 * total + int(part)
    return float(total + 86400 * int(days or "0"))


_PLACES = re.compile(r"(\d{1,6})(?:\(x(\d{1,6})\))?")
MOST_NODES = 100_000


def places_of(text: str) -> tuple[int, ...]:
    """Return the numbers of a list in which equal neighbours may be counted.

    Returns () for what is none, or has more than there are nodes anywhere.

    >>> places_of("4(x2),1"), places_of("4"), places_of("four"), places_of("1(x999999)")
    ((4, 4, 1), (4,), (), ())
    """
    found = [_PLACES.fullmatch(one.strip()) for one in text.split(",")]
    parts = [(int(one[1]), int(one[2] or 1)) for one in found if one is not None]
    if len(parts) < len(found) or sum(times for _, times in parts) > MOST_NODES:
        return ()
    return tuple(number for number, times in parts for _ in range(times))


def written_places(places: Sequence[int]) -> str:
    """Return such a list as text.

    >>> written_places((4, 4, 1)), written_places((8, 8))
    ('4(x2),1', '8(x2)')
    """
    runs = [(number, len(list(equal))) for number, equal in groupby(places)]
    return ",".join(f"{number}(x{times})" if times > 1 else str(number) for number, times in runs)


def count_of(text: str) -> int | None:
    """Return a whole number, None for what is none or absurdly long.

    >>> count_of("16"), count_of("sixteen"), count_of("9" * 5000)
    (16, None, None)
    """
    return int(text) if text.isdecimal() and len(text) <= _LONGEST_NUMBER else None


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds.

    >>> clock(7230.2)
    '2:00:31'
    """
    whole = -int(-seconds // 1)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def on_our_clock(start: str, ahead: float) -> str:
    """Return a time that a batch system tells as a clock here will show it.

    The clock there is so many seconds ahead of ours: it is wrong, or in another time zone. What is
    no time is returned as it is.

    >>> on_our_clock("2026-11-24T14:20:00", 3601.2), on_our_clock("Tomorr 14:20", 3601.2)
    ('2026-11-24T13:20:00', 'Tomorr 14:20')
    """
    try:  # in whole minutes, so that what is shown does not change with each question
        return (datetime.fromisoformat(start) - timedelta(minutes=round(ahead / 60))).isoformat()
    except (ValueError, OverflowError):
        return start


def directives(prefix: str, options: Sequence[tuple[str, str]], more: Sequence[str]) -> list[str]:
    """Return options that have a value as lines of a script, then further words, one in a line."""
    lines = [f"{prefix} {option}{value}" for option, value in options if value]
    return [*lines, *(f"{prefix} {word}" for word in more)]


_REMOTE = r"""shell=$1 host=$2; shift 2; line=
for word; do line="$line '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"; done
exec $shell "$host" "$line"
"""


def remote_shell(
    shell: str, host: str, environment: Mapping[str, str] | None = None
) -> Sequence[str]:
    """Return what goes before a command, so that a remote shell runs it on a host word by word.

    A remote shell joins words with blanks and lets a shell take them apart again; so each is
    quoted.
    """
    settings = [f"{name}={value}" for name, value in (environment or {}).items()]
    return ("/bin/sh", "-c", _REMOTE, "gcm", shell, host, *(["env", *settings] if settings else []))


SSH = "ssh -o BatchMode=yes"
"""The remote shell of systems that have none of their own."""
