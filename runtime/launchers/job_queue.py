"""The queue of a batch system at one login node: its commands are run there, through a launcher."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from runtime.allocations import BatchJob, BatchSystem, JobPhase
from runtime.allocations.contract import Unreadable
from runtime.allocations.written import on_our_clock
from runtime.launchers.base import Command, Launcher
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Collected

ANSWER_TIMEOUT = 45.0
"""Seconds for a command of the batch system, at most: one that hangs must not hang the run."""

_MARK = "gcm-command-begins"
_MARKED = f'echo {_MARK} "$(date +%FT%T)"; echo {_MARK} >&2; exec "$0" "$@"'

MOST_PRINTED = 4 << 20
"""Bytes that a command of the batch system may print: one that never ends must not fill memory."""


class QueueSilent(LaunchError):
    """A batch system does not tell of a job just now."""


class JobQueue:
    """Asks a batch system about all jobs of a run at once, however many wait. Any thread may ask.

    `login` leads to where the commands of the system are; the queue closes it at its end.
    """

    def __init__(
        self,
        login: Launcher,
        system: BatchSystem,
        *,
        is_own: bool = True,
        answer_timeout: float = ANSWER_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        self.login = login
        self.system = system
        self._is_own = is_own
        self._answer_timeout = answer_timeout
        self._clock = clock
        self._wall_clock = wall_clock
        self._asking = threading.Lock()
        self._numbers: set[str] = set()
        self._asked: frozenset[str] = frozenset()
        self._asked_at = 0.0
        self._answer: tuple[int, str, str, float] = (0, "", "", 0.0)
        self._is_ready = False

    def ready(self) -> None:
        """Wait until the login node answers; raises LaunchError."""
        self.login.ready()
        self._is_ready = True

    def job(self, number: str, age: float = 0.0) -> BatchJob:
        """Return what the system says of a job, or has said at most `age` seconds ago.

        Its `start` is on our clock.

        Raises:
            QueueSilent: it has no answer, which may pass.
            LaunchError: there is no connection to the login node.
        """
        with self._asking:
            self._numbers.add(number)
            if number not in self._asked or self._clock() - self._asked_at >= age:
                self._answer = self._answered(self.system.status(sorted(self._numbers)))
                self._asked, self._asked_at = frozenset(self._numbers), self._clock()
            code, printed, errors, ahead = self._answer
        if code and not self.system.is_forgotten(errors):
            raise QueueSilent(
                f"{self.system.name} does not tell of job {number}",
                cause=errors or f"exit code {code}",
                cure="Look whether the batch system works there",
            )
        try:
            known = self.system.jobs(printed)
        except Unreadable as fault:
            raise QueueSilent(str(fault)) from None
        if number not in known:
            return BatchJob(number, JobPhase.OVER, "UNKNOWN", "the queue has no such job")
        return replace(known[number], start=on_our_clock(known[number].start, ahead))

    def forget(self, number: str) -> None:
        """Ask no more about a job."""
        with self._asking:
            self._numbers.discard(number)

    def run(self, words: Sequence[str], text: str = "") -> tuple[int, str, str]:
        """Run a command on the login node; return its exit code, output and last errors.

        Raises:
            QueueSilent: it did not end in time, or printed too much.
            LaunchError: there is no connection to the login node.
        """
        return self._answered(words, text)[:3]

    def _answered(self, words: Sequence[str], text: str = "") -> tuple[int, str, str, float]:
        """Do what `run` does; return also by how many seconds the clock there is ahead of ours."""
        over, here = threading.Event(), self._wall_clock()
        output = Collected(MOST_PRINTED, over.set)
        marked = login_words(("/bin/sh", "-c", _MARKED, *words))
        process = self.login.start(Command(marked, first_input=text.encode()), output)
        process.close_input()
        process.when_done(over.set)
        is_over = over.wait(self._answer_timeout)
        if output.is_full or not is_over:
            process.kill()
            late = f"has not answered within {self._answer_timeout:.0f} s"
            large = f"prints more than {MOST_PRINTED:,} bytes"
            raise QueueSilent(
                f"{words[0]} {large if output.is_full else late}",
                cure=f"Look whether {self.system.name} works there",
            )
        code = process.wait(0).shell_code
        there, printed = _own(output.output)
        errors = _own("\n".join([*process.tail, ""]))[1].strip()
        return code, printed, errors, (there - here).total_seconds() if there is not None else 0.0

    def give_up(self) -> None:
        """Stop waiting for a login node that has not answered; what has jobs is left alone."""
        if not self._is_ready:
            self.close()

    def close(self) -> None:
        """Let go of the login node."""
        if self._is_own:
            self.login.close()


def _own(printed: str) -> tuple[datetime | None, str]:
    """Return when a command began, on the clock there, and what it has printed.

    What the profile of the account has printed before is left out.

    >>> _own(f"Welcome!{_MARK} 2026-11-24T14:20:00\\n4711"), _own("no shell here")
    ((datetime.datetime(2026, 11, 24, 14, 20), '4711'), (None, 'no shell here'))
    """
    _, mark, rest = printed.rpartition(_MARK)
    if not mark:
        return None, printed
    there, _, own = rest.partition("\n")
    try:
        return datetime.fromisoformat(there.strip()), own
    except ValueError:
        return None, own


def login_words(words: Sequence[str]) -> Sequence[str]:
    """Return a command as a login shell runs it, whose profile says where batch systems are.

    >>> login_words(("squeue", "--me"))
    ('/bin/sh', '-lc', 'exec "$@"', 'gcm', 'squeue', '--me')
    """
    return ("/bin/sh", "-lc", 'exec "$@"', "gcm", *words)
