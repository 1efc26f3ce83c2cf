"""The helper processes of a deployment: started, watched until they are ready, ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.launchers.base import Command, Launcher, OutputStream, Process
from runtime.launchers.errors import LaunchError
from runtime.launchers.lines import Lines
from runtime.lifecycle.events import Event, StepFailed, StepUp

Post = Callable[[Event], None]
Say = Callable[[str, str, str], None]


class Helper:
    """One helper process. What it says goes to `say`, with its step's name as identifier."""

    def __init__(self, step: Step, launcher: Launcher, post: Post, say: Say) -> None:
        """Start it; raises LaunchError if the place has gone."""
        self._step = step
        self._post = post
        self._say = say
        self._is_up = False
        command = Command(step.argv, step.environment, step.folder)
        self._process: Process = launcher.start(command, Lines(self._heard))
        self._process.close_input()
        self._process.when_done(self._ended)
        if not step.ready_line and not step.ready_when_finished:
            self._up()

    def kill(self) -> None:
        """End it."""
        with suppress(LaunchError):
            self._process.kill()

    def _up(self) -> None:
        if not self._is_up:
            self._is_up = True
            self._post(StepUp(self._step.name))

    def _heard(self, stream: OutputStream, line: str) -> None:
        self._say(self._step.name.partition(":")[2], str(stream), line)
        if self._step.ready_line and self._step.ready_line in line:
            self._up()

    def _ended(self) -> None:
        try:
            code = self._process.wait(0)
        except LaunchError as fault:
            self._fail(str(fault))
            return
        if self._step.ready_when_finished and code.ok:
            self._up()
        if self._is_up:
            return
        early = GridError(
            f"the helper process ended ({code}) before it was ready",
            place=self._step.name,
            cause="\n".join(self._process.tail),
            cure="Look at its last lines, or change when it counts as ready",
        )
        self._fail(str(early))

    def _fail(self, why: str) -> None:
        if not self._is_up:
            self._post(StepFailed(self._step.name, why))


def kill_all(helpers: Iterable[Helper]) -> None:
    """End all of them."""
    for helper in helpers:
        helper.kill()
