"""Has the nodes of all clusters behind queues granted together, as `CoAllocation` decides."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial

from gcm.records import dataclass
from runtime.allocations import BatchJob, can_reserve
from runtime.allocations.co_allocation import (
    AskingWay,
    CoAllocation,
    Effect,
    GiveBack,
    QueueRequest,
    Submit,
    UseNodes,
)
from runtime.deployment.model import DeployedCluster, Deployment
from runtime.errors import GridError
from runtime.launchers.allocation import JobAllocation, TooEarly
from runtime.launchers.errors import LauncherClosed
from runtime.launchers.job_queue import JobQueue
from runtime.lifecycle.events import PlaceLate, PlaceQueued
from runtime.lifecycle.outcome import HeldNodes
from runtime.processes.launcher.task_group import TaskGroup

Notify = Callable[[PlaceQueued | PlaceLate], None]
"""Takes what is said of a cluster that waits for its nodes, and that the run begins without it."""


@dataclass(slots=True)
class Grant:
    """A job for a cluster, and when it got its nodes and the run began to use them.

    It `is_late` if the run had begun without the cluster.
    """

    allocation: JobAllocation
    over: threading.Event = field(default_factory=threading.Event)
    job: BatchJob | None = None
    since: float = 0.0
    used_since: float | None = None
    is_late: bool = False

    def left(self, walltime: float | None) -> float | None:
        """Return the seconds until its walltime is over, None for no limit.

        That is what the batch system told when it got its nodes, at most the `walltime` asked for:
        Slurm reckons with the clock of its login node, which may be wrong.
        """
        told = (walltime, self.job.left if self.job is not None else None)
        left = min((one for one in told if one is not None), default=None)
        return None if left is None else left - (time.monotonic() - self.since)


class _Waiting:
    """A cluster that waits for its nodes: who is told of it, and what became of it."""

    def __init__(self, cluster: DeployedCluster, queue: JobQueue, notify: Notify) -> None:
        self.cluster = cluster
        self.queue = queue
        self.failure: GridError | None = None
        self._notify = notify
        self._is_late = False

    def tell(self, words: str) -> None:
        """Say something of the jobs of the cluster."""
        self._notify(PlaceQueued(self.cluster.identifier, words))

    def be_late(self) -> None:
        """Say once that the run begins without it."""
        if not self._is_late:
            self._is_late = True
            self._notify(PlaceLate(self.cluster.identifier))


class CoAllocator:
    """The jobs of all clusters of a run that are behind queues. Any thread may call it.

    The run begins once each of them has asked and has its nodes, or so many as are enough for the
    deployment, unless it `waits_for_all`.
    """

    def __init__(self, deployment: Deployment, *, waits_for_all: bool = False) -> None:
        self.deployment = deployment
        """What is deployed, led by clusters that have their nodes."""
        self._clusters = {one.identifier: one for one in deployment.queued()}
        self._asked = {name: one.batch for name, one in self._clusters.items() if one.batch}
        idle = {name: one.longest_idle for name, one in self._asked.items()}
        start = None if waits_for_all else deployment.start
        is_common = start is None and can_reserve([*self._asked.values()])
        way = AskingWay.RESERVE if is_common else AskingWay.CHOSEN
        self._planner = CoAllocation(idle, random.random, way, start and start[0])
        self._changed = threading.Condition()
        self._tasks = TaskGroup()
        self._waiting: dict[str, _Waiting] = {}
        self._grants: dict[QueueRequest, Grant] = {}
        self._chosen: dict[str, Grant] = {}
        self._returned: list[HeldNodes] = []
        self._given_up: set[str] = set()
        self._began: float | None = None

    def nodes(self, name: str, queue: JobQueue, notify: Notify) -> Grant:
        """Wait until enough clusters have their nodes; return those of one, asked for in `queue`.

        If the run begins without it that is said, and its own nodes are waited for.

        Raises:
            GridError: its batch system grants none, or it was given up.
        """
        waiting = _Waiting(self._clusters[name], queue, notify)
        with self._changed:
            self._waiting[name] = waiting
            self._do(self._planner.ask(name, time.monotonic()))
            while name not in self._chosen:
                if self._planner.has_begun:
                    waiting.be_late()
                if waiting.failure is not None:
                    raise waiting.failure
                if name in self._given_up:
                    self._give_back_all(name)
                    raise LauncherClosed(
                        "the run ended while the job was queued", place=waiting.cluster.path
                    )
                self._do(self._planner.wake(time.monotonic()))
                due = self._planner.wakes_at
                self._changed.wait(None if due is None else max(0.0, due - time.monotonic()))
            grant = self._chosen[name]
            if grant.is_late:
                waiting.be_late()
            return grant

    def give_up(self, name: str) -> None:
        """Give back all that was granted to a cluster, and take its jobs out of the queue."""
        with self._changed:
            self._given_up.add(name)
            self._planner.give_up(name)
            self._give_back_all(name)
            self._changed.notify_all()

    def renew(self, name: str) -> None:
        """Let a cluster ask again that was given up since its job has ended."""
        with self._changed:
            self._given_up.discard(name)
            self._chosen.pop(name, None)
            self._planner.lost(name)

    def close(self) -> None:
        """Wait until everything that was given up has been given back."""
        self._tasks.join()

    def held_nodes(self, name: str) -> list[HeldNodes]:
        """Return what each job of a cluster has held until now, and for how long without use."""
        with self._changed:
            path = self._clusters[name].path
            present = [
                self._held(request, grant)
                for request, grant in self._grants.items()
                if request.cluster == name and grant.job is not None
            ]
            return [*(one for one in self._returned if one.cluster == path), *present]

    def _do(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Submit(request, after):
                    self._submit(request, after)
                case GiveBack(request):
                    self._report_given_back(request)
                    self._give_back(request)
                case UseNodes(requests, late):
                    others = [*self._planner.missing(), *self._given_up]
                    self.deployment = self.deployment.led_without(others)
                    for one in requests:
                        grant = self._chosen[one.cluster] = self._grants[one]
                        grant.used_since, grant.is_late = time.monotonic(), late

    def _submit(self, request: QueueRequest, after: float | None) -> None:
        waiting = self._waiting[request.cluster]
        asked, place = self._asked[request.cluster], waiting.cluster.path
        allocation = JobAllocation(waiting.queue, asked, place=place)
        grant = self._grants[request] = Grant(allocation)
        self._tasks.do(
            f"asking for nodes of {waiting.cluster.path}",
            partial(self._await, request, grant, after),
            partial(self._failed, request, grant),
        )

    def _await(self, request: QueueRequest, grant: Grant, after: float | None) -> None:
        """Submit one job, and wait for its nodes."""
        if after is None:
            grant.allocation.submit()
        elif not self._is_reserved(request, grant, after):
            self._end(request, grant)
            return
        job = grant.allocation.await_nodes(grant.over, lambda job: self._report(request, str(job)))
        with self._changed:
            grant.job, grant.since = job, time.monotonic()
            if not grant.over.is_set():
                self._do(self._planner.granted(request, grant.since))
                self._report_held(request, job)
                self._changed.notify_all()
                return
        self._end(request, grant)

    def _is_reserved(self, request: QueueRequest, grant: Grant, after: float) -> bool:
        """Submit a job with reserved nodes; return whether it was taken."""
        self._report(request, f"reserves nodes from a start in {after:.0f} s on")
        earliest: float | None = None
        try:
            grant.allocation.submit(after)
        except TooEarly as fault:
            earliest = fault.earliest
        except GridError as fault:
            words = (fault.cause or fault.what).strip().splitlines()[-1]
            self._report(request, f"no nodes were reserved: {words}")
        else:
            with self._changed:
                self._do(self._planner.reserved(request, time.monotonic()))
                self._changed.notify_all()
            return True
        with self._changed:
            if not grant.over.is_set():
                self._do(self._planner.refused(request, earliest, time.monotonic()))
                self._changed.notify_all()
        return False

    def _failed(self, request: QueueRequest, grant: Grant, fault: GridError) -> None:
        with self._changed:
            if not grant.over.is_set() and not self._planner.withdrawn(request):
                self._waiting[request.cluster].failure = fault
            self._changed.notify_all()
        self._end(request, grant)

    def _give_back_all(self, name: str) -> None:
        for request in [one for one in self._grants if one.cluster == name]:
            self._give_back(request)

    def _give_back(self, request: QueueRequest) -> None:
        grant = self._grants[request]
        if not grant.over.is_set():
            grant.over.set()
            if grant.job is not None:  # else the thread that waits in the queue ends it
                self._tasks.do("giving nodes back", partial(self._end, request, grant))

    def _end(self, request: QueueRequest, grant: Grant) -> None:
        with self._changed:
            if self._grants.pop(request, None) is None:
                return
            if grant.job is not None:
                self._returned.append(self._held(request, grant))
        grant.allocation.end()

    def _held(self, request: QueueRequest, grant: Grant) -> HeldNodes:
        asked, path = self._asked[request.cluster], self._clusters[request.cluster].path
        now = time.monotonic()
        assert grant.job is not None
        cores = grant.job.cores or sum(asked.slots)
        idle = (grant.used_since or now) - grant.since
        return HeldNodes(
            path, grant.job.number, len(grant.allocation.hosts), cores,
            round(now - grant.since, 3), round(idle, 3),
        )  # fmt: skip

    def _report(self, request: QueueRequest, words: str) -> None:
        """Tell something of a job in the queue, unless its cluster has nodes for now."""
        with self._changed:
            if request.cluster in self._planner.missing():
                self._waiting[request.cluster].tell(words)

    def _report_held(self, request: QueueRequest, job: BatchJob) -> None:
        missing = self._planner.missing()
        if missing and request.cluster not in missing and not self._planner.has_begun:
            idle = self._asked[request.cluster].longest_idle
            others = ", ".join(self._clusters[one].path for one in missing)
            most = f", for {idle:g} s at most" if idle < math.inf else ""
            self._waiting[request.cluster].tell(
                f"job {job.number} has its nodes and waits for {others}{most}"
            )

    def _report_given_back(self, request: QueueRequest) -> None:
        grant = self._grants[request]
        if grant.job is not None and request.cluster in self._planner.missing():
            held = self._held(request, grant)
            self._waiting[request.cluster].tell(
                f"job {held.job} gave its nodes back, {held.idle_core_hours:.2f} core-hours"
                f" unused; {self._planner.plan_of(request.cluster)}"
            )
