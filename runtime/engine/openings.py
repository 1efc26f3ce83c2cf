"""Opening the clusters of a run, and telling what becomes of those that do not open or go away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import partial

from gcm.records import dataclass
from runtime.deployment.plan import DeploymentPlan
from runtime.engine.autopsy import fault_of
from runtime.engine.crew import Crew
from runtime.engine.events import Event, PlaceClosed, PlaceLost, StepFailed
from runtime.engine.nursery import Nursery
from runtime.engine.place import Ears, Place, RemotePlace
from runtime.engine.warm_start import WarmStart
from runtime.errors import GridError
from runtime.launchers.local import LocalLauncher

Post = Callable[[Event | Callable[[], None]], None]


@dataclass(slots=True)
class Openings:
    """Opens places in threads of the crew; all of this machine with one Python are one process."""

    plan: DeploymentPlan
    secret: bytes
    local: LocalLauncher
    warm: WarmStart | None
    crew: Crew
    post: Post
    _begun: set[str] = field(default_factory=set)

    def open(self, place: Place, places: Iterable[Place], ears: Ears) -> None:
        """Open a place, and those of `places` whose front-ends are started together with it."""
        if isinstance(place, RemotePlace):
            self.crew.do(
                f"opening {place.cluster.path}",
                lambda: place.open(self.plan, self.secret, ears),
                partial(self._cannot_open, [place]),
            )
            return
        python = place.cluster.front_end.python
        together = [
            one for one in places if not one.cluster.hops and one.cluster.front_end.python == python
        ]
        if python not in self._begun:
            self._begun.add(python)
            self.crew.do(
                f"opening places with {python}",
                lambda: Nursery(together, ears).open(self.plan, self.secret, self.local, self.warm),
                partial(self._cannot_open, together),
            )

    def lost(self, place: Place, words: str) -> None:
        """Tell that the front-end of a place has gone without being asked."""
        place.was_lost = True

        def tell() -> None:
            self.post(PlaceLost(place.identifier, str(fault_of(place, words))))

        self.crew.do(f"asking why {place.cluster.path} has gone", tell, partial(self._gone, place))

    def _gone(self, place: Place, fault: GridError) -> None:
        self.post(PlaceLost(place.identifier, str(fault)))

    def _cannot_open(self, places: list[Place], fault: GridError) -> None:
        fault.place = fault.place or ", ".join(place.cluster.path for place in places)
        self.post(StepFailed(f"front-end:{places[0].identifier}", str(fault)))
        for place in places:
            self.post(PlaceClosed(place.identifier))
