"""The one thread that writes: output of the application and news of the run, in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from gcm.records import dataclass
from runtime.launchers.base import OutputStream

PLENTY = 1 << 20
"""The most bytes of output that are held back, however long a screen would like to gather."""


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class RankOutput:
    """Whole lines that a rank has written, or a piece of one; `taken` is called once it is shown.

    The producer bounds how much is pending at a time. What `is_detail` goes only to the file of the
    rank.
    """

    rank: str
    stream: OutputStream
    data: bytes
    taken: Callable[[], None] = _nothing
    is_detail: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A part of the machine is in another state."""

    path: str
    state: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Word:
    """A message of gcm-deploy itself."""

    text: str


Item = RankOutput | Change | Word


class Screen(Protocol):
    """Shows the items; its methods are only called from the printer's thread."""

    @property
    def pause(self) -> float:
        """How many seconds to gather items before they are shown together."""
        ...

    @property
    def refresh_interval(self) -> float | None:
        """Seconds without items after which it wants to be called with none."""
        ...

    def show(self, items: Sequence[Item]) -> None:
        """Show some items, in this order."""
        ...

    def close(self) -> None:
        """Show the last of it and restore the terminal."""
        ...


class Printer:
    """Takes items from any thread and hands them to a screen from a thread of its own.

    Nothing that was put is lost: `close` returns once all of it has been shown. An error of the
    screen goes to `failed`, and from then on items are dropped.
    """

    def __init__(self, screen: Screen, failed: Callable[[Exception], None]) -> None:
        self._screen = screen
        self._failed = failed
        self._changed = threading.Condition()
        self._waiting: deque[Item] = deque()
        self._size = 0
        self._closing = False
        self._broken = False
        self._thread = threading.Thread(target=self._work, name="gcm-deploy output", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Show an item soon, without blocking; may be called from a signal handler."""
        with self._changed:
            if not self._broken:
                self._waiting.append(item)
                self._size += _size(item)
                self._changed.notify_all()
                return
        _let_go([item])

    def close(self) -> None:
        """Wait until everything has been shown and the screen is closed."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _work(self) -> None:
        try:
            try:
                self._show_all()
            finally:
                self._screen.close()
        except Exception as error:  # a full disk, or a reader that left: the run has to know
            self._give_up(error)

    def _show_all(self) -> None:
        while (items := self._next()) is not None:
            self._screen.show(items)
            _let_go(items)
            if self._screen.pause:
                self._gather()

    def _next(self) -> list[Item] | None:
        """Wait for items and return all; None at the end, an empty list if none came in time."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._waiting or self._closing, self._screen.refresh_interval
            )
            if self._closing and not self._waiting:
                return None
            items = list(self._waiting)
            self._waiting.clear()
            self._size = 0
            return items

    def _gather(self) -> None:
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or self._size >= PLENTY, self._screen.pause
            )

    def _give_up(self, error: Exception) -> None:
        with self._changed:
            self._broken = True
            dropped = list(self._waiting)
            self._waiting.clear()
        _let_go(dropped)
        self._failed(error)


def _size(item: Item) -> int:
    return len(item.data) if isinstance(item, RankOutput) else 0


def _let_go(items: Sequence[Item]) -> None:
    for item in items:
        if isinstance(item, RankOutput):
            item.taken()
