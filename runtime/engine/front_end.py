"""The front-end of a cluster: starts its native MPI, gathers its ranks, tells the launcher."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import Any

from gcm.invocation import Invocation
from runtime.engine.configuration import Configuration, read_first_input
from runtime.engine.gate import Facts, Gate
from runtime.engine.ranks_job import RanksJob, Said
from runtime.engine.room import write_key
from runtime.engine.segments import remove_segments
from runtime.errors import GridError
from runtime.launchers.errors import WrongMpiexec
from runtime.transport.channel import Channel, Request
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import dial
from runtime.transport.reactor import Reactor
from runtime.transport.streams import PipeStream, SocketStream, Stream

LAUNCHER = "/launcher"
CONTROL = "control"

HUSH = 2.0  # seconds in which the end of the job explains why a rank has gone
LOOK_AGAIN = 1.0  # seconds between two looks at ranks that have not come yet
ENOUGH = 2  # looks in which a rank has to be missing
GRACE = 2.0  # seconds between the polite and the final end of the ranks


class FrontEnd:
    """What one front-end process does until it is told to end or loses its launcher."""

    def __init__(self, configuration: Configuration, reactor: Reactor, stream: Stream) -> None:
        self._configuration = configuration
        self._reactor = reactor
        self._ready: dict[str, Facts] = {}
        self._facts: list[Facts] = []
        self._here: set[str] = set()
        self._ended: set[str] = set()
        self._job_over = False
        self._job_begun = False
        self._stopping = False
        self._over = threading.Event()
        self._job: RanksJob | None = None
        self._gate: Gate | None = None
        if configuration.job is not None:
            self._job = RanksJob(
                configuration.job, configuration.folder, self._said, self._job_ended
            )
        self._launcher = Channel(reactor, stream, "the launcher", self._asked)
        self._launcher.when_closed(lambda _: self._over.set())

    def end(self, *_: object) -> None:
        """End as soon as possible; fit to be a signal handler."""
        self._over.set()

    def run(self, received: bytes = b"") -> None:
        """Serve until the end."""
        self._launcher.open(received)
        if self._job is None or self._open_gate():
            if self._configuration.at_once:
                self._start_ranks()
            self._tell("up")
        self._over.wait()
        if self._gate is not None:
            self._gate.close()
        # First, because who ends this process may not wait for the rest.
        remove_segments(path for facts in self._facts for path in facts["segments"])
        if self._job is not None:
            self._job.stop()
            self._job.close()
        self._launcher.close()

    def _open_gate(self) -> bool:
        """Let ranks report; tell the launcher if they cannot."""
        told = self._configuration
        credentials = Credentials(told.secret, told.cluster)
        try:
            self._gate = Gate(self._reactor, told.room, told.port, credentials, self)
            write_key(told.room, self._gate.address, told.secret)
        except GridError as fault:
            self._fail("front-end", fault)
            return False
        except OSError as fault:
            self._fail("front-end", GridError(f"ranks cannot be told where to report: {fault}"))
            return False
        return True

    # --- the launcher ---------------------------------------------------------------------------

    def _tell(self, operation: str, *args: Any) -> None:
        try:
            self._launcher.note(Invocation(LAUNCHER, CONTROL, operation, args))
        except ChannelClosed:
            self._over.set()

    def _asked(self, request: Request) -> None:
        match request.target.operation:
            case "start_ranks":
                self._start_ranks()
            case "go":
                if self._gate is not None:
                    self._gate.release(dict(*request.invocation().args))
            case "stop":
                self._stop()

    def _stop(self) -> None:
        """End the ranks in order, then this process."""
        if self._stopping:
            return
        self._stopping = True
        running = self._job is not None and self._job_begun and not self._job_over
        if running and self._gate is not None and self._gate.released:
            self._gate.stop()
            self._reactor.later(GRACE, self._over.set)
        else:
            self._over.set()

    # --- the job ----------------------------------------------------------------------------------

    def _start_ranks(self) -> None:
        if self._job is not None and not self._job_begun:
            self._job_begun = True
            threading.Thread(target=self._start_job, name="starting ranks", daemon=True).start()

    def _start_job(self) -> None:
        assert self._job is not None
        try:
            self._job.start()
        except GridError as fault:
            self._fail("ranks", fault)
        else:
            self._reactor.later(LOOK_AGAIN, lambda: self._look_after(0))

    def _look_after(self, suspicions: int) -> None:
        """Count the ranks until all have come: one that dies early may go unnoticed."""
        assert self._job is not None
        if self._stopping or self._job_over or not self._missing():
            return
        suspicions = suspicions + 1 if self._job.are_some_missing() else 0
        if suspicions < ENOUGH:
            self._reactor.later(LOOK_AGAIN, lambda: self._look_after(suspicions))
            return
        fault = GridError(
            "a rank died before the application started; never heard of: "
            + (", ".join(self._unheard()) or "none, so it died while MPI started"),
            cause=self._job.last_lines,
            cure="The last lines of the ranks' stderr are below",
        )
        self._fail("ranks", fault)

    def _fail(self, step: str, fault: GridError) -> None:
        self._tell("failed", f"{step}:{self._configuration.cluster}", self._at_home(fault))

    def _at_home(self, fault: GridError) -> str:
        """Return the message with the name of this cluster as its place."""
        here = f"{self._configuration.path} on {os.uname().nodename}"
        fault.place = here if fault.place in ("", "local") else f"{here} ({fault.place})"
        return str(fault)

    def _said(self, batch: list[Said]) -> None:
        self._tell("said", batch)

    def _job_ended(self, code: int, why: str) -> None:
        self._reactor.soon(lambda: self._job_is_over(code, why))

    def _job_is_over(self, code: int, why: str) -> None:
        self._job_over = True
        released = self._gate is not None and self._gate.released
        if released and not code:
            silent = sorted(set(self._ready) - self._ended)
            if silent:
                code, why = 1, self._left_behind(silent)
        if not released or (code and not self._ended and not why):
            why = why or self._what_happened(code)
        self._tell("job_ended", code, why)
        if self._stopping:
            self._over.set()

    def _what_happened(self, code: int) -> str:
        assert self._job is not None
        missing = self._unheard()
        when = "" if self._gate and self._gate.released else " before the application started"
        who = f"; never heard of: {', '.join(missing)}" if missing else ""
        return self._at_home(
            GridError(
                f"the ranks ended with code {code}{when}{who}",
                cause=self._job.last_lines,
                cure="The last lines of their stderr are below",
            )
        )

    def _left_behind(self, ranks: list[str]) -> str:
        assert self._job is not None
        return self._at_home(
            GridError(
                f"rank {', '.join(ranks)} ended without finalising MPI",
                cause=self._job.last_lines,
                cure="Let the program return instead of ending its process with os._exit",
            )
        )

    def _missing(self) -> list[str]:
        told = self._configuration
        ranks = told.job.ranks if told.job else 0
        names = [f"{told.cluster}:{number}" for number in range(ranks)]
        return [name for name in names if name not in self._ready]

    def _unheard(self) -> list[str]:
        return [name for name in self._missing() if name not in self._here]

    # --- ranks, on the reactor's thread -----------------------------------------------------------

    def rank_here(self, rank: str) -> None:
        """Pass on that a rank has come."""
        self._here.add(rank)
        self._tell("rank_here", rank)

    def rank_ready(self, rank: str, facts: Facts) -> None:
        """Take note of a rank, and tell once all are there."""
        told = self._configuration
        assert told.job is not None
        self._facts.append(facts)
        if facts["size"] not in (None, told.job.ranks):
            self._fail("ranks", _wrong(told.job.mpiexec, told.job.ranks, facts))
            return
        self._ready[rank] = facts
        self._tell("rank_ready", rank, facts)
        if not self._missing():
            self._tell("ranks_up")

    def rank_unable(self, rank: str, why: str, python: str) -> None:
        """Tell why a rank cannot run."""
        fault = GridError(
            f"rank {rank} cannot start MPI: {why}",
            cure=f"Install mpi4py and its MPI for {python}, or name another Python for the cluster",
        )
        self._fail("ranks", fault)

    def rank_ended(self, rank: str, code: int, why: str) -> None:
        """Pass on how a rank ended."""
        self._ended.add(rank)
        words = f"{self._configuration.path}: rank {rank} ended with {why}" if why else ""
        self._tell("rank_ended", rank, code, words)

    def rank_left(self, rank: str) -> None:
        """Wait for the end of the job to say why, but not for long."""
        if not self._stopping:
            self._reactor.later(HUSH, lambda: self._still_silent(rank))

    def _still_silent(self, rank: str) -> None:
        if self._job_over or self._stopping:
            return
        if self._gate is not None and self._gate.released:
            self._ended.add(rank)
            self._tell("rank_ended", rank, 1, self._left_behind([rank]))
        else:
            assert self._job is not None
            fault = GridError(
                f"rank {rank} died before the application started",
                cause=self._job.last_lines,
                cure="The last lines of the ranks' stderr are below",
            )
            self._fail("ranks", fault)


def _wrong(mpiexec: str, ranks: int, facts: Facts) -> WrongMpiexec:
    return WrongMpiexec(
        f"{mpiexec!r} started {ranks} ranks, but one believes to be {facts['rank']} of"
        f" {facts['size']}: its mpi4py uses another MPI",
        cause=str(facts["mpi"]),
        cure="Name the mpiexec that belongs to that mpi4py, usually the one beside python",
    )


def main() -> int:
    """Run as one front-end, or as the parent of several; return the exit code.

    Several front-ends of one host share what they import: it is done once, and then they part.
    """
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # a stray print must not look like a message
    os.close(nothing)
    try:
        configurations = read_first_input(lambda size: os.read(source, size))
    except EOFError:
        return 1
    if not configurations[0].launcher:
        _serve(configurations[0], PipeStream(source, sink))
        return 0
    os.close(source)
    os.close(sink)
    return _part(configurations)


def _part(configurations: tuple[Configuration, ...]) -> int:
    """Become as many processes as there are front-ends, and wait for all of them."""
    gc.freeze()  # what all have in common stays in common
    for configuration in configurations:
        if os.fork() == 0:
            _dial(configuration)
            return 0
    worst = 0
    for _ in configurations:
        _, status = os.wait()
        worst = max(worst, abs(os.waitstatus_to_exitcode(status)))
    return worst


def _dial(configuration: Configuration) -> None:
    credentials = Credentials(configuration.secret, configuration.cluster)
    connected, _, received = dial(configuration.launcher, credentials)
    _serve(configuration, SocketStream(connected), received)


def _serve(configuration: Configuration, stream: Stream, received: bytes = b"") -> None:
    with Reactor(f"front-end {configuration.cluster}") as reactor:
        front_end = FrontEnd(configuration, reactor, stream)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, front_end.end)
        front_end.run(received)
