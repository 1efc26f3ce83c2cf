"""A round: reports are collected until everybody who is expected in an epoch has told. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

Told = TypeVar("Told")


class Round(Generic[Told]):
    """Knows whom it waits for, not only who has come.

    Members may tell before it is known who is expected. What belongs to an older epoch is refused.

    >>> round = Round[str]()
    >>> round.tell("0:0:1", 1, "b")
    >>> round.expect(1, ["0:0:0", "0:0:1"])
    >>> round.missing
    ['0:0:0']
    >>> round.tell("0:0:0", 1, "a"); round.take()
    ['a', 'b']
    >>> round.take() is None
    True
    """

    def __init__(self) -> None:
        self.epoch = 0
        self._expected: tuple[str, ...] | None = None
        self._told: dict[tuple[int, str], Told] = {}

    def expect(self, epoch: int, members: Iterable[str]) -> None:
        """Begin a round; what was told for older ones is forgotten."""
        self.epoch = epoch
        self._expected = tuple(members)
        self._told = {key: told for key, told in self._told.items() if key[0] >= epoch}

    def tell(self, member: str, epoch: int, told: Told) -> None:
        """Take what a member tells; nothing happens if it is about an older epoch."""
        if epoch >= self.epoch:
            self._told[epoch, member] = told

    @property
    def missing(self) -> list[str]:
        """The members that are expected and have not told."""
        return [one for one in self._expected or () if (self.epoch, one) not in self._told]

    def take(self) -> list[Told] | None:
        """Return what everybody told, in the order of `expect`, once; None before that."""
        if self._expected is None or self.missing:
            return None
        told = [self._told.pop((self.epoch, member)) for member in self._expected]
        self._expected = None
        return told
