"""Limits what a document may expand to: definitions that use one another multiply."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from enum import StrEnum

from gcm.adl.definitions.model import Body, ComponentNode
from gcm.adl.definitions.references import is_path
from gcm.documents import Location
from gcm.records import dataclass


class DefinitionAmount(StrEnum):
    """The things that are counted."""

    COMPONENTS = "components"
    PARTS = "components, interfaces, bindings and attributes"
    USES = "uses of definitions with different arguments"
    MERGED = "components where definitions extend one another"
    TEXT = "characters, with arguments replaced by values"


MOST = {
    DefinitionAmount.COMPONENTS: 200_000,
    DefinitionAmount.PARTS: 1_000_000,
    DefinitionAmount.USES: 10_000,
    DefinitionAmount.MERGED: 200_000,
    DefinitionAmount.TEXT: 4 * 1024 * 1024,
}
"""The most that one assembly may expand to. These limits are fixed."""


class TooLarge(Exception):
    """An assembly that expands to more than is allowed, and where that becomes clear."""

    def __init__(self, amount: DefinitionAmount, count: int, location: Location) -> None:
        super().__init__(f"the assembly comes to {count:,} {amount}")
        self.hint = f"the most is {MOST[amount]:,}; use definitions less often inside one another"
        self.location = location


@dataclass(slots=True)
class Growth:
    """Counts what the definitions of one assembly have expanded to."""

    used: Counter[DefinitionAmount] = field(default_factory=Counter)

    def add(self, amount: DefinitionAmount, count: int, location: Location) -> None:
        """Count something before it is made; raises TooLarge."""
        self.used[amount] += count
        if self.used[amount] > MOST[amount]:
            raise TooLarge(amount, self.used[amount], location)


def check_size(root: ComponentNode) -> None:
    """Raise TooLarge if a tree in which equal parts are one object expands to too much.

    The location is that of the innermost component that is too large by itself.
    """
    sizes: dict[int, Counter[DefinitionAmount]] = {}
    for amount in (DefinitionAmount.COMPONENTS, DefinitionAmount.PARTS):
        total = _size(root, sizes)[amount]
        if total > MOST[amount]:
            raise TooLarge(amount, total, _innermost(root, amount, sizes).location)


def _innermost(
    node: ComponentNode, amount: DefinitionAmount, sizes: dict[int, Counter[DefinitionAmount]]
) -> ComponentNode:
    while True:
        large = [one for one in _inside(node.body) if _size(one, sizes)[amount] > MOST[amount]]
        if not large:
            return node
        node = large[0]


def _size(
    node: ComponentNode, sizes: dict[int, Counter[DefinitionAmount]]
) -> Counter[DefinitionAmount]:
    if is_path(node.definition):
        return Counter({DefinitionAmount.COMPONENTS: 1, DefinitionAmount.PARTS: 1})
    key = id(node.body)
    if key not in sizes:
        sizes[key] = total = Counter(
            {DefinitionAmount.COMPONENTS: 1, DefinitionAmount.PARTS: 1 + _own_parts(node.body)}
        )
        for child in _inside(node.body):
            total.update(_size(child, sizes))
    return sizes[key]


def _inside(body: Body) -> tuple[ComponentNode, ...]:
    return body.components + (body.controller.components if body.controller else ())


def _own_parts(body: Body) -> int:
    attributes = body.attributes.attributes if body.attributes else ()
    count = len(body.interfaces) + len(body.bindings) + len(attributes)
    inside = body.controller
    return count + (len(inside.interfaces) + len(inside.bindings) if inside else 0)
