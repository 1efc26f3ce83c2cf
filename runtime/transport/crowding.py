"""Which connection a full listener closes: a pure rule; and how often the log has its refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from logging import Logger

    class Stranger(Protocol):
        """A connection in the handshake: since when, and whether its peer has sent anything."""

        @property
        def since(self) -> float: ...  # noqa: D102
        @property
        def has_spoken(self) -> bool: ...  # noqa: D102

    S = TypeVar("S", bound=Stranger)

SILENT = 0.1
"""Seconds that nobody has to make room who says nothing; members speak at once."""

SPEAKING = 2.0
"""Seconds that nobody has to make room who has begun to speak."""

EVERY = 60.0
"""Seconds between two lines of the log about refusals of one kind."""


def who_goes(strangers: Iterable[S], now: float) -> S | None:
    """Return who makes room for another one: the oldest of those who had their time.

    Silent ones go before those that have begun to speak, so silence, which costs nothing, keeps
    no member out.
    """
    had_time = [one for one in strangers if now >= _stays_until(one)]
    return min(had_time, key=lambda one: (one.has_spoken, one.since), default=None)


def next_goes(strangers: Iterable[Stranger]) -> float:
    """Return when somebody will have had the time in which nobody has to make room."""
    return min(map(_stays_until, strangers))


def _stays_until(stranger: Stranger) -> float:
    return stranger.since + (SPEAKING if stranger.has_spoken else SILENT)


class RefusalLog:
    """Writes refused connections into a log: the first of each kind, then how many more there were.

    A stranger costs one line a minute however often it comes. Lines begin with who listens `here`.
    """

    def __init__(self, log: Logger, clock: Callable[[], float], here: str = "") -> None:
        self._here = f"{here}: " if here else ""
        self._log = log
        self._clock = clock
        self._counted: dict[str, _Counted] = {}

    def add(self, kind: str, where: object, why: str) -> None:
        """Take note of a connection; `kind` is the same for all that are alike."""
        now = self._clock()
        counted = self._counted.get(kind)
        if counted is not None and now < counted.again:
            counted.more += 1
            counted.last = where, why
            return
        before = 0 if counted is None else counted.more
        more = f" ({before} more like it before)" if before else ""
        self._counted[kind] = _Counted(now + EVERY)
        words = "%sa connection from %s was refused: %s%s"
        self._log.warning(words, self._here, where, why, more)

    def close(self) -> None:
        """Tell of those who were counted only."""
        for counted in self._counted.values():
            if counted.more:
                where, why = counted.last
                self._log.warning(
                    "%sconnections that were refused too: %d, the last one from %s: %s",
                    self._here, counted.more, where, why,
                )  # fmt: skip
        self._counted.clear()


class _Counted:
    def __init__(self, again: float) -> None:
        self.again = again
        self.more = 0
        self.last: tuple[object, str] = ("", "")
