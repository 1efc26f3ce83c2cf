"""Connections between members of a lab, and the calls of services that go over them."""

from __future__ import annotations

from runtime.peers.connections.connection import MemberConnection
from runtime.peers.connections.dialling import MemberDialler
from runtime.peers.connections.listening import Listener
from runtime.peers.connections.passing import OpenPassage, PassedConnections
from runtime.peers.connections.round_trips import round_trip
from runtime.peers.connections.serving import Services, TakeOver, calling_host

__all__ = [
    "Listener",
    "MemberConnection",
    "MemberDialler",
    "OpenPassage",
    "PassedConnections",
    "Services",
    "TakeOver",
    "calling_host",
    "round_trip",
]
