"""Lists of names with ranges: `node[01-16,20]` is node01 to node16 and node20."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from gcm.records import dataclass

_WORD = re.compile(r"(?:\[[^\[\]]*\]|[^\s,])+")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)

MOST_NAMES = 100_000
"""No list stands for more names than this, so that a slip of the pen cannot fill the memory."""


MOST_DIGITS = 60
"""No number has more digits than this, as no label of a host's name is longer."""


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
    for word in _words(written):
        pieces = _pieces(word)
        room = MOST_NAMES - len(names)
        if _size(pieces) > room:
            raise HostListError(f"'{word}' stands for too many names; the most is {MOST_NAMES}")
        names.extend("".join(parts) for parts in product(*map(_texts, pieces)))
    return tuple(names)


def measure_hosts(written: str) -> tuple[int, tuple[str, ...]]:
    """Return how many names a list stands for, and the last one of each of its words.

    The names of one word differ in their digits only. Raises `HostListError`.

    >>> measure_hosts("node[08-10,20] master")
    (5, ('node20', 'master'))
    """
    count, samples = 0, []
    for word in _words(written):
        pieces = _pieces(word)
        count += _size(pieces)
        if count > MOST_NAMES:
            raise HostListError(f"'{word}' stands for too many names; the most is {MOST_NAMES}")
        samples.append("".join(_last(piece) for piece in pieces))
    return count, tuple(samples)


@dataclass(frozen=True, slots=True)
class _Range:
    """Numbers from the first to the last one, with leading zeros up to a width."""

    first: int
    last: int
    width: int


_Piece = str | tuple[_Range, ...]


def _words(written: str) -> list[str]:
    found = _WORD.findall(written)
    if not found:
        raise HostListError("the list is empty")
    return found


def _pieces(word: str) -> list[_Piece]:
    if "".join(match.group() for match in _PIECE.finditer(word)) != word:
        raise HostListError(f"the brackets of '{word}' do not match")
    return [text or _ranges(ranges, word) for ranges, text in _PIECE.findall(word)]


def _ranges(written: str, word: str) -> tuple[_Range, ...]:
    found = []
    for part in written.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise HostListError(f"'{part}' in '{word}' is neither a number nor a range like 01-16")
        first, last = match.group(1), match.group(2) or match.group(1)
        if max(len(first), len(last)) > MOST_DIGITS:
            raise HostListError(f"a number in '{word}' has more than {MOST_DIGITS} digits")
        if int(last) < int(first):
            raise HostListError(
                f"the range {first}-{last} in '{word}' is empty: it ends before it begins"
            )
        found.append(_Range(int(first), int(last), len(first)))
    return tuple(found)


def _size(pieces: list[_Piece]) -> int:
    sizes = (
        1 if isinstance(piece, str) else sum(one.last - one.first + 1 for one in piece)
        for piece in pieces
    )
    return prod(sizes)


def _texts(piece: _Piece) -> list[str]:
    if isinstance(piece, str):
        return [piece]
    return [f"{n:0{one.width}}" for one in piece for n in range(one.first, one.last + 1)]


def _last(piece: _Piece) -> str:
    return piece if isinstance(piece, str) else f"{piece[-1].last:0{piece[-1].width}}"
