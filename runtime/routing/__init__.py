"""How messages travel: native, direct or forwarded; which routes are tried and remembered."""

from runtime.routing.cache import ConnectionBound, ReferenceCache
from runtime.routing.reach import with_tunnels, without_way
from runtime.routing.scale_out import FlowSample, ScaleOut
from runtime.routing.stops import FrontEndStop, Leg, Rank, Stop, tunnelled_leg
from runtime.routing.tension import (
    Experience,
    Tension,
    Tensioning,
    experiences_of,
    plain,
)
from runtime.routing.ways import Route, RouteKind, routes

__all__ = [
    "ConnectionBound",
    "Experience",
    "FlowSample",
    "FrontEndStop",
    "Leg",
    "Rank",
    "ReferenceCache",
    "Route",
    "RouteKind",
    "ScaleOut",
    "Stop",
    "Tension",
    "Tensioning",
    "experiences_of",
    "plain",
    "routes",
    "tunnelled_leg",
    "with_tunnels",
    "without_way",
]
