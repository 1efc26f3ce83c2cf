"""A cluster whose nodes a batch system grants, and the login nodes at which these are asked."""

from __future__ import annotations

import threading
from dataclasses import replace

from runtime.allocations import batch_system
from runtime.deployment.model import DeployedCluster, SshHop
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.launchers.allocation import JobAllocation
from runtime.launchers.base import Launcher
from runtime.launchers.job_queue import ANSWER_TIMEOUT, JobQueue
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import PlaceGranted, Walltime
from runtime.lifecycle.outcome import HeldNodes
from runtime.processes.configuration import Keys
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.place import RemotePlace, RequestHandler
from runtime.processes.launcher.reaching import usual_launcher
from runtime.transport.channel import Relay

_IS_AT_HOME = 'case $1 in "$HOME"/*) ;; *) exit 1 ;; esac'


class LoginNodes:
    """The queues of a run: clusters behind one login node share its connection and its answers.

    A command there has three quarters of the time for a start, so that it is named before that is
    over.
    """

    def __init__(self, local: LocalLauncher, start_timeout: float) -> None:
        self._local = local
        self._answer_timeout = min(ANSWER_TIMEOUT, 0.75 * start_timeout)
        self._lock = threading.Lock()
        self._queues: dict[tuple[tuple[SshHop, ...], str], JobQueue] = {}

    def queue_of(self, cluster: DeployedCluster) -> JobQueue:
        """Return the queue in which a cluster waits; it may not be reached yet."""
        assert cluster.batch is not None
        name, hops = cluster.batch.system, cluster.hops
        with self._lock:
            if (hops, name) not in self._queues:
                login: Launcher = self._local
                if hops:
                    # what prepares the nodes is not for the login node
                    plain = replace(cluster.front_end, modules=(), before="", container="")
                    at_login = replace(cluster, batch=None, front_end=plain)
                    login = usual_launcher(at_login, self._local)
                self._queues[hops, name] = JobQueue(
                    login,
                    batch_system(name),
                    is_own=bool(hops),
                    answer_timeout=self._answer_timeout,
                )
            return self._queues[hops, name]

    def close(self) -> None:
        """Let go of all login nodes."""
        with self._lock:
            for queue in self._queues.values():
                queue.close()


class QueuedPlace(RemotePlace):
    """A cluster whose nodes a batch system grants; `open` waits in its queue before all else."""

    def __init__(
        self,
        cluster: DeployedCluster,
        local: LocalLauncher,
        relay: Relay | None = None,
        *,
        queue: JobQueue,
        allocator: CoAllocator,
        idle: bool = False,
    ) -> None:
        super().__init__(cluster, local, relay, reach=self._into_job, idle=idle)
        self._queue = queue
        self._allocator = allocator
        self._allocation: JobAllocation | None = None
        self._given_up = threading.Event()

    def open(self, plan: DeploymentPlan, keys: Keys, handler: RequestHandler) -> None:
        """Have the nodes granted, then start the front-end on the first; raises GridError."""
        request, name = self.cluster.batch, self.identifier
        assert request is not None
        self.check_wanted()
        self._queue.ready()
        grant = self._allocator.nodes(name, self._queue, handler.notify)
        self._allocation, self.hosts = grant.allocation, grant.allocation.hosts
        self.is_late = grant.is_late
        walltime, left = None, grant.left(request.walltime or None)
        if left is not None:
            walltime = Walltime(left, request.reserve, request.signal, request.signal_before)
        handler.notify(PlaceGranted(name, walltime))
        super().open(replace(plan, deployment=self._allocator.deployment), keys, handler)
        if not self._queue.system.ends_processes:
            threading.Thread(target=self._end_with_job, daemon=True).start()

    @property
    def _has_own_launcher(self) -> bool:
        return super()._has_own_launcher and self.launcher is not self._queue.login

    def reach_again(self) -> None:
        """Connect again: once the job is over to the login node, which has the same folders.

        Raises:
            LaunchError: neither can be reached, or the job is ending.
        """
        is_there = self._allocation is None or self._allocation.is_running()
        if is_there or not (self.work or self.is_shared(self.folder)):
            super().reach_again()
            return
        self.let_go()
        self.launcher = self._queue.login
        self.launcher.ready()

    def is_shared(self, folder: str) -> bool:
        """Tell whether a folder is below the home folder, which login node and nodes share."""
        return self._queue.run(("/bin/sh", "-c", _IS_AT_HOME, "gcm", folder))[0] == 0

    def _end_with_job(self) -> None:
        """End the front-end once the job is over, as a batch system does that holds it itself."""
        assert self._allocation is not None
        if self._allocation.await_end(self._given_up):
            self.kill()

    def state_of_job(self) -> str:
        """Return what the batch system says of the job; this may wait."""
        return "" if self._allocation is None else self._allocation.state()

    def end_of_job(self) -> str:
        """Return what the batch system says of a job that seems to end; this may wait."""
        return "" if self._allocation is None else self._allocation.state_at_end(self._given_up)

    def held_nodes(self) -> list[HeldNodes]:
        """Return the nodes that jobs have held for it, and for how long until now."""
        return self._allocator.held_nodes(self.identifier)

    def abort(self) -> None:
        """Give up: `open` raises, or the front-end is ended."""
        self._queue.give_up()
        super().abort()

    def close(self) -> None:
        """Let go of the cluster, and give its nodes back."""
        self._given_up.set()
        super().close()
        self._allocator.give_up(self.identifier)

    def _into_job(self, cluster: DeployedCluster, local: LocalLauncher, timeout: float) -> Launcher:
        assert self._allocation is not None
        return usual_launcher(cluster, local, timeout, self._allocation.inside())
