"""The kinds of worlds: how each is drawn from a seed, played, and made smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

from gcm.records import dataclass
from runtime.testing.world.lab_load import draw_lab, smaller_labs
from runtime.testing.world.lab_playing import play_lab
from runtime.testing.world.link_load import draw_link, smaller_links
from runtime.testing.world.link_world import play_link
from runtime.testing.world.load import draw
from runtime.testing.world.program_load import ProgramScenario, draw_program, smaller_programs
from runtime.testing.world.run_load import draw_run
from runtime.testing.world.run_shrinking import smaller_runs
from runtime.testing.world.run_world import play_run
from runtime.testing.world.shrinking import shrink, smaller_messages
from runtime.testing.world.simulation import play
from runtime.testing.world.tape import Tape

S = TypeVar("S")


class PlayedWorld(Protocol):
    """What came of a scenario of any kind."""

    @property
    def scenario(self) -> Any:
        """What was played; `str` of it is for people."""

    @property
    def failures(self) -> tuple[str, ...]:
        """What was wrong."""

    @property
    def tape(self) -> Tape:
        """What has happened."""


class PlayWorld(Protocol):
    """Plays a scenario."""

    def __call__(self, scenario: Any, *, tape: Tape | None = None) -> PlayedWorld:
        """Return what comes of it."""


@dataclass(frozen=True, slots=True)
class WorldKind(Generic[S]):
    """One kind of worlds; a scenario of it is a value."""

    name: str
    draw: Callable[[int], S]
    play: PlayWorld
    smaller: Callable[[S], Iterable[S]]
    """What is smaller than a scenario, in one step."""

    def shrink(self, scenario: S, fails: Callable[[S], bool]) -> S:
        """Return the smallest scenario found of which it `fails` is true."""
        return shrink(scenario, fails, self.smaller)


def _play_program(scenario: ProgramScenario, *, tape: Tape | None = None) -> PlayedWorld:
    # only where programs are played: it needs MPI
    from runtime.testing.world.program_world import play_program

    return play_program(scenario, tape=tape)


def _draw_windows(seed: int) -> Any:
    from runtime.testing.world.window_world import draw_windows  # as above

    return draw_windows(seed)


def _play_windows(scenario: Any, *, tape: Tape | None = None) -> PlayedWorld:
    from runtime.testing.world.window_world import play_windows  # as above

    return play_windows(scenario, tape=tape)


def _smaller_windows(scenario: Any) -> Iterable[Any]:
    from runtime.testing.world.window_world import smaller_windows  # as above

    return smaller_windows(scenario)


KINDS: dict[str, WorldKind[Any]] = {
    one.name: one
    for one in (
        WorldKind("messages", draw, play, smaller_messages),
        WorldKind("runs", draw_run, play_run, smaller_runs),
        WorldKind("labs", draw_lab, play_lab, smaller_labs),
        WorldKind("links", draw_link, play_link, smaller_links),
        WorldKind("programs", draw_program, _play_program, smaller_programs),
        WorldKind("windows", _draw_windows, _play_windows, _smaller_windows),
    )
}
"""All of them, by name."""
