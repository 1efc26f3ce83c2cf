"""The thread of a program in a world: it runs only while its actor lets it, and sleeps in between.

One thread of a world runs at a time, so what happens is the same each time. A program that is left
asleep at the end of its world is told so by an exception, which nobody catches.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock, start_new_thread  # before a guard refuses them
from collections.abc import Callable

from runtime.testing.world.guard import GUARD


class ProgramLeft(BaseException):
    """Nobody lets this program go on any more: its process was killed, or its world is over."""


class ProgramThread:
    """One program; what it does it does in `go_on`, and gives the turn back in `sleep`."""

    def __init__(self, program: Callable[[], None]) -> None:
        self._program = program
        self._turn, self._back = allocate_lock(), allocate_lock()
        self._turn.acquire()
        self._back.acquire()
        self._has_begun = self._is_left = False
        self._fault: BaseException | None = None
        self.is_running = False
        """Whether it has the turn."""
        self.is_over = False
        """Whether it has come to its end."""

    def go_on(self) -> None:
        """Let it run until it sleeps or ends; what it has raised at its end is raised here."""
        if self.is_over:
            return
        self.is_running = True
        if not self._has_begun:
            self._has_begun = True
            with GUARD.offering({"threading._start_new_thread": start_new_thread}):
                # nothing else is offered: the locks of a real thread are real
                threading.Thread(target=self._run, name="gcm-world", daemon=True).start()
        self._turn.release()
        self._back.acquire()
        self.is_running = False
        if self._fault is not None:
            fault, self._fault = self._fault, None
            raise fault

    def sleep(self) -> None:
        """Give the turn back until the next `go_on`; only the program itself calls this."""
        if not self._is_left:
            self._back.release()
            self._turn.acquire()
        if self._is_left:
            raise ProgramLeft

    def leave(self) -> None:
        """Let it end where it is, without another turn."""
        self._is_left = True
        if self._has_begun:
            self.go_on()

    def _run(self) -> None:
        self._turn.acquire()
        try:
            self._program()
        except ProgramLeft:
            pass
        except BaseException as fault:  # the world's own thread raises it
            self._fault = fault
        finally:
            self.is_over = True
            self._back.release()
