"""The places of a run as a service: made, opened, condemned, followed by others, let go of."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from runtime.deployment.model import DeployedCluster
from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.base import Command
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.launchers.segments import remove_segments
from runtime.lifecycle.events import AskAgain, Condemn, Kill, LetGo
from runtime.processes.launcher.call_router import CallRouter
from runtime.processes.launcher.co_allocator import CoAllocator
from runtime.processes.launcher.handshakes import Handshakes
from runtime.processes.launcher.openings import Openings, Post
from runtime.processes.launcher.output import MOST_CREDIT
from runtime.processes.launcher.place import ClusterPlace, RemotePlace, RequestHandler
from runtime.processes.launcher.queued_place import LoginNodes, QueuedPlace
from runtime.processes.launcher.rank_processes import RankProcesses
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.services import Effects, Starts
from runtime.processes.launcher.stage_out import StageOut
from runtime.processes.launcher.task_group import TaskGroup
from runtime.processes.launcher.verdicts import Verdicts
from runtime.step_name import StepKind

REMOVE_TIMEOUT = 5.0

_log = logging.getLogger(__name__)


class PlaceMaker:
    """Makes the place of a cluster: on this machine, behind a launcher, or in a batch system."""

    def __init__(
        self, local: LocalLauncher, router: CallRouter, allocator: CoAllocator, *, patience: float
    ) -> None:
        self._local = local
        self._router = router
        self._allocator = allocator
        self._logins = LoginNodes(local, patience)

    def place(self, cluster: DeployedCluster, reach: Reach, *, idle: bool) -> ClusterPlace:
        """Return a place that nobody has opened yet."""
        onward = partial(self._router.onward, cluster.identifier)
        return self._kind_of(cluster, reach)(cluster, self._local, onward, idle=idle)

    def _kind_of(self, cluster: DeployedCluster, reach: Reach) -> Callable[..., ClusterPlace]:
        if cluster.batch is not None:
            queue = self._logins.queue_of(cluster)
            return partial(QueuedPlace, queue=queue, allocator=self._allocator)
        return ClusterPlace if cluster.is_local else partial(RemotePlace, reach=reach)

    def close(self) -> None:
        """Give all nodes back, and leave the login nodes."""
        self._allocator.close()
        self._logins.close()


class RunPlaces:
    """Opens places, and does what becomes of those that are lost or not wanted any more.

    For the engine's thread. `table` has the present place of each cluster, `follow` is told of one
    that takes the place of another.
    """

    def __init__(
        self,
        table: dict[str, ClusterPlace],
        *,
        maker: PlaceMaker,
        allocator: CoAllocator,
        openings: Openings,
        handler: RequestHandler,
        verdicts: Verdicts,
        ranks: RankProcesses,
        results: StageOut,
        handshakes: Handshakes,
        tasks: TaskGroup,
        post: Post,
        follow: Callable[[ClusterPlace], None],
    ) -> None:
        self._table = table
        self._maker = maker
        self._allocator = allocator
        self._openings = openings
        self._handler = handler
        self._verdicts = verdicts
        self._ranks = ranks
        self._results = results
        self._handshakes = handshakes
        self._tasks = tasks
        self._post = post
        self._follow = follow

    @property
    def effects(self) -> Effects:
        """What is done to places."""
        return {Condemn: self._condemn, Kill: self._kill, LetGo: self._let_go, AskAgain: self._ask}

    @property
    def starts(self) -> Starts:
        """The front-ends."""
        return {StepKind.FRONT_END: self._open}

    def _open(self, step: Step) -> None:
        self._openings.open(self._table[step.about], self._table.values(), self._handler)

    def _condemn(self, effect: Condemn) -> None:
        place = self._table[effect.cluster]
        if effect.line is None:
            self._verdicts.condemn(place, effect.why)
        else:
            source, target = effect.line
            self._verdicts.cut(place, effect.why, self._table[source], self._table[target])

    def _kill(self, _: Kill) -> None:
        for place in self._table.values():
            place.was_lost = True
            place.kill()

    def stop(self) -> None:
        """Ask all front-ends to end in order; one that is still being opened is given up."""
        places = self._table.values()
        starting = {place.process for place in places if not place.is_up}
        for place in places:
            if place.process in starting:  # with others in one process, which ends with all of them
                self._tasks.do(f"giving up {place.cluster.path}", place.abort)
            else:
                place.orders.output_taken(MOST_CREDIT)  # for last words, read or not
                place.orders.stop()

    def lose(self, place: ClusterPlace, words: str, fault: GridError | None) -> None:
        """Do what a verdict leads to: the run ends, or waits for one place less."""
        _log.info("%s: the front-end has gone: %s", place.cluster.path, words)
        if fault is not None:
            place.expel()  # what is not heard of any more must not come back
        self._ranks.place_lost(place.identifier)
        if self._ranks.is_over:
            self._openings.closed(place, words)
        elif not place.was_lost:  # else it is known already
            self._openings.lost(place, words, fault)
            self._handshakes.join_arrived()  # without those that it led

    def _let_go(self, effect: LetGo) -> None:
        """Give the nodes back of a cluster that will not come, once its work folder is removed."""
        place = self._table[effect.cluster]

        def close() -> None:
            with suppress(LaunchError):
                self._results.remove_work(place)
            self._close(place)

        place.was_lost = True
        self._results.leave_out(place.identifier)
        self._handshakes.leave(place)
        self._tasks.do(f"closing {place.cluster.path}", close)
        self._handshakes.join_arrived()  # without those that it would have led

    def _ask(self, effect: AskAgain) -> None:
        """Let another place follow a lost one, as one that comes late, and bring its results home.

        The nodes of the lost one are given back first.
        """
        name = effect.cluster
        lost = self._table[name]
        former = self._results.take_former(name)
        lost.was_lost = True
        self._handshakes.leave(lost)
        new = self._maker.place(lost.cluster, usual_launcher, idle=lost.idle)
        new.channel = lost.channel  # what is sent there before it is up goes nowhere
        self._table[name] = new
        self._follow(new)
        self._verdicts.renew(lost, "its job has ended")
        self._handshakes.leave_out(name)

        def give_back() -> None:
            try:
                self._close(lost)
            finally:  # the ranks that wait for the next job wait for ever without it
                self._allocator.renew(name)
                self._post(lambda: self._openings.open(new, (), self._handler))

        def finish() -> None:
            try:
                give_back()
            finally:  # the end of the run waits for these
                self._results.finish_former(former)

        def warn(fault: GridError) -> None:
            _log.warning("%s", fault)

        self._tasks.do(f"giving up a job of {lost.cluster.path}", finish, warn)
        self._handshakes.join_arrived()  # without those that it would have led

    def close(self) -> None:
        """End what is left and let go of all places, in parallel; wait for that."""
        for place in self._table.values():
            place.kill()
            self._tasks.do(f"closing {place.cluster.path}", partial(self._close, place))
        self._tasks.join()
        self._maker.close()

    def _close(self, place: ClusterPlace) -> None:
        """Let go of a place, and remove what killed ranks left if its front-end could not."""
        paths = self._ranks.segments_of(place.identifier)
        if place.cluster.is_local and place.was_lost:
            remove_segments(paths)
        elif paths and place.was_lost:
            with suppress(LaunchError):
                place.launcher.start(Command(("rm", "-f", "--", *sorted(paths)))).wait(
                    REMOVE_TIMEOUT
                )
        place.close()
