"""Blocks of a collective that are sent one after the other, as one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.mpi.progress.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.collectives.turns import SendTurns


class TakingTurns(Operation):
    """Done when all blocks are sent; each test lets the next ones go."""

    __slots__ = ("_failed", "_turns")

    def __init__(self, turns: SendTurns[Operation]) -> None:
        super().__init__()
        self._turns = turns
        self._failed: BaseException | None = None
        self.test()

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""
        return self._turns.has_begun_all

    @property
    def urgency(self) -> int:
        """As urgent as the sends in progress."""
        return most_urgent(self._turns.under_way)

    def test(self) -> bool:
        """Test the sends, and begin the next ones; a failed one does not hold up others."""
        if self.done:
            return True
        turns = self._turns
        try:
            self._look()
            turns.go_on()
            self._look()
        except BaseException as error:  # also an interrupt: it is unknown what was sent
            self.finish(error)
            return True
        if turns.is_over:
            self.finish(self._failed)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return ", ".join(one.describe() for one in self._turns.under_way if not one.done)

    def awaited(self) -> Sequence[int]:
        """Return the receivers of the blocks being sent."""
        going_on = [one for one in self._turns.under_way if not one.done]
        return [index for one in going_on for index in one.awaited()]

    def _look(self) -> None:
        for one in self._turns.under_way:
            if one.test() and self._failed is None:
                self._failed = one.error
