"""Lists of hosts and of other names, with ranges: `node[01-16,20]`, `node[0-9;2]^[4]`.

The one parser of such lists, for descriptors and for the command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, product
from math import prod

from gcm.records import dataclass
from runtime.safe_names import is_host, without_brackets

_WORD = re.compile(r"(?:\[[^\[\]]*\]|[^\s,])+")
_PIECE = re.compile(r"\[(?P<numbers>[^\[\]]*)\](?:\^\[(?P<without>[^\[\]]*)\])?|(?P<text>[^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?:;(\d+))?)?", re.ASCII)

MOST_NAMES = 100_000
"""The most names in a list, so that a typing error cannot fill the memory."""


MOST_DIGITS = 60
"""The most digits of a number: no label of a host's name is longer."""


class HostListError(ValueError):
    """An invalid list of names; the message says why."""


class NotAHostError(HostListError):
    """A list with an item that is neither a host name nor an address."""

    def __init__(self, name: str) -> None:
        super().__init__(f"'{name}' is not a host name, an IPv4 address or an IPv6 address")
        self.name = name


def split_names(written: str) -> list[str]:
    """Split a list into words, at blanks and commas outside of brackets.

    >>> split_names("node[1, 3] master")
    ['node[1, 3]', 'master']
    """
    found = _WORD.findall(written)
    if not found:
        raise HostListError("the list is empty")
    return found


def expand_names(written: str) -> tuple[str, ...]:
    """Return the names of a list, in order; raises `HostListError`.

    `[0-9;2]` counts in steps, and `^[...]` behind a range leaves numbers out. Numbers keep their
    leading zeros, and a name may have several ranges.

    >>> expand_names("node[08-10,20] rack[0-6;2]^[4]")
    ('node08', 'node09', 'node10', 'node20', 'rack0', 'rack2', 'rack6')
    """
    names: list[str] = []
    for word in split_names(written):
        pieces = _pieces(word)
        _require_room(word, len(names) + _size(pieces))
        names.extend("".join(parts) for parts in product(*map(_texts, pieces)))
    return tuple(names)


def measure_names(written: str) -> tuple[int, tuple[str, ...]]:
    """Return how many names a list stands for, and a few of them; raises `HostListError`.

    The names of one word differ in their digits only. The samples have the first and the last
    number of each range, so if they are valid hosts, all are.

    >>> measure_names("node[08-10,20] master")
    (5, ('node08', 'node10', 'node20', 'master'))
    """
    count: int = 0
    samples: dict[str, None] = {}
    for word in split_names(written):
        pieces = _pieces(word)
        count += _size(pieces)
        _require_room(word, count)
        samples.update(dict.fromkeys(_samples(pieces)))
    return count, tuple(samples)


def expand_hosts(written: str) -> tuple[str, ...]:
    """Return the hosts of a list, in order, IPv6 addresses without brackets.

    >>> expand_hosts("node[0-3]^[1-2] [::1]")
    ('node0', 'node3', '::1')

    Raises:
        NotAHostError: an item is not a host.
        HostListError: the list is invalid.
    """
    names = expand_names(_without_address_brackets(written))
    _require_hosts(names)
    return names


def measure_hosts(written: str) -> int:
    """Return how many hosts a list stands for; raises what `expand_hosts` raises."""
    count, samples = measure_names(_without_address_brackets(written))
    _require_hosts(samples)
    return count


def _without_address_brackets(written: str) -> str:
    if ":" not in written:
        return written
    words = split_names(written)
    return " ".join(without_brackets(word) if is_host(word) else word for word in words)


def _require_hosts(names: tuple[str, ...]) -> None:
    for name in names:
        if not is_host(name):
            raise NotAHostError(name)


@dataclass(frozen=True, slots=True)
class _Range:
    """Numbers in steps, with leading zeros up to a width, without some of them."""

    numbers: range
    width: int
    without: frozenset[int]

    def kept(self, *, backwards: bool = False) -> Iterator[int]:
        order = reversed(self.numbers) if backwards else iter(self.numbers)
        return (number for number in order if number not in self.without)

    def size(self) -> int:
        return sum(1 for _ in self.kept()) if self.without else _length(self.numbers)

    def texts(self) -> Iterator[str]:
        return (f"{number:0{self.width}}" for number in self.kept())

    def ends(self) -> Iterator[str]:
        """Yield the first and the last number."""
        for order in (self.kept(), self.kept(backwards=True)):
            yield from (f"{number:0{self.width}}" for number in islice(order, 1))


_Piece = str | tuple[_Range, ...]


def _length(numbers: range) -> int:
    """Return how many numbers there are, which `len` cannot if there are too many."""
    return (numbers[-1] - numbers.start) // numbers.step + 1


def _require_room(word: str, count: int) -> None:
    if count > MOST_NAMES:
        raise HostListError(f"'{word}' stands for too many names; the most is {MOST_NAMES}")


def _pieces(word: str) -> list[_Piece]:
    found = list(_PIECE.finditer(word))
    if "".join(match.group() for match in found) != word:
        raise HostListError(f"the brackets of '{word}' do not match")
    if any(match["text"] and "^" in match["text"] for match in found):
        raise HostListError(
            f"'^' in '{word}' leaves out numbers of the range before it: write node[0-9]^[3-5]"
        )
    return [match["text"] or _numbers(match["numbers"], match["without"], word) for match in found]


def _numbers(written: str, without: str | None, word: str) -> tuple[_Range, ...]:
    ranges = list(_ranges(written, word))
    if without is None:
        return tuple(_Range(numbers, width, frozenset()) for numbers, width in ranges)
    excluded = list(_ranges(without, word))
    _require_room(word, sum(_length(numbers) for numbers, _ in (*ranges, *excluded)))
    left_out = frozenset(number for numbers, _ in excluded for number in numbers)
    found = tuple(_Range(numbers, width, left_out) for numbers, width in ranges)
    if not any(one.size() for one in found):
        raise HostListError(f"'{word}' leaves out every number that it names")
    return found


def _ranges(written: str, word: str) -> Iterator[tuple[range, int]]:
    for part in written.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise HostListError(
                f"'{part}' in '{word}' is neither a number nor a range like 01-16 or 0-9;2"
            )
        first, last, step = match[1], match[2] or match[1], match[3] or "1"
        if max(map(len, (first, last, step))) > MOST_DIGITS:
            raise HostListError(f"a number in '{word}' has more than {MOST_DIGITS} digits")
        if int(last) < int(first):
            raise HostListError(
                f"the range {first}-{last} in '{word}' is empty: it ends before it begins"
            )
        if int(step) == 0:
            raise HostListError(f"the step of '{part}' in '{word}' is 0; the least is 1")
        yield range(int(first), int(last) + 1, int(step)), len(first)


def _size(pieces: list[_Piece]) -> int:
    sizes = (1 if isinstance(one, str) else sum(each.size() for each in one) for one in pieces)
    return prod(sizes)


def _texts(piece: _Piece) -> list[str]:
    return [piece] if isinstance(piece, str) else [text for one in piece for text in one.texts()]


def _samples(pieces: list[_Piece]) -> Iterator[str]:
    """Yield names with the ends of each range, and the longest numbers in the other ranges."""
    ends = [
        [one] if isinstance(one, str) else [text for each in one for text in each.ends()]
        for one in pieces
    ]
    longest = [max(texts, key=len) for texts in ends]
    for place, texts in enumerate(ends):
        for text in () if isinstance(pieces[place], str) and len(pieces) > 1 else texts:
            yield "".join((*longest[:place], text, *longest[place + 1 :]))
