"""A listener of a run that keeps the lines of its ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from runtime.views.facts import Fact, OutputWritten
from runtime.views.stream import nothing


@dataclass
class Recorder:
    """Rank, stream and text of each line, in order."""

    lines: list[tuple[str, str, str]] = field(default_factory=list)

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        match fact.record:
            case OutputWritten(stream, data):
                self.lines += [(fact.name, stream, text) for text in data.decode().splitlines()]
        taken()
