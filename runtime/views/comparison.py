"""Two recorded runs side by side: what took longer, and what was sent more. A fold, and lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.shown_text import shown_table
from runtime.views.account import RunAccount
from runtime.views.facts import Fact
from runtime.views.summary import headline

SAME = 0.01
"""Figures that differ by a smaller part count as the same."""


class RunFigures:
    """The figures of one run, by name; those of times are in seconds."""

    def __init__(self) -> None:
        self._account = RunAccount()

    def take(self, fact: Fact) -> None:
        """Take the next fact."""
        self._account.take(fact)

    @property
    def headline(self) -> str:
        """The run in a sentence."""
        return headline(self._account.summary())

    def figures(self) -> Mapping[str, float]:
        """Return all figures: of the run, of clusters, of calls over all ranks, of messages."""
        summary = self._account.summary()
        found = {"seconds": summary.seconds}
        if summary.startup is not None:
            found["seconds to start"] = summary.startup
        for cluster in summary.clusters:
            times = [one.seconds for one in cluster.ranks if one.seconds is not None]
            if times:
                found[f"seconds of {cluster.name}"] = max(times)
        for row in self._account.calls.rows():
            found[f"seconds in {row.call}, all ranks"] = row.seconds
            found[f"calls of {row.call}"] = row.calls
        for way in summary.traffic:
            found[f"messages, {way.route}"] = way.messages
            found[f"bytes, {way.route}"] = way.sent + way.received
        return found


def comparison(first: RunFigures, second: RunFigures, *, width: int = 0) -> Iterator[str]:
    """Yield both runs in a line each, and a table of the figures that differ."""
    yield f"first:  {first.headline}\n"
    yield f"second: {second.headline}\n"
    before, after = first.figures(), second.figures()
    names = [*before, *(one for one in after if one not in before)]
    rows = [
        (name, _number(before.get(name)), _number(after.get(name)),
         _change(before.get(name), after.get(name)))
        for name in names
        if _differs(before.get(name), after.get(name))
    ]  # fmt: skip
    if not rows:
        yield "All figures are the same.\n"
        return
    yield shown_table(("figure", "first", "second", "change"), rows, numbers={1, 2, 3}, width=width)
    if same := len(names) - len(rows):
        yield f"{same} more are the same.\n"


def _differs(before: float | None, after: float | None) -> bool:
    if before is None or after is None:
        return before != after
    return abs(after - before) > SAME * max(abs(before), abs(after))


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"


def _change(before: float | None, after: float | None) -> str:
    if not before or after is None:
        return ""
    return f"{after / before - 1:+.0%}"
