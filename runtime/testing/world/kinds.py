"""The kinds of worlds: how each is drawn from a seed, played, and made smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gcm.records import dataclass
from runtime.testing.world.load import draw
from runtime.testing.world.run_load import draw_run
from runtime.testing.world.run_shrinking import shrink_run
from runtime.testing.world.run_world import play_run
from runtime.testing.world.shrinking import shrink
from runtime.testing.world.simulation import play

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class WorldKind(Generic[S]):
    """One kind of worlds; a scenario of it is a value."""

    name: str
    draw: Callable[[int], S]
    play: Callable[..., Any]
    shrink: Callable[[S, Callable[[S], bool]], S]


KINDS: dict[str, WorldKind[Any]] = {
    one.name: one
    for one in (
        WorldKind("messages", draw, play, shrink),
        WorldKind("runs", draw_run, play_run, shrink_run),
    )
}
"""All of them, by name."""
