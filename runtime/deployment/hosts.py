"""Lists of names with ranges: `node[01-16,20]` is node01 to node16 and node20."""

from __future__ import annotations

import re
from itertools import product

_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_SEPARATOR = re.compile(r"[\s,]+(?![^\[]*\])")

MOST_NAMES = 100_000
"""No list stands for more names than this, so that a slip of the pen cannot fill the memory."""


class HostListError(ValueError):
    """A list of names that cannot be read; the message says what is wrong with it."""


def expand_hosts(written: str) -> tuple[str, ...]:
    """Return the names of a list, in order; raises `HostListError`.

    Names are separated by blanks or commas. Numbers keep their leading zeros, and a name may have
    several ranges.

    >>> expand_hosts("node[08-10,20] master")
    ('node08', 'node09', 'node10', 'node20', 'master')
    """
    names: list[str] = []
    for word in _SEPARATOR.split(written.strip()):
        if word:
            names.extend(_expand_word(word, MOST_NAMES - len(names)))
    if not names:
        raise HostListError("the list is empty")
    return tuple(names)


def _expand_word(word: str, room: int) -> list[str]:
    if "".join(match.group() for match in _PIECE.finditer(word)) != word:
        raise HostListError(f"the brackets of '{word}' do not match")
    pieces = [
        [text] if text else _numbers(ranges, word, room) for ranges, text in _PIECE.findall(word)
    ]
    count = 1
    for piece in pieces:
        count *= len(piece)
    if count > room:
        raise HostListError(f"'{word}' stands for too many names; the most is {MOST_NAMES}")
    return ["".join(parts) for parts in product(*pieces)]


def _numbers(ranges: str, word: str, room: int) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise HostListError(f"'{part}' in '{word}' is neither a number nor a range like 01-16")
        first, last = found.group(1), found.group(2) or found.group(1)
        if int(last) < int(first):
            raise HostListError(
                f"the range {first}-{last} in '{word}' is empty: it ends before it begins"
            )
        if int(last) - int(first) >= room:
            raise HostListError(f"'{word}' stands for too many names; the most is {MOST_NAMES}")
        width = len(first)
        numbers.extend(f"{number:0{width}}" for number in range(int(first), int(last) + 1))
    return numbers
