"""Which way messages take: native, direct or forwarded; what is tried, remembered and forgotten."""

from runtime.routing.cache import ReferenceCache
from runtime.routing.stops import FrontEnd, Leg, Rank, Stop
from runtime.routing.tension import Experience, Tension, experiences_of, plain
from runtime.routing.ways import Kind, Route, routes
from runtime.routing.widening import Flow, Widening

__all__ = [
    "Experience",
    "Flow",
    "FrontEnd",
    "Kind",
    "Leg",
    "Rank",
    "ReferenceCache",
    "Route",
    "Stop",
    "Tension",
    "Widening",
    "experiences_of",
    "plain",
    "routes",
]
