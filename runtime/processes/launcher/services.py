"""Who does what: each effect and each kind of step belongs to the service that owns the part."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from runtime.deployment.planning.steps import Step
from runtime.lifecycle.events import Effect, Start
from runtime.step_name import StepKind, StepName

_log = logging.getLogger(__name__)

Effects = Mapping[type, Callable[[Any], None]]
"""The effects of a service by their type, with what it does for each."""

Starts = Mapping[StepKind, Callable[[Step], None]]
"""The kinds of steps that a service starts."""


class RunServices:
    """Dispatches effects by their type, and steps that start by their kind; each has one owner."""

    def __init__(self, steps: Iterable[Step], unknown: Callable[[Step], None]) -> None:
        """Take a kind of step that nobody starts for `unknown`."""
        self._steps: Mapping[StepName, Step] = {step.name: step for step in steps}
        self._unknown = unknown
        self._effects: dict[type, Callable[[Any], None]] = {Start: self._start}
        self._starts: dict[StepKind, Callable[[Step], None]] = {}

    def add(self, effects: Effects, starts: Starts | None = None) -> None:
        """Let a service do what is its own."""
        starts = starts or {}
        twice = [*(self._effects.keys() & effects.keys()), *(self._starts.keys() & starts.keys())]
        assert not twice, f"several services do {twice}"
        self._effects |= effects
        self._starts |= starts

    @property
    def effects(self) -> frozenset[type]:
        """All effects that have an owner."""
        return frozenset(self._effects)

    def do(self, effect: Effect) -> None:
        """Let its owner do it, who does not wait for what it leads to."""
        self._effects[type(effect)](effect)

    def _start(self, effect: Start) -> None:
        step = self._steps[effect.step]
        _log.info("%s begins", step.name)
        self._starts.get(step.kind, self._unknown)(step)
