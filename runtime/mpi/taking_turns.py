"""Blocks of a collective that take turns on a line, as one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runtime.mpi.operations import Operation, most_urgent

if TYPE_CHECKING:
    from runtime.collectives.turns import Turns


class TakingTurns(Operation):
    """Done when all blocks were sent; each look lets the next ones go."""

    __slots__ = ("_turns",)

    def __init__(self, turns: Turns[Operation]) -> None:
        super().__init__()
        self._turns = turns
        self.test()

    @property
    def has_begun_all(self) -> bool:
        """Whether no block waits for its turn."""
        return self._turns.has_begun_all

    @property
    def urgency(self) -> int:
        """As urgent as the sends that go on."""
        return most_urgent(self._going_on())

    def test(self) -> bool:
        """Look after the sends, and go on; one that fails holds up no other."""
        if self.done:
            return True
        turns = self._turns
        for one in self._going_on():
            one.test()
        try:
            turns.go_on()
        except Exception as error:  # whatever it is, who waits for the blocks gets it
            self.finish(error)
            return True
        if turns.has_begun_all and not self._going_on():
            errors = [one.error for one in turns.sent if one.error is not None]
            self.finish(errors[0] if errors else None)
        return self.done

    def describe(self) -> str:
        """Say what is waited for."""
        return ", ".join(one.describe() for one in self._going_on())

    def awaited(self) -> Sequence[int]:
        """Return the receivers of what is on its way."""
        return [index for one in self._going_on() for index in one.awaited()]

    def _going_on(self) -> list[Operation]:
        return [one for one in self._turns.sent if not one.done]
