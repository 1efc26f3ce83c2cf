"""Opening the clusters of a run, and telling what becomes of those that do not open or go away."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from gcm.records import dataclass
from runtime.deployment.model import Encryption
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.errors import GridError
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Event, ParentKilled, PlaceClosed, PlaceLost, StepFailed
from runtime.processes.configuration import Keys
from runtime.processes.launcher.autopsy import (
    end_of_parent,
    fault_of,
    fault_of_job,
    has_ended_in_order,
)
from runtime.processes.launcher.configuring import is_on_this_machine
from runtime.processes.launcher.local_front_ends import LocalFrontEnds
from runtime.processes.launcher.place import ClusterPlace, RemotePlace, RequestHandler
from runtime.processes.launcher.task_group import TaskGroup
from runtime.processes.launcher.warm_start import WarmStart
from runtime.step_name import StepKind, StepName

if TYPE_CHECKING:
    from runtime.transport.certificate import CertificateAuthority

Post = Callable[[Event | Callable[[], None]], None]


@dataclass(slots=True)
class Openings:
    """Opens places in a task group; those of this machine with one Python share one process."""

    plan: DeploymentPlan
    secret: bytes = field(repr=False)
    local: LocalLauncher
    warm: WarmStart | None
    tasks: TaskGroup
    post: Post
    _begun: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _authority: CertificateAuthority | None = field(default=None, repr=False)

    def open(
        self, place: ClusterPlace, places: Iterable[ClusterPlace], handler: RequestHandler
    ) -> None:
        """Open a place, and those of `places` whose front-ends are started together with it."""
        if isinstance(place, RemotePlace):
            self.tasks.do(
                f"opening {place.cluster.path}",
                lambda: place.open(self.plan, self._keys(), handler),
                partial(self._cannot_open, [place]),
            )
            return
        python = place.cluster.front_end.python
        together = [
            one for one in places if one.cluster.is_local and one.cluster.front_end.python == python
        ]
        if python not in self._begun:
            self._begun.add(python)
            self.tasks.do(
                f"opening places with {python}",
                lambda: LocalFrontEnds(together, handler).open(
                    self.plan, self._keys(), self.local, self.warm
                ),
                partial(self._cannot_open, together),
            )

    def lost(self, place: ClusterPlace, words: str, fault: GridError | None = None) -> None:
        """Tell that the front-end of a place has gone without being asked.

        Without a `fault` that says why, the place is asked.
        """
        place.was_lost = True
        if fault is not None:
            self._gone(place, fault)
            return

        self._ask_why(
            place, lambda: self.post(PlaceLost(place.identifier, str(fault_of(place, words))))
        )

    def closed(self, place: ClusterPlace, words: str) -> None:
        """Tell that a front-end has gone while all end, and what has ended its parent, if so.

        It may have ended with its job, which took ranks along before: surely if not in order.
        """
        if place.has_lost_parent:
            self._ask_why(place, lambda: self.post(PlaceClosed(place.identifier)))
        elif place.cluster.batch is not None and not place.was_lost:
            place.was_lost = True
            self._ask_why(place, lambda: self.post(_end_in_job(place, words)))
        else:
            self.post(PlaceClosed(place.identifier))

    def _ask_why(self, place: ClusterPlace, then: Callable[[], None]) -> None:
        """Tell what has ended the parent of a front-end, if something has; then the rest."""

        def tell() -> None:
            if why := end_of_parent(place):
                self.post(ParentKilled(why))
            then()

        self.tasks.do(f"asking why {place.cluster.path} has gone", tell, partial(self._gone, place))

    def _keys(self) -> Keys:
        """Return the secrets of the run; there is an authority where a network lies between.

        Raises:
            TransportError: it cannot be made.
        """
        deployment = self.plan.deployment
        if deployment.encryption is Encryption.NONE or is_on_this_machine(self.plan):
            return Keys(self.secret)
        from runtime.transport.certificate import CertificateAuthority  # only where it is needed

        with self._lock:
            if self._authority is None:
                self._authority = CertificateAuthority.create(
                    "gcm run", datetime.datetime.now(datetime.UTC)
                )
        return Keys(self.secret, self._authority)

    def _gone(self, place: ClusterPlace, fault: GridError) -> None:
        self.post(PlaceLost(place.identifier, str(fault)))

    def _cannot_open(self, places: list[ClusterPlace], fault: GridError) -> None:
        fault.place = fault.place or ", ".join(place.cluster.path for place in places)
        for place in places:
            place.was_lost = True
        self.post(StepFailed(StepName(StepKind.FRONT_END, places[0].identifier), str(fault)))
        for place in places:
            self.post(PlaceClosed(place.identifier))


def _end_in_job(place: ClusterPlace, words: str) -> Event:
    """Return how a front-end in a job of a batch system has gone; this may wait.

    A job that is cancelled or has lost a node may end ranks first, and leave it the time to end.
    """
    if not has_ended_in_order(place):
        return PlaceLost(place.identifier, str(fault_of(place, words)))
    if place.has_lost_ranks and (job := place.end_of_job()):
        return PlaceLost(place.identifier, str(fault_of_job(place, words, job)))
    return PlaceClosed(place.identifier)
