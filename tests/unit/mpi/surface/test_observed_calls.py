"""Who listens to calls of MPI hears of their ends, whatever other listeners do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from runtime import calls
from runtime.mpi.surface.communicator_classes import Intracomm
from runtime.mpi.surface.mpi_module import COMM_SELF
from runtime.mpi.surface.observed_calls import MadeCall, observe


@dataclass
class Listener:
    """Writes down what it hears, and raises at one of these moments."""

    name: str
    raises: str = ""
    heard: list[str] = field(default_factory=list)

    def begins(self, call: MadeCall) -> str:
        self._hear("begins")
        return self.name

    def ends(self, call: MadeCall, kept: Any) -> None:
        assert kept == self.name
        self._hear(f"ends with {call.error!r}" if call.error else "ends")

    def _hear(self, what: str) -> None:
        self.heard.append(what)
        if what == self.raises:
            raise OSError(f"{self.name} {what}")


def made_call(*listeners: Listener) -> Any:
    """Return a call of a communicator that these listen to."""

    class Watched(Intracomm):
        pass

    for one in listeners:
        observe([Watched], [calls.of_kind("collective")["Barrier"]], one)
    return Watched(COMM_SELF).Barrier


def test_a_listener_that_cannot_begin_ends_what_others_have_begun() -> None:
    first, second, third = Listener("first"), Listener("second", "begins"), Listener("third")
    barrier = made_call(first, second, third)
    for _ in range(2):
        with pytest.raises(OSError, match="^second begins$"):
            barrier()
    assert first.heard == ["begins", "ends with OSError('second begins')"] * 2
    assert (second.heard, third.heard) == (["begins"] * 2, [])


def test_a_listener_that_cannot_end_hides_the_end_from_nobody() -> None:
    all_three = [Listener("first", "ends"), Listener("second", "ends"), Listener("third")]
    with pytest.raises(OSError, match="^second ends$") as raised:
        made_call(*all_three)()
    assert str(raised.value.__context__) == "first ends"
    assert [one.heard for one in all_three] == [["begins", "ends"]] * 3
