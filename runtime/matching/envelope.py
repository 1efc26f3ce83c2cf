"""What is written on a message, and what a receiver asks for."""

from __future__ import annotations

from enum import Enum

TYPE_CHECKING = False  # known to type checkers; ranks import this and do without `typing`
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias


class Wildcard(Enum):
    """The one value of `ANY`."""

    ANY = "any"

    __hash__ = object.__hash__  # that of Enum takes long, and patterns are keys

    def __repr__(self) -> str:
        """Return what a program writes."""
        return "ANY"


ANY = Wildcard.ANY
"""Fits every code, every rank or every tag."""

if TYPE_CHECKING:
    AnyOr: TypeAlias = Literal[Wildcard.ANY]
    Key: TypeAlias = tuple[Any, Any, Any]
    """A code, a rank and a tag, each of which can be `ANY`."""
    Shape: TypeAlias = tuple[bool, bool, bool]
    """Which parts of a key are `ANY`."""

EXACT: Shape = (False, False, False)
"""The shape of what only one envelope fits."""


class Envelope(tuple[str, int, int]):
    """Who sent a message, and under which tag: a triple that can be a key.

    >>> Envelope("ocean", 1, 5)
    Envelope('ocean', 1, 5)
    """

    __slots__ = ()

    def __new__(cls, code: str, rank: int, tag: int) -> Envelope:
        """Return the triple."""
        return super().__new__(cls, (code, rank, tag))

    @property
    def code(self) -> str:
        """The code that sent it."""
        return self[0]

    @property
    def rank(self) -> int:
        """The rank of that code."""
        return self[1]

    @property
    def tag(self) -> int:
        """Its tag."""
        return self[2]

    def __repr__(self) -> str:
        """Return how it is made."""
        return f"Envelope{tuple(self)!r}"


class Pattern:
    """What a receiver asks for: a code, a rank and a tag, each of which can be `ANY`.

    >>> Pattern("ocean", ANY, 5).fits(Envelope("ocean", 1, 5))
    True
    """

    __slots__ = ("code", "key", "rank", "shape", "tag")

    def __init__(self, code: str | AnyOr, rank: int | AnyOr, tag: int | AnyOr) -> None:
        self.code = code
        self.rank = rank
        self.tag = tag
        self.key: Key = (code, rank, tag)
        """The same as a triple; that of a pattern that only one envelope fits is equal to it."""
        is_exact = code is not ANY and rank is not ANY and tag is not ANY
        self.shape: Shape = EXACT if is_exact else (code is ANY, rank is ANY, tag is ANY)
        """Which parts are `ANY`."""

    def fits(self, envelope: Envelope) -> bool:
        """Tell whether a message is what is asked for."""
        return generalised(envelope, self.shape) == self.key

    def overlaps(self, other: Pattern) -> bool:
        """Tell whether there can be a message that fits both.

        >>> Pattern("ocean", ANY, 5).overlaps(Pattern("ocean", 1, ANY))
        True
        """
        return (
            (self.tag is ANY or other.tag is ANY or self.tag == other.tag)
            and (self.rank is ANY or other.rank is ANY or self.rank == other.rank)
            and (self.code is ANY or other.code is ANY or self.code == other.code)
        )

    def __str__(self) -> str:
        """Say it in words."""
        tag = "any tag" if self.tag is ANY else f"tag {self.tag}"
        rank = "any rank" if self.rank is ANY else f"rank {self.rank}"
        code = "any code" if self.code is ANY else self.code
        return f"a message with {tag} from {rank} of {code}"


def generalised(envelope: Key, shape: Shape) -> Key:
    """Return the key of the pattern of this shape that an envelope fits.

    >>> generalised(Envelope("ocean", 1, 5), (False, True, False))
    ('ocean', ANY, 5)
    """
    code, rank, tag = envelope
    any_code, any_rank, any_tag = shape
    return (ANY if any_code else code, ANY if any_rank else rank, ANY if any_tag else tag)
