"""A live tree at the bottom of a terminal, with the output of the application above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import BinaryIO

from rich.console import Console
from rich.text import Text

from runtime.cli.errors import COMMAND
from runtime.cli.screens.rank_output import OutputChoice, SharedStream, stream_of
from runtime.launchers.base import OutputStream
from runtime.topology import RankNames
from runtime.views.facts import Fact, Logged, OutputWritten
from runtime.views.picture import Line, picture
from runtime.views.plain_lines import told_at_once
from runtime.views.progress_tree import (
    DONE,
    ENDED,
    FAILED,
    LOST,
    PLANNED,
    QUEUED,
    READY,
    RUNNING,
    STARTING,
    STUCK,
    UP,
    WAITING,
    ProgressTree,
)

_STYLES = {
    "title": "bold",
    PLANNED: "dim",
    QUEUED: "blue",
    STARTING: "yellow",
    UP: "cyan",
    READY: "cyan",
    RUNNING: "green",
    WAITING: "yellow",
    STUCK: "bold red",
    DONE: "bold green",
    ENDED: "dim",
    FAILED: "bold red",
    LOST: "bold red",
}

HIGHEST = 24
"""The tree accompanies the output and does not replace it."""

_LINE_UP = b"\x1b[A"
_ERASE_BELOW = b"\r\x1b[J"


class LiveScreen:
    """A screen that redraws its tree a few times a second at most.

    The old tree is erased, and new lines and the new tree follow in a single write, so that nothing
    flickers however fast lines come. They reach the terminal as the application wrote them:
    `rich.live` would lay out each one anew, at many times the cost.

    `output` is the destination of standard output when that is not this terminal too. An unfinished
    last line stays so there, unless it `ends_output`.
    """

    pause = 0.08
    refresh_interval: float | None = 1.0  # the seconds in its head go on

    def __init__(
        self,
        terminal: BinaryIO,
        console: Console,
        clock: Callable[[], float],
        *,
        output: BinaryIO | None = None,
        tags: bool = False,
        ends_output: bool = False,
        names: RankNames | None = None,
        choice: OutputChoice | None = None,
    ) -> None:
        self._terminal = terminal
        self._console = console
        self._tree = ProgressTree()
        self._clock = clock
        self._began = clock()
        self._output = output
        self._above = SharedStream(tags=tags, names=names)
        self._elsewhere = SharedStream(tags=tags, names=names)
        self._ends_output = ends_output
        self._choice = choice or OutputChoice()
        self._height = 0

    def show(self, facts: Sequence[Fact]) -> None:
        """Print the lines above the tree, then draw the tree once."""
        above = self._sorted(facts)
        lines = self._drawn()
        self._replace(above + b"".join(map(self._rendered, lines)), len(lines))

    def close(self) -> None:
        """Erase the tree; what was printed above it stays."""
        self._replace(b"", 0)
        if self._output is not None and self._ends_output:
            self._output.write(self._elsewhere.end_line())
            self._output.flush()

    def _replace(self, data: bytes, height: int) -> None:
        """Overwrite the tree; the last `height` lines are the new one."""
        erased = _LINE_UP * self._height + _ERASE_BELOW if self._height else b""
        self._terminal.write(erased + data)
        self._terminal.flush()
        self._height = height

    def _sorted(self, facts: Iterable[Fact]) -> bytes:
        """Apply the changes, write what goes elsewhere, and return what goes above the tree."""
        above: list[bytes] = []
        elsewhere: list[bytes] = []
        for fact in facts:
            match fact.record:
                case OutputWritten() as output:
                    if not self._choice.has(fact.name, output):
                        continue
                    if self._output is not None and stream_of(output) is OutputStream.OUTPUT:
                        elsewhere.append(self._elsewhere.output(fact.name, output.data))
                    else:
                        above.append(self._above.output(fact.name, output.data))
                case Logged(text):
                    above.append(self._above.word(text))
                case _:
                    if line := told_at_once(self._tree, fact):
                        above.append(self._above.word(f"{COMMAND}: {line}"))
        if self._output is not None and elsewhere:
            for piece in elsewhere:  # small pieces are gathered there
                self._output.write(piece)
            self._output.flush()
        above.append(self._above.end_line())  # the tree begins on a new line
        return b"".join(above)

    def _drawn(self) -> list[Line]:
        size = self._console.size
        return picture(
            self._tree,
            self._clock() - self._began,
            width=size.width,
            height=min(HIGHEST, max(1, size.height // 2)),
        )

    def _rendered(self, line: Line) -> bytes:
        text = Text.assemble(*((piece.text, _STYLES.get(piece.style, "")) for piece in line))
        with self._console.capture() as captured:
            self._console.print(text, no_wrap=True, overflow="ellipsis")
        return captured.get().encode(errors="replace")
