"""How a front-end waits at its end until the launcher has taken its output. Pure."""

from __future__ import annotations

from gcm.records import dataclass

FIRST_PAUSE, LONGEST_PAUSE = 0.001, 0.1
"""Seconds between looks whether the launcher has taken all output."""

REMIND = 5.0
"""Seconds after which the launcher is told again that output is left."""


@dataclass(frozen=True, slots=True)
class NextLook:
    """After how many seconds to look again, and whether the launcher is reminded of the output."""

    pause: float
    reminds: bool = False


class OutputHandover:
    """Waits for as long as the launcher wants: it alone decides whether output is worth that.

    >>> handover = OutputHandover()
    >>> handover.look(10.0, is_held=True, is_unsent=False)
    NextLook(pause=0.001, reminds=True)
    >>> handover.look(10.001, is_held=True, is_unsent=False)
    NextLook(pause=0.002, reminds=False)
    >>> handover.look(10.003, is_held=False, is_unsent=False) is None
    True
    """

    def __init__(self) -> None:
        self._pause = FIRST_PAUSE
        self._remind_at = 0.0

    def look(self, now: float, *, is_held: bool, is_unsent: bool) -> NextLook | None:
        """Return when to look again; None once nothing is held for want of credit, nor unsent."""
        if not (is_held or is_unsent):
            return None
        reminds = is_held and now >= self._remind_at
        if reminds:
            self._remind_at = now + REMIND
        pause, self._pause = self._pause, min(2 * self._pause, LONGEST_PAUSE)
        return NextLook(pause, reminds)
