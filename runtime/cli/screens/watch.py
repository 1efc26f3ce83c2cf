"""What comes to the screen beside the run itself: signals that end it, and what is logged."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from runtime.cli.errors import COMMAND
from runtime.shown_text import shown_lines

GIVE_UP_SECONDS = 8.0
"""Seconds that a run may take to end after it was told to end at once."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class EndSignals:
    """Handles signals that end a run: the first one in order, the second one at once.

    `say` prints a message, `press` tells the run. Should it not come to its end even then,
    `give_up` ends this process with a code, `seconds` later or at the third signal; what it has
    started ends with it. `code` is that of the first signal, as a shell reports it; None: no signal
    came. SIGQUIT, which is Ctrl-\\, ends nothing: `explain` tells what the run is doing.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        press: Callable[[], None],
        give_up: Callable[[int], object] = os._exit,
        *,
        explain: Callable[..., None] | None = None,
        seconds: float = GIVE_UP_SECONDS,
    ) -> None:
        self.code: int | None = None
        self._times = 0
        self._is_ending = False
        self._say = say
        self._press = press
        self._give_up = give_up
        self._explain = explain
        self._seconds = seconds
        self._last: threading.Timer | None = None

    def came(self, number: int, _frame: FrameType | None = None) -> None:
        """Handle a signal; suitable as a signal handler."""
        self._times += 1
        if self.code is None:
            self.code = 128 + number
        if self._times == 2:
            self._last = threading.Timer(self._seconds, self._give_up, (self.code,))
            self._last.daemon = True
            self._last.start()
        elif self._times > 2:
            self._give_up(self.code)
        if self._times <= 2:
            self._say(_words(number, self._times))
        if self._times == 1:
            self.end()
        else:
            self._press()

    def end(self) -> None:
        """End the run in order; that it has begun to end already changes nothing."""
        if not self._is_ending:
            self._is_ending = True
            self._press()

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Handle the signals inside the block, if this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # what was ignored from the beginning stays so: that is how `nohup` works
        heard = [one for one in _ENDING if signal.getsignal(one) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self.came) for number in heard}
        if self._explain is not None:
            before[signal.SIGQUIT] = signal.signal(signal.SIGQUIT, self._explain)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def over(self) -> None:
        """Give nothing up any more: all has ended, and what was to be shown has been read."""
        if self._last is not None:
            self._last.cancel()


def _words(number: int, times: int) -> str:
    if times > 1:
        return f"{COMMAND}: ending everything at once"
    if number == signal.SIGINT:
        return f"{COMMAND}: stopping; press Ctrl-C again to end everything at once"
    return f"{COMMAND}: stopping on {signal.Signals(number).name}"


class LogLines(logging.Handler):
    """Prints log records as messages of gcm-deploy, so that they do not tear the live tree.

    `level` is the name of that from which on records are printed, such as `info`.
    """

    def __init__(self, say: Callable[[str], None], level: str = "warning") -> None:
        super().__init__(level.upper())
        self._say = say
        self.setFormatter(logging.Formatter(f"{COMMAND}: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record; what far ends wrote may be in it."""
        self._say(shown_lines(self.format(record)))

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Attach to logging inside the block."""
        root = logging.getLogger("runtime")
        before = root.level
        root.addHandler(self)
        if self.level < root.getEffectiveLevel():
            root.setLevel(self.level)
        try:
            yield
        finally:
            root.removeHandler(self)
            root.setLevel(before)
