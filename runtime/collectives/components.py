"""Collectives through the clustering components: the ranks' part, and how components merge. Pure.

Each member gives its data to the component of its cluster. A component joins or reduces what those
below it gave, in the order of ranks, and passes one message up. The component that has all members
below it sends the result down, to the root or to everybody; others get an empty message, so that
nobody is ahead. This is the model without tensioning: data go where control goes, and components
take the whole of them. It is there to be compared with the other plans, which send between ranks.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from runtime.collectives.blocks import Blocks
from runtime.collectives.layout import Layout
from runtime.collectives.port import Data, Parcel, Steps, content
from runtime.part_names import numbers_of

MOST_BYTES = 8 << 20
"""The data of all members together: larger ones would hold up what else components have to do."""

EVERYBODY = -1

JOIN = "join"
"""The rule by which the data of all members follow one another."""

_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": operator.add,
    "prod": operator.mul,
    "max": max,
    "min": min,
}
_CODES = "bBhHiIlLqQfd"


class ComponentPort(Protocol):
    """One member's way to the component of its cluster, for one collective operation."""

    def contribute(self, rule: str, data: Data, root: int) -> Parcel:
        """Give data, to be merged by a rule; the result is for the root or for `EVERYBODY`."""


def through(port: ComponentPort, rule: str, data: Data, root: int = EVERYBODY) -> Steps[memoryview]:
    """Return the result; nothing at members that get none."""
    parcel = port.contribute(rule, data, root)
    yield (parcel,)
    return content(parcel)


def barrier(_: Layout, port: ComponentPort) -> Steps[None]:
    """Return when every member has come."""
    yield from through(port, JOIN, b"")


def gather(
    layout: Layout, port: ComponentPort, mine: memoryview | None, into: Blocks | None, root: int
) -> Steps[bool]:
    """Gather equal blocks at the root, whose own one may be in place; return whether they fit."""
    own = memoryview(bytes(into.sizes[root])) if mine is None and into is not None else mine
    assert own is not None
    found = yield from through(port, JOIN, own, root)
    if into is None:
        return True
    if len(found) != into.total:
        return False
    others = [rank for rank in range(layout.size) if rank != root or mine is not None]
    blocks = Blocks.in_a_row(into.sizes, found)
    for rank in others:
        into[rank][:] = blocks[rank]
    return True


def folding(fold: str, code: str) -> str:
    """Return the rule of a reduction, nothing if components do not know it.

    `code` is that of `array` for the elements.

    >>> folding("sum", "d"), folding("sum", "g"), folding("land", "i")
    ('sum d', '', '')
    """
    is_known = fold in _FOLDS and len(code) == 1 and code in _CODES
    return f"{fold} {code}" if is_known else ""


def merged(rule: str, given: Sequence[bytes | str]) -> bytes | str:
    """Return as one what several members gave; integers wrap around as those of C do.

    A text says why that cannot be: one of them has given it, or their data do not fit.

    >>> merged("join", [b"a", b"b"]), list(array("b", merged("sum b", [bytes([100]), b"d"])))
    (b'ab', [-56])
    >>> merged("join", [b"a", "there is no room"]), merged("sum h", [b"a", b"b"])
    ('there is no room', '[1, 1] bytes cannot be reduced by sum h')
    """
    data = []
    for one in given:
        if isinstance(one, str):
            return one
        data.append(one)
    if rule == JOIN:
        return b"".join(data)
    name, _, code = rule.partition(" ")
    if not folding(name, code):
        return f"there is no rule {rule!r:.40}"
    fold, size = _FOLDS[name], array(code).itemsize
    if len({*map(len, data)}) > 1 or len(data[0]) % size:
        return f"{[*map(len, data)]} bytes cannot be reduced by {rule}"
    total = array(code, data[0])
    for one in data[1:]:
        values = map(fold, total, array(code, one))
        total = _wrapped(code, size, values) if name in ("sum", "prod") else array(code, values)
    return total.tobytes()


def _wrapped(code: str, size: int, values: Any) -> array[Any]:
    if code in "fd":
        return array(code, values)
    every = 1 << 8 * size
    least = -every // 2 if code.islower() else 0
    return array(code, [(one - least) % every + least for one in values])


def below(part: str, group: Sequence[str]) -> list[str]:
    """Return who is directly below a part of the machine and has any of these ranks.

    >>> below("", ["0:0:1", "0:1:0", "1:0:0"]), below("0", ["0:0:1", "0:1:0", "1:0:0"])
    (['0', '1'], ['0:0', '0:1'])
    """
    own = numbers_of(part)
    inside = (one for one in map(numbers_of, group) if one[: len(own)] == own)
    return list(dict.fromkeys(":".join(map(str, one[: len(own) + 1])) for one in inside))


def has_all(part: str, group: Sequence[str]) -> bool:
    """Tell whether all these ranks are in a part of the machine.

    >>> has_all("0", ["0:0:1", "0:1:0"]), has_all("0", ["0:0:1", "1:0:0"])
    (True, False)
    """
    return not part or all(rank.startswith(f"{part}:") for rank in group)
