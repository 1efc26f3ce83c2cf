"""Booking of places at peers, without sockets, clocks and threads."""

from runtime.peers.booking.allocation import Demand, allocate, missing
from runtime.peers.booking.offers import Allocation, BookingError, Copy, Offer, nearest_first
from runtime.peers.booking.strategies import (
    STRATEGIES,
    ConcentrateStrategy,
    MixedStrategy,
    SpreadStrategy,
    Strategy,
    strategy_named,
)

__all__ = [
    "STRATEGIES",
    "Allocation",
    "BookingError",
    "ConcentrateStrategy",
    "Copy",
    "Demand",
    "MixedStrategy",
    "Offer",
    "SpreadStrategy",
    "Strategy",
    "allocate",
    "missing",
    "nearest_first",
    "strategy_named",
]
