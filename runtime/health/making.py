"""Makes the detector that the settings of a run name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from runtime.health.contract import Detector
from runtime.health.settings import DetectorSettings

if TYPE_CHECKING:
    from random import Random


def make_detector(
    members: Sequence[str],
    own: str,
    settings: DetectorSettings,
    now: float,
    *,
    random: Callable[[], Random] | None = None,
    **more: Any,
) -> Detector:
    """Return the detector of a member; `more` is what else its class takes.

    `random` makes the random numbers, of those detectors that need some.
    """
    row = settings.protocol.row
    if row.at_random and random is not None:
        more["random"] = random()
    module, name = row.maker
    made: Detector = getattr(import_module(module), name)(members, own, settings, now, **more)
    return made
