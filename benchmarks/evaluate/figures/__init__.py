"""All figures, in the order of the page."""

from __future__ import annotations

from benchmarks.evaluate.figure import Figure
from benchmarks.evaluate.figures import (
    allocation,
    applications,
    collectives,
    failures,
    npb,
    point_to_point,
    replicas,
    services,
)

FIGURES: tuple[Figure, ...] = (
    *point_to_point.FIGURES,
    *collectives.FIGURES,
    *applications.FIGURES,
    *npb.FIGURES,
    *allocation.FIGURES,
    *failures.FIGURES,
    *replicas.FIGURES,
    *services.FIGURES,
)
