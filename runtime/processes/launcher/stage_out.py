"""The results of all clusters of a run: fetched while it runs, and however it ends."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.errors import LaunchError
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Discard, GiveUp, StepFailed, StepUp
from runtime.lifecycle.outcome import KeptFolder, Results
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.services import Effects, Starts
from runtime.processes.launcher.task_group import TaskGroup
from runtime.step_name import StepKind, StepName

if TYPE_CHECKING:
    from runtime.results.collecting import Fetcher
    from runtime.results.kept_note import KeptNote
    from runtime.results.result_folders import ResultFolder
    from runtime.results.result_placement import ResultPlacement


_log = logging.getLogger(__name__)


class StageOut:
    """The stage-out of a run: the engine's thread owns it, transfers run in the task group."""

    def __init__(
        self,
        plan: DeploymentPlan,
        places: Mapping[str, ClusterPlace],
        local: LocalLauncher,
        tasks: TaskGroup,
        post: Post,
    ) -> None:
        self._steps = plan.closing
        self._deployment = plan.deployment
        self._places = places
        self._local = local
        self._tasks = tasks
        self._post = post
        self._given_up = threading.Event()
        self._fetchers: dict[StepName, Fetcher] = {}
        self._former: list[Fetcher] = []
        self._noted: dict[str, list[KeptFolder]] = {}
        self._notes: dict[str, KeptNote] = {}
        self._placements: dict[str, ResultPlacement] = {}

    @property
    def effects(self) -> Effects:
        """What is done to results."""
        return {Discard: self._discard, GiveUp: lambda _: self.give_up()}

    @property
    def starts(self) -> Starts:
        """What brings results home."""
        return {StepKind.FETCH: self.fetch}

    def go(self, late: Collection[str]) -> None:
        """Begin: from now on there may be results, but of clusters that are `late`."""
        self._begin([one for one in self._steps if one.about not in late])

    def join(self, cluster: str) -> None:
        """Begin with a cluster that has come late."""
        self._begin([one for one in self._steps if one.about == cluster])

    def leave_out(self, cluster: str) -> None:
        """Bring nothing home of a cluster that will not come."""
        for fetcher in self._pop(cluster):
            fetcher.end()

    def take_former(self, cluster: str) -> list[Fetcher]:
        """Return what brings home the results of a cluster whose next job makes others.

        Whoever takes them has `finish_former` called.
        """
        found = self._pop(cluster)
        self._former += found
        return found

    def finish_former(self, fetchers: Sequence[Fetcher]) -> None:
        """Bring home what a former job of a cluster has made; what does not come is a warning."""
        for fetcher in fetchers:
            try:
                fetcher.finish()
            except (LaunchError, OSError) as fault:  # the end of the run waits for the others
                _log.warning("%s", fault)

    def _pop(self, cluster: str) -> list[Fetcher]:
        names = [one.name for one in self._steps if one.about == cluster]
        return [self._fetchers.pop(one) for one in names if one in self._fetchers]

    def _begin(self, steps: Sequence[Step]) -> None:
        if not steps:
            return
        # Only who brings results home waits for these.
        from runtime.results.collecting import Fetcher, warn
        from runtime.results.instructions import Instructions

        instructions = Instructions.of(self._deployment)
        for step in steps:
            home = os.path.normpath(os.path.expanduser(step.folder))
            moves = tuple(
                replace(one, destination=os.path.expanduser(one.destination)) for one in step.files
            )
            try:
                folder = self._folder(step, [one.destination for one in moves])
            except (LaunchError, OSError) as fault:  # the way there broke, which ends the run
                warn(f"{step.place}: {fault}")
                continue
            self._fetchers[step.name] = fetcher = Fetcher(
                folder,
                home,
                moves,
                self._placement_in(home),
                self._make_room,
                self._given_up.is_set,
                instructions,
            )
            if any(move.every for move in moves):
                self._tasks.do(f"fetching from {step.place}", fetcher.repeat)
            if not folder.is_at_home:
                self._noted.setdefault(home, []).append(folder.kept(home))
        self._note()

    def _placement_in(self, home: str) -> ResultPlacement:
        """Return what puts results into a program folder, the same for all clusters."""
        if home not in self._placements:
            from runtime.results.collecting import warn
            from runtime.results.result_placement import ResultPlacement
            from runtime.results.selection import named_folders

            moves = (
                replace(move, destination=os.path.expanduser(move.destination))
                for step in self._steps
                for move in step.files
            )
            self._placements[home] = ResultPlacement(home, warn, named_folders(moves, home))
        return self._placements[home]

    def _folder(self, step: Step, targets: list[str]) -> ResultFolder:
        from runtime.results.result_folders import FolderAtPlace, FolderHere

        place = self._places[step.about]
        if place.work or not place.cluster.is_local:
            return FolderAtPlace(place)
        owner = next(one.cluster for one in self._places.values() if one.folder == place.folder)
        return FolderHere(place.cluster, owner, place.folder, targets)

    def _note(self) -> None:
        """Leave word of where results may be, and point to what earlier runs left."""
        from runtime.results.collecting import warn
        from runtime.results.kept_note import KeptNote, notes_in

        for home, kept in self._noted.items():
            for path in () if home in self._notes else notes_in(home):
                warn(f"an earlier run left results elsewhere, or was killed: see {path}")
            self._notes.setdefault(home, KeptNote(home)).write(kept)

    def _make_room(self, parent: str) -> str:
        """Make a folder for what is not whole yet, near to where it belongs."""
        return self._local.make_folder(parent, name=".gcm-")

    def fetch(self, step: Step) -> None:
        """Bring home what a cluster made, and tell when that is done."""
        self._settle(step, is_wanted=True)

    def _discard(self, effect: Discard) -> None:
        """Let go of what a cluster made, since the same comes from another one."""
        step = next(one for one in self._steps if one.name == effect.step)
        self._settle(step, is_wanted=False)

    def _settle(self, step: Step, *, is_wanted: bool) -> None:
        fetcher = self._fetchers.get(step.name)
        former = [one for one in self._former if one.folder.cluster.identifier == step.about]
        if fetcher is None:
            self.remove_work(self._places[step.about])
            if not former:
                self._post(StepUp(step.name))
                return

        def finish() -> None:
            try:
                if fetcher is not None:
                    (fetcher.finish if is_wanted else fetcher.discard)()
            finally:
                for one in former:  # the run does not end before them
                    one.await_settled()
            self._post(StepUp(step.name))

        def failed(fault: GridError) -> None:
            why = str(fault)
            self._post(StepFailed(step.name, why) if is_wanted else StepUp(step.name))

        self._tasks.do(str(step.name), finish, failed)

    def remove_work(self, place: ClusterPlace) -> None:
        """Remove a work folder in which no rank has ever run."""
        if place.work:
            place.launcher.remove_folder(place.work)

    def give_up(self) -> None:
        """Let everything that is being fetched stay where it is."""
        self._given_up.set()
        for fetcher in (*self._former, *self._fetchers.values()):
            fetcher.end()

    def results(self) -> tuple[Results, ...]:
        """Return what came home, and what did not, of each cluster; of that a note stays.

        What was kept under other names is told last.
        """
        fetchers = (*self._former, *self._fetchers.values())
        results = tuple(one.results for one in fetchers)
        kept = {one.kept.where for one in results if one.kept is not None}
        for home, note in self._notes.items():
            note.write([one for one in self._noted[home] if one.where in kept])
        for home, placement in self._placements.items():
            aside = [kept for one in fetchers if one.home == home for kept in one.aside]
            if aside:
                from runtime.results.collecting import kept_shown, warn

                warn(kept_shown(aside, home, is_first=placement.is_first))
        return results
