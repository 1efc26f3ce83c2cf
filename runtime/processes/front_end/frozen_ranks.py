"""Ranks of this host that stand still, because of a signal or a debugger: seen, not asked."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from runtime.launchers.family import state_of
from runtime.machine.contracts import Reports
from runtime.membership.whereabouts import RankArrival
from runtime.transport.reactor import Reactor

_STOPPED = frozenset({b"T", b"t"})  # by a signal, by a debugger
_LOOKS = 6  # in the time after which a rank counts as frozen


class FrozenRanks:
    """Looks at the state that the system has of each rank, and tells the launcher what it sees.

    A rank that computes, sleeps or waits for the disk is not frozen, however long that takes. With
    `is_lost`, one that is frozen for longer than `timeout` is killed, so that it cannot go on when
    everybody believes it dead.
    """

    def __init__(
        self,
        reactor: Reactor,
        launcher: Reports,
        ranks: Callable[[], Mapping[str, RankArrival]],
        *,
        timeout: float,
        is_lost: bool,
    ) -> None:
        self._reactor = reactor
        self._launcher = launcher
        self._ranks = ranks
        self._timeout = timeout
        self._is_lost = is_lost
        self._since: dict[str, float] = {}
        self._handles: dict[tuple[str, int], int] = {}  # of processes; a number may be reused
        self._reported: set[str] = set()
        self._host = os.uname().nodename
        self._is_over = False

    def begin(self) -> None:
        """Look from now on, on the reactor's thread."""
        self._reactor.later(self._timeout / _LOOKS, self._check)

    def end(self) -> None:
        """Look no more."""
        self._is_over = True

    def _check(self) -> None:
        if self._is_over:
            return
        now, ranks = time.monotonic(), self._ranks()
        for known in self._handles.keys() - {(rank, one.pid) for rank, one in ranks.items()}:
            os.close(self._handles.pop(known))
        for rank, one in ranks.items():
            if one.host == self._host:
                self._check_rank(rank, one.pid, now)
        self.begin()

    def _handle_of(self, rank: str, pid: int) -> int | None:
        """Return a handle of the process of a rank; None if that has ended."""
        if (rank, pid) not in self._handles:
            try:
                self._handles[rank, pid] = os.pidfd_open(pid)
            except OSError:
                return None
        handle, ended = self._handles[rank, pid], select.poll()
        ended.register(handle, select.POLLIN)
        return None if ended.poll(0) else handle

    def _check_rank(self, rank: str, pid: int, now: float) -> None:
        handle = self._handle_of(rank, pid)
        if handle is None:
            return
        if state_of(pid) not in _STOPPED:
            self._since.pop(rank, None)
            if rank in self._reported:
                self._reported.discard(rank)
                self._launcher.rank_frozen(rank, 0.0)
            return
        stopped = now - self._since.setdefault(rank, now)
        if stopped < self._timeout * (1 - 1 / _LOOKS) or rank in self._reported:
            return
        self._reported.add(rank)
        self._launcher.rank_frozen(rank, stopped)
        if self._is_lost:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
