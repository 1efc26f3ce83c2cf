"""Starts the ranks of an MPICH on this host, serves their PMI, and ends as they end.

It does what `mpiexec` does for them, but for its listener: each rank has one end of a socket pair,
so nobody else can connect. It is a copy of the front-end, or a Python of its own, and its guard
ends it and all ranks if the front-end is gone. Without its guard, which alone passes on what
becomes of it, it ends itself and all ranks.
"""

from __future__ import annotations

import json
import os
import secrets
import selectors
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from runtime.launchers import family
from runtime.launchers.guard import catch_signals, collect_children, end_with, shared_by
from runtime.launchers.mpiexec import MANAGER_BROKEN, MANAGER_NAME
from runtime.launchers.ranks import report_end
from runtime.launchers.segments import orphaned_segments, remove_segments
from runtime.native_mpi import ManagedRanks, PmiAnswer, PmiFault, PmiServer
from runtime.processes.manager.rank_processes import RankProcess

ENDS_WITHIN = 2.0
"""Seconds that ranks which were killed get to let go of their memory."""

UNSENT = 1 << 16
"""Bytes that a rank may leave unread before nothing more is read from it."""

PASSED_ON = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE


class RankNotStarted(Exception):
    """The system refuses what a rank needs: a process, or descriptors."""


class OtherHosts:
    """What the managers of one native MPI tell each other through the front-end."""

    def __init__(self, source: int, sink: int) -> None:
        """Exchange lines over two descriptors."""
        self.source, self._sink = source, sink
        self._rest = b""
        self._is_told = False
        self.are_gone = False

    def tell(self, fresh: Mapping[str, str]) -> None:
        """Tell the others, once for each barrier, what ranks here have put."""
        if self._is_told:
            return
        self._is_told = True
        line = memoryview(json.dumps(dict(fresh)).encode() + b"\n")
        while line:
            line = line[os.write(self._sink, line) :]

    def heard(self) -> Iterator[dict[str, str]]:
        """Yield what all have put, for each barrier that ends."""
        data = os.read(self.source, 1 << 20)
        self.are_gone = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._is_told = False
            yield json.loads(line)


