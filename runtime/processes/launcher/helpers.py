"""The helper processes of a deployment: started, watched until they are ready, ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import StrEnum

from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.base import Command, Launcher, OutputStream, Process
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Lines
from runtime.lifecycle.events import StepFailed, StepUp
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.services import Starts
from runtime.processes.launcher.task_group import TaskGroup
from runtime.step_name import StepKind
from runtime.transitions import change

Say = Callable[[str, str, str], None]


class HelperStage(StrEnum):
    """Where a helper process is; the last two are ends."""

    STARTING = "starting"
    """It is not ready yet: what depends on it waits."""
    READY = "ready"
    ENDED = "ended"
    """It was ready before, so its end says nothing."""
    FAILED = "failed"
    """It has ended before it was ready, and what depends on it cannot start."""


class HelperEvent(StrEnum):
    """What happens to a helper process."""

    READY = "it is ready"
    ENDED = "it has ended"


_S, _E = HelperStage, HelperEvent
TRANSITIONS: dict[tuple[HelperStage, HelperEvent], HelperStage] = {
    (_S.STARTING, _E.READY): _S.READY,
    (_S.STARTING, _E.ENDED): _S.FAILED,
    (_S.READY, _E.ENDED): _S.ENDED,
}
"""What each event leads to in each stage; a pair that has no row changes nothing."""


class Helper:
    """One helper process. What it writes goes to `say`, with its step's name as identifier."""

    def __init__(self, step: Step, launcher: Launcher, post: Post, say: Say) -> None:
        """Start it; raises LaunchError if the place has gone."""
        self._step = step
        self._post = post
        self._say = say
        self._stage = HelperStage.STARTING
        command = Command(step.argv, step.environment, step.folder)
        self._process: Process = launcher.start(command, Lines(self._line_written))
        self._process.close_input()
        self._process.when_done(self._process_ended)
        if not step.ready_line and not step.ready_when_finished:
            self._advance(HelperEvent.READY)

    def kill(self) -> None:
        """End it."""
        with suppress(LaunchError):
            self._process.kill()

    def _advance(self, event: HelperEvent, why: str = "") -> None:
        before, name = self._stage, self._step.name
        self._stage = change(TRANSITIONS, before, event, name, why)
        if self._stage is not before and self._stage is HelperStage.READY:
            self._post(StepUp(name))
        elif self._stage is not before and self._stage is HelperStage.FAILED:
            self._post(StepFailed(name, why))

    def _line_written(self, stream: OutputStream, line: str) -> None:
        self._say(self._step.about, str(stream), line)
        if self._step.ready_line and self._step.ready_line in line:
            self._advance(HelperEvent.READY)

    def _process_ended(self) -> None:
        try:
            ended = self._process.wait(0)
        except LaunchError as fault:
            self._advance(HelperEvent.ENDED, str(fault))
            return
        if self._step.ready_when_finished and ended.ok:
            self._advance(HelperEvent.READY)
        early = GridError(
            f"the helper process ended ({ended}) before it was ready",
            place=str(self._step.name),
            cause="\n".join(self._process.tail),
            cure="Look at its last lines, or change when it counts as ready",
        )
        is_early = self._stage is HelperStage.STARTING
        self._advance(HelperEvent.ENDED, str(early) if is_early else str(ended))


class Helpers:
    """Starts the helper processes of a run, in threads of their own, and ends them."""

    def __init__(
        self,
        places: Mapping[str, ClusterPlace],
        local: Launcher,
        tasks: TaskGroup,
        post: Post,
        say: Say,
    ) -> None:
        self._places = places
        self._local = local
        self._tasks = tasks
        self._post = post
        self._say = say
        self._running: list[Helper] = []

    @property
    def starts(self) -> Starts:
        """The helper processes."""
        return {StepKind.PROCESS: self._start}

    def _start(self, step: Step) -> None:
        def failed(fault: GridError) -> None:
            self._post(StepFailed(step.name, str(fault)))

        self._tasks.do(str(step.name), lambda: self._launch(step), failed)

    def _launch(self, step: Step) -> None:
        launcher = self._places[step.by.about].launcher if step.by else self._local
        self._running.append(Helper(step, launcher, self._post, self._say))

    def kill(self) -> None:
        """End all of them."""
        for helper in self._running:
            helper.kill()
