"""Plays the scenario of a lab to its end, and has it audited."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.testing.world.engine import World
from runtime.testing.world.lab_auditors import audit_lab
from runtime.testing.world.lab_load import LabScenario
from runtime.testing.world.lab_simulation import LabSimulation
from runtime.testing.world.tape import Tape


@dataclass(frozen=True, slots=True)
class PlayedLab:
    """What came of a scenario."""

    scenario: LabScenario
    failures: tuple[str, ...]
    tape: Tape
    seconds: float
    """Of the time of the world."""


def play_lab(scenario: LabScenario, *, tape: Tape | None = None) -> PlayedLab:
    """Return what comes of a scenario; the same each time."""
    world = World(scenario.seed)
    world.tape = tape or Tape()
    simulation = LabSimulation(world, scenario)
    simulation.run()
    return PlayedLab(scenario, tuple(audit_lab(simulation)), world.tape, world.now)