class ProcessManager:
    """The ranks that it was told to start, from their start to their end."""

    def __init__(self, told: ManagedRanks, others: OtherHosts | None = None) -> None:
        self._told = told
        self._others = others
        name = told.name or f"gcm_{os.getpid()}_{secrets.token_hex(4)}"
        mine = range(told.before, told.before + told.ranks)
        self._server = PmiServer(name, told.size, ranks=mine, hosts=told.hosts)
        self._ranks: dict[int, RankProcess] = {}
        self._children: dict[int, RankProcess] = {}
        self._selector = selectors.DefaultSelector()
        self._running = told.ranks
        self._code = 0
        self._is_ending = False

    def run(self) -> int:
        """Start the ranks, and return the exit code of the first that fails, 0 if none does.

        Raises RankNotStarted, and OSError for what fails later.
        """
        began = time.time()
        signals = catch_signals()
        for number in PASSED_ON:
            signal.signal(number, lambda *_: None)  # heard through `signals`
        self._selector.register(signals, _READ, self._signals_came)
        with suppress(OSError, AttributeError):  # a system without such descriptors
            guard = os.pidfd_open(os.getppid())
            self._selector.register(guard, _READ, self._guard_ended)
        if self._others is not None:
            self._selector.register(self._others.source, _READ, self._others_came)
        for rank in range(self._told.ranks):
            try:
                made = RankProcess(rank, self._told)
            except OSError as fault:
                raise RankNotStarted(f"rank {rank} cannot be started: {fault}") from fault
            self._start(made)
        while self._running or (self._told.stays and not self._is_ending):
            for key, events in self._selector.select():
                key.data(key.fd, events)
        if self._is_ending:  # perhaps nobody else is left to do this
            family.await_ends({rank.pid for rank in self._ranks.values()}, ENDS_WITHIN)
            remove_segments(orphaned_segments(began))
        return self._code

    # --- beginnings -------------------------------------------------------------------------------

    def _start(self, rank: RankProcess) -> None:
        self._ranks[rank.rank] = rank
        self._selector.register(rank.pmi, _READ, lambda _, events: self._talk(rank, events))
        if self._told.fork_server:
            try:
                rank.ask_for_fork(self._told.fork_server)
            except OSError:
                self._spawn(rank)  # nobody is there any more
            else:
                assert rank.request is not None
                self._selector.register(rank.request, _READ, lambda *_: self._forked(rank))
        else:
            self._spawn(rank)

    def _spawn(self, rank: RankProcess) -> None:
        try:
            rank.spawn()
        except OSError as fault:
            raise RankNotStarted(f"rank {rank.rank} cannot be started: {fault}") from fault
        self._children[rank.pid] = rank

    # --- what ranks say ---------------------------------------------------------------------------

    def _talk(self, rank: RankProcess, events: int) -> None:
        if events & _WRITE:
            self._write(rank)
        if events & _READ:
            self._read(rank)

    def _read(self, rank: RankProcess) -> bool:
        """Serve what a rank asks; return whether there may be more."""
        data = rank.read()
        if data is None or rank.pmi.fileno() < 0:
            return False
        if not data:
            self._hang_up(rank)
            return False
        try:
            answers = self._server.received(rank.rank, data)
        except PmiFault as fault:
            number = self._told.first + rank.rank
            _say(f"rank {number} of this cluster sent what no MPI sends to who starts it: {fault}")
            self._hang_up(rank)
            return False
        self._answer(answers)
        if self._others is not None and (fresh := self._server.fresh) is not None:
            self._others.tell(fresh)
        abort = self._server.abort
        if abort is not None and not self._told.stays:
            _end([self._ranks[abort.rank]])  # first, so that it is known before the others end
        return True

    def _others_came(self, descriptor: int, _events: int) -> None:
        assert self._others is not None
        for put in self._others.heard():
            self._answer(self._server.release(put))
        if self._others.are_gone:
            self._selector.unregister(descriptor)

    def _answer(self, answers: list[PmiAnswer]) -> None:
        for answer in answers:
            self._ranks[answer.rank].unsent += answer.data
        for number in {answer.rank for answer in answers}:
            self._write(self._ranks[number])

    def _write(self, rank: RankProcess) -> None:
        if rank.pmi.fileno() < 0:
            return
        rank.write()
        events = _WRITE if rank.unsent else 0
        events |= 0 if len(rank.unsent) > UNSENT else _READ
        key = self._selector.get_key(rank.pmi)
        if events != key.events:
            self._selector.modify(rank.pmi, events, key.data)

    def _hang_up(self, rank: RankProcess) -> None:
        if rank.pmi.fileno() >= 0:
            self._selector.unregister(rank.pmi)
            rank.pmi.close()

    # --- ends -------------------------------------------------------------------------------------

    def _guard_ended(self, descriptor: int, _events: int) -> None:
        self._selector.unregister(descriptor)
        self._end_all()

    def _signals_came(self, descriptor: int, _events: int) -> None:
        heard = set(os.read(descriptor, 4096))
        for number in heard - {signal.SIGCHLD}:
            self._is_ending = self._is_ending or number in (signal.SIGTERM, signal.SIGINT)
            for rank in self._ranks.values():
                rank.signal(number)
        now, ended = time.monotonic(), [*collect_children()]  # none of these follows from another
        for pid, status in ended:
            if pid in self._children:
                self._child_ended(self._children.pop(pid), status, now)

    def _child_ended(self, rank: RankProcess, status: int, now: float) -> None:
        told, abort = self._told, self._server.abort
        if abort is not None and abort.rank == rank.rank and os.WIFSIGNALED(status):
            status = (abort.code & 0xFF or 1) << 8  # it had ended itself, if this were not quicker
        if told.reports_to:  # first of all
            number = told.first + rank.rank
            report_end(told.reports_to, number, status, told.incarnation, at=now)
        self._ended(rank, status)

    def _forked(self, rank: RankProcess) -> None:
        """Take what the process tells that has forked a rank, above all its end."""
        request = rank.request
        assert request is not None
        try:
            status = rank.told()
        except ConnectionRefusedError:
            self._selector.unregister(request)
            rank.forget_request()
            self._spawn(rank)
            return
        except ConnectionError:
            self._selector.unregister(request)
            rank.forget_request()
            if not self._is_ending:
                _say("the process that forks the ranks of this machine was ended")
            rank.signal(signal.SIGKILL)  # nobody would see its end
            self._ended(rank, MANAGER_BROKEN << 8)
            if not self._running:  # so all went at once, and none of them had failed
                self._is_ending = True
            return
        if status is not None:
            self._selector.unregister(request)
            rank.forget_request()
            self._ended(rank, status)

    def _ended(self, rank: RankProcess, status: int) -> None:
        rank.has_ended = True
        self._running -= 1
        while self._read(rank):
            pass  # its last words
        self._hang_up(rank)
        code = os.waitstatus_to_exitcode(status)
        self._code = self._code or (code if code >= 0 else 128 - code)
        abort = self._server.abort
        is_abort = abort is not None and abort.rank == rank.rank
        if (is_abort or self._server.is_missed(rank.rank)) and not self._told.stays:
            self._end_all()

    def _end_all(self) -> None:
        """End all ranks: one of them wanted that, or has left others waiting."""
        if not self._is_ending:
            self._is_ending, self._code = True, self._code or 1
            _end(self._ranks.values())


def _end(ranks: Iterable[RankProcess]) -> None:
    """Kill ranks that run, and then the native programs that some of them have started.

    In this order: a rank whose program is killed before it would say that this was how it ended.
    """
    pids = {one.pid for one in ranks if one.pid and not one.has_ended}
    below = family.descendants(pids, family.processes())
    shared = shared_by(below)
    remove_segments(shared | end_with(pids, family.KILL) | end_with(below, family.KILL))


def _say(words: str) -> None:
    os.write(2, f"{MANAGER_NAME}: {words}\n".encode(errors="replace"))


def main() -> int:
    """Do what the first line of standard input says; return the exit code."""
    family.rename(MANAGER_NAME)
    line = b""
    while not line.endswith(b"\n"):
        data = os.read(0, 1 << 16)
        if not data:
            return 1  # who wanted it is gone
        line += data
    told = ManagedRanks.parse(line)
    others = OtherHosts(os.dup(0), os.dup(1)) if len(told.hosts) > 1 else None
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    if others is not None:
        os.dup2(2, 1)  # what ranks write is no line for others
    try:
        return ProcessManager(told, others).run()
    except RankNotStarted as fault:
        _say(str(fault))
        return 1
    except OSError as fault:
        _say(f"it cannot go on, so its ranks are ended: {fault}")
        return MANAGER_BROKEN


if __name__ == "__main__":
    sys.exit(main())
