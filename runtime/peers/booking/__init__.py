"""Booking of places at peers, without sockets, clocks and threads."""

from runtime.peers.booking.admission_control import (
    AdmissionControl,
    AdmissionRules,
    Hold,
    PlacesRequest,
)
from runtime.peers.booking.allocation import Demand, allocate, in_order, missing
from runtime.peers.booking.named import strategy_named
from runtime.peers.booking.reservation_client import (
    ReservationClient,
    ReservationClientState,
    ReservationSettings,
)
from runtime.peers.booking.reservation_effects import (
    AskPlaces,
    Booked,
    BookedHost,
    BookingFailed,
    HostSilent,
    NeedHosts,
    ReleasePlaces,
    RenewPlaces,
    ReservationEffect,
    Shortfall,
)
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
    best_first,
)

__all__ = [
    "STRATEGIES",
    "AdmissionControl",
    "AdmissionRules",
    "Allocation",
    "AskPlaces",
    "Booked",
    "BookedHost",
    "BookingError",
    "BookingFailed",
    "ConcentrateStrategy",
    "Copy",
    "Demand",
    "Hold",
    "HostSilent",
    "MixedStrategy",
    "NeedHosts",
    "Offer",
    "PlacesRequest",
    "ReleasePlaces",
    "RenewPlaces",
    "ReservationClient",
    "ReservationClientState",
    "ReservationEffect",
    "ReservationSettings",
    "Shortfall",
    "SpreadStrategy",
    "Strategy",
    "allocate",
    "best_first",
    "in_order",
    "missing",
    "strategy_named",
]
