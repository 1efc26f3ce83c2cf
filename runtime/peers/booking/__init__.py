"""Booking of places at peers, without sockets, clocks and threads."""

from runtime.peers.booking.allocation import Demand, allocate, in_order, missing
from runtime.peers.booking.asker import Asker, AskerSettings, AskerState
from runtime.peers.booking.asker_words import (
    AskerEffect,
    AskPlaces,
    Booked,
    BookedHost,
    BookingFailed,
    HostSilent,
    NeedHosts,
    ReleasePlaces,
    RenewPlaces,
    Shortfall,
)
from runtime.peers.booking.gatekeeper import (
    AdmissionRules,
    Gatekeeper,
    Hold,
    PlacesRequest,
)
from runtime.peers.booking.named import strategy_named
from runtime.peers.booking.strategies import (
    STRATEGIES,
    Allocation,
    BookingError,
    ConcentrateStrategy,
    Copy,
    MixedStrategy,
    Offer,
    SpreadStrategy,
    Strategy,
    nearest_first,
)

__all__ = [
    "STRATEGIES",
    "AdmissionRules",
    "Allocation",
    "AskPlaces",
    "Asker",
    "AskerEffect",
    "AskerSettings",
    "AskerState",
    "Booked",
    "BookedHost",
    "BookingError",
    "BookingFailed",
    "ConcentrateStrategy",
    "Copy",
    "Demand",
    "Gatekeeper",
    "Hold",
    "HostSilent",
    "MixedStrategy",
    "NeedHosts",
    "Offer",
    "PlacesRequest",
    "ReleasePlaces",
    "RenewPlaces",
    "Shortfall",
    "SpreadStrategy",
    "Strategy",
    "allocate",
    "in_order",
    "missing",
    "nearest_first",
    "strategy_named",
]
