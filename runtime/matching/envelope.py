"""Envelopes of messages, and the patterns that receivers match them with."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias


class Wildcard(Enum):
    """The type of `ANY`."""

    ANY = "any"

    __hash__ = object.__hash__  # Enum's own hash is slow, and patterns are dictionary keys

    def __repr__(self) -> str:
        return "ANY"


ANY = Wildcard.ANY
"""Matches every code, every rank or every tag."""

if TYPE_CHECKING:
    AnyOr: TypeAlias = Literal[Wildcard.ANY]
    Key: TypeAlias = tuple[Any, Any, Any]
    """A code, a rank and a tag, each of which can be `ANY`."""
    Shape: TypeAlias = tuple[bool, bool, bool]
    """Which parts of a key are `ANY`."""

EXACT: Shape = (False, False, False)
"""The shape of a pattern that matches one envelope only."""


class Envelope(tuple[str, int, Any]):
    """The sender and tag of a message: a triple that can be a dictionary key.

    The tag is a number, or whatever else two ends understand that can be one.

    >>> Envelope("ocean", 1, 5)
    Envelope('ocean', 1, 5)
    """

    __slots__ = ()

    def __new__(cls, code: str, rank: int, tag: Any) -> Envelope:
        """Make the triple."""
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
    def tag(self) -> Any:
        """Its tag."""
        return self[2]

    def __repr__(self) -> str:
        return f"Envelope{tuple(self)!r}"


class Pattern:
    """What a receive matches: a code, a rank and a tag, each of which can be `ANY`.

    >>> Pattern("ocean", ANY, 5).fits(Envelope("ocean", 1, 5))
    True
    """

    __slots__ = ("code", "key", "rank", "shape", "tag")

    def __init__(self, code: str | AnyOr, rank: int | AnyOr, tag: Any) -> None:
        self.code = code
        self.rank = rank
        self.tag = tag
        self.key: Key = (code, rank, tag)
        """The pattern as a triple; that of a pattern without `ANY` equals the envelope it matches.
        """
        is_exact = code is not ANY and rank is not ANY and tag is not ANY
        self.shape: Shape = EXACT if is_exact else (code is ANY, rank is ANY, tag is ANY)
        """Which parts are `ANY`."""

    def fits(self, envelope: Envelope) -> bool:
        """Return whether a message matches."""
        return generalised(envelope, self.shape) == self.key

    def overlaps(self, other: Pattern) -> bool:
        """Return whether some message could match both patterns.

        >>> Pattern("ocean", ANY, 5).overlaps(Pattern("ocean", 1, ANY))
        True
        """
        return (
            (self.tag is ANY or other.tag is ANY or self.tag == other.tag)
            and (self.rank is ANY or other.rank is ANY or self.rank == other.rank)
            and (self.code is ANY or other.code is ANY or self.code == other.code)
        )

    def __str__(self) -> str:
        tag = "any tag" if self.tag is ANY else f"tag {self.tag}"
        rank = "any rank" if self.rank is ANY else f"rank {self.rank}"
        code = "any code" if self.code is ANY else self.code
        return f"a message with {tag} from {rank} of {code}"


def generalised(envelope: Key, shape: Shape) -> Key:
    """Return the key of the pattern of a given shape that matches an envelope.

    >>> generalised(Envelope("ocean", 1, 5), (False, True, False))
    ('ocean', ANY, 5)
    """
    code, rank, tag = envelope
    any_code, any_rank, any_tag = shape
    return (ANY if any_code else code, ANY if any_rank else rank, ANY if any_tag else tag)
