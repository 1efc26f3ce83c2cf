"""The codes of a running machine: tracks their runs, and starts and ends them one by one."""

from __future__ import annotations

import pickle
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from gcm.suggestion import did_you_mean
from runtime.coupling.code_run import CodeRun, CodeState
from runtime.coupling.control import CodeStatus, OutputLine
from runtime.coupling.directory import CodeDirectory
from runtime.coupling.errors import CodeNotRunning, CodeNotStarted, NotCoupled, UnknownCode
from runtime.coupling.registry import CouplingRegistry
from runtime.deployment import DeploymentPlan
from runtime.launchers.lines import Buffer, lines_of
from runtime.machine.contracts import Orders
from runtime.machine.deaths import RankDeath
from runtime.membership.whereabouts import RankArrival, Report, report
from runtime.rank_name import RankName

KEPT_LINES = 10_000
"""How many of a code's last lines of output are kept."""

OrdersTo = Callable[[str], Orders]
"""Returns what gives orders to a cluster's front-end."""

CallLater = Callable[[float, Callable[[], None]], object]
"""Schedules a call after a number of seconds, without blocking."""


class Codes:
    """All codes of a plan.

    With `steered`, a program drives the machine: output is kept, and ranks can exchange messages
    with that program. A code with a failed rank is killed after `settle` seconds, since its other
    ranks may wait for that rank for ever, unless they can survive its loss. With `idle`, only the
    program starts codes.
    """

    def __init__(
        self,
        plan: DeploymentPlan,
        *,
        steered: bool = False,
        idle: bool = False,
        settle: float = 5.0,
    ) -> None:
        deployment = plan.deployment
        clusters = {
            code.name: [
                (cluster.identifier, cluster.ranks)
                for cluster in deployment.clusters()
                if cluster.application == code.name and cluster.ranks
            ]
            for code in deployment.applications
        }
        machine = pickle.dumps(plan.grid, protocol=5)
        settings = {code.name: code.settings for code in deployment.applications}
        directory = CodeDirectory(clusters, steered, deployment.links, settings)
        self.registry = CouplingRegistry(directory, machine)
        self.idle = idle
        self.is_steered = steered
        self._settle = settle
        names = self._rank_names = deployment.rank_names()
        self._runs = {
            code.name: CodeRun(code.name, dict(clusters[code.name]), names, code.survives)
            for code in deployment.applications
        }
        for run in () if idle else self._runs.values():
            run.begin()
        self._by_cluster = {cluster: run for run in self._runs.values() for cluster in run.clusters}
        self._lines: dict[str, deque[OutputLine]] = {
            name: deque(maxlen=KEPT_LINES) for name in self._runs
        }
        self._here: dict[str, Report] = {}
        self._changed = threading.Condition()
        self._is_open = False
        self._over = ""
        self._orders: OrdersTo = _nobody
        self._later: CallLater = _nobody

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the codes."""
        return tuple(self._runs)

    def incarnation(self, cluster: str) -> int:
        """Return how often the ranks of a cluster have been started."""
        run = self._by_cluster.get(cluster)
        return 1 if run is None else run.incarnation

    def is_stopping(self, cluster: str) -> bool:
        """Tell whether the code of a cluster was told to end by itself."""
        run = self._by_cluster.get(cluster)
        return run is not None and run.state is CodeState.STOPPING

    # -- from the engine's thread ------------------------------------------------------------------

    def connect(self, orders: OrdersTo, later: CallLater) -> None:
        """Connect to the front-ends, and set the clock."""
        self._orders = orders
        self._later = later

    def go(self) -> None:
        """Record that the application is about to run; ranks that join then see codes running."""
        with self._changed:
            begun = [run for run in self._runs.values() if run.go()]
            self._changed.notify_all()
        for run in begun:
            self.registry.began(run.name, run.incarnation)

    def open(self) -> None:
        """Record that the application runs: from now on codes are started one by one."""
        with self._changed:
            self._is_open = True
            self._changed.notify_all()

    def written(self, cluster: str, batch: Iterable[tuple[int | None, str, Buffer]]) -> None:
        """Keep the output of the ranks of a cluster."""
        run = self._by_cluster.get(cluster)
        if run is None or not self.is_steered:
            return
        first = run.first_rank(cluster)
        with self._changed:
            self._lines[run.name].extend(
                OutputLine(None if rank is None else first + rank, stream, text)
                for rank, stream, block in batch
                for text in lines_of(bytes(block))
            )

    def rank_ready(self, rank: str, arrival: RankArrival) -> None:
        """Record the address of a rank."""
        self._here[rank] = report(rank, arrival)

    def ranks_up(self, cluster: str) -> None:
        """Record that all ranks of a cluster are ready."""
        run = self._by_cluster.get(cluster)
        if run is None:
            return
        with self._changed:
            # Until the machine runs, the engine decides when the application may go.
            goes = run.ranks_up(cluster) and self._is_open and run.go()
            if goes:  # everybody has to know before a caller that waits for the start can proceed
                self.registry.began(run.name, run.incarnation)
                self._announce_address(run)
                for control in self._controls(run):
                    control.go()
            self._changed.notify_all()

    def rank_ended(self, cluster: str, death: RankDeath) -> None:
        """Record how a rank has ended."""
        run = self._by_cluster.get(cluster)
        if run is None:
            return
        exception = death.observed.exception
        why = exception and f"{self._rank_names.name(death.who)} ended with {exception}"
        with self._changed:
            ended = run.rank_ended(death, why)
            self._let_it_settle(run)
        self._announce_ends(run, ended)

    def starts_again(self, rank: RankName) -> None:
        """Record that a rank is about to be started again alone, in the place of a lost one."""
        run = self._by_cluster.get(rank.cluster)
        if run is None:
            return
        with self._changed:
            number = run.rank_starts_again(rank)
        self.registry.starts_again(run.name, number)

    def job_ended(self, cluster: str, code: int, why: str) -> None:
        """Record that all ranks of a cluster have ended."""
        run = self._by_cluster.get(cluster)
        if run is None:
            return
        with self._changed:
            failed = run.state is CodeState.STARTING and self._is_open
            silent = run.job_ended(cluster, code, why)
            self._let_it_settle(run)
            # As with a start, everybody has to know before a caller that waits for the end
            # proceeds.
            self._announce_ends(run, silent)
            if run.state is CodeState.ENDED:
                words = run.why or "its program ended, with exit code 0 on all ranks"
                self.registry.ended(run.name, words)
            elif failed:
                self._kill(run)
            self._changed.notify_all()

    def failed(self, cluster: str, why: str) -> None:
        """Record that ranks of a cluster cannot be started."""
        run = self._by_cluster.get(cluster)
        if run is None:
            return
        with self._changed:
            run.fail(why)
            if self._is_open:
                self._kill(run)

    def end(self, why: str) -> None:
        """Record that the machine has ended, and all codes with it."""
        with self._changed:
            self._over = why
            for run in self._runs.values():
                run.lose(why)
            self._changed.notify_all()
        self.registry.lose(why)

    def _announce_address(self, run: CodeRun) -> None:
        """Send all front-ends the addresses of the ranks in the current run of a code."""
        reports = [
            self._here[f"{cluster}:{rank}"]
            for cluster, ranks in run.clusters.items()
            for rank in range(ranks)
        ]
        for cluster in self._by_cluster:
            self._orders(cluster).moved(reports)

    def _let_it_settle(self, run: CodeRun) -> None:
        """Give the rest of a code some time to end, once a part of it has failed."""
        if self.is_steered and run.begins_to_settle():
            self._later(self._settle, partial(self._end_the_rest, run, run.incarnation))

    def _end_the_rest(self, run: CodeRun, incarnation: int) -> None:
        with self._changed:
            if run.settle(incarnation, self._settle):
                self._kill(run)

    def _announce_ends(self, run: CodeRun, ends: Mapping[int, str]) -> None:
        for rank, why in ends.items():
            self.registry.rank_ended(run.name, rank, why)

    def _controls(self, run: CodeRun) -> list[Orders]:
        return [self._orders(cluster) for cluster in run.clusters]

    def _kill(self, run: CodeRun) -> None:
        for control in self._controls(run):
            control.kill_ranks()

    # -- for the steering program ------------------------------------------------------------------

    def start(self, name: str) -> None:
        """Start a code and return when it runs; raises CodeBusy, CodeNotStarted."""
        run = self._run(name)
        with self._changed:
            self._changed.wait_for(lambda: self._is_open or self._over)
            self._check_not_over(name)
            run.begin()
            incarnation = run.incarnation
            for control in self._controls(run):
                control.start_ranks(incarnation)
            self._changed.wait_for(
                lambda: run.incarnation != incarnation or run.has_run or not run.is_alive
            )
            failed = run.incarnation == incarnation and not run.has_run
            why = run.why or "it was asked to end before it ran"
        if failed:
            raise CodeNotStarted(
                f"{name} could not be started", cause=why, cure="Look at its output"
            )

    def stop(self, name: str, grace: float = 2.0) -> None:
        """Ask a code to end, and return when it has ended; raises CodeNotRunning."""
        self._end(name, lambda control: control.stop_ranks(grace))

    def kill(self, name: str) -> None:
        """Kill a code; raises CodeNotRunning."""
        self._end(name, lambda control: control.kill_ranks())

    def status(self, name: str) -> CodeStatus:
        """Return the state of a code."""
        run = self._run(name)
        with self._changed:
            ranks = sum(run.clusters.values())
            codes = dict(sorted(run.exit_codes.items()))
            return CodeStatus(name, run.state, ranks, run.incarnation, codes, run.why)

    def exit_codes(self, name: str) -> dict[int, int]:
        """Return the exit codes of a code's ranks that have ended."""
        return dict(self.status(name).exit_codes)

    def output(self, name: str) -> list[OutputLine]:
        """Return the last lines of output of a code."""
        self._run(name)
        with self._changed:
            return list(self._lines[name])

    def wait(self, name: str, timeout: float | None = None) -> dict[int, int]:
        """Return the exit codes of a code once it has ended; raises TimeoutError."""
        run = self._run(name)
        with self._changed:
            if run.state is CodeState.IDLE:
                raise CodeNotRunning(f"{name} was never started, so it cannot end")
            incarnation = run.incarnation
            if not self._changed.wait_for(
                lambda: run.incarnation != incarnation or not run.is_alive, timeout
            ):
                raise TimeoutError(f"{name} was still {run.state} after {timeout:g} s")
            return dict(sorted(run.exit_codes.items()))

    def check(self, name: str) -> None:
        """Raise UnknownCode if no code has that name."""
        self._run(name)

    def _end(self, name: str, end: Callable[[Orders], None]) -> None:
        run = self._run(name)
        with self._changed:
            # All codes start together at first, and one that fails to start ends the whole machine.
            self._changed.wait_for(lambda: self._is_open or self._over)
            run.stop()
            incarnation = run.incarnation
            for control in self._controls(run):
                end(control)
            self._changed.wait_for(lambda: run.incarnation != incarnation or not run.is_alive)

    def _run(self, name: str) -> CodeRun:
        if name not in self._runs:
            raise UnknownCode(
                f"there is no code {name!r} in this deployment",
                cure=did_you_mean(name, self._runs) or f"There is: {', '.join(self._runs)}",
            )
        return self._runs[name]

    def _check_not_over(self, name: str) -> None:
        if self._over:
            raise NotCoupled(
                f"{name} cannot be started, because the machine has ended", cause=self._over
            )


def _nobody(*_: object) -> Any:
    """Raise NotCoupled: the machine has not started."""
    raise NotCoupled("the machine has not started")
