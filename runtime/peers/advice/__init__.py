"""How many replicas a run should have, as formulas."""

from runtime.peers.advice.failures import (
    MOST_REPLICAS,
    Advice,
    Prospect,
    RunRisk,
    advise,
    host_fails,
    rate_for,
    run_fails,
)
from runtime.peers.advice.words import (
    chance,
    duration,
    is_chance,
    rate,
    shown_chance,
    shown_time,
)

__all__ = [
    "MOST_REPLICAS",
    "Advice",
    "Prospect",
    "RunRisk",
    "advise",
    "chance",
    "duration",
    "host_fails",
    "is_chance",
    "rate",
    "rate_for",
    "run_fails",
    "shown_chance",
    "shown_time",
]
