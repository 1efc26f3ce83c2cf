"""What a rank does for others while its program computes: requests that come in, and their order.

A service is a pure machine: a request comes in, effects go out. `port` keeps the order of requests
and lets their data come in where they belong; the engine of a rank carries the effects out.
Windows, files and ports are services.
"""

from __future__ import annotations

from runtime.services.port import (
    BodyHere,
    Effect,
    IncomingBody,
    Resume,
    SendRequest,
    Service,
    ServicePort,
    several,
)

__all__ = [
    "BodyHere",
    "Effect",
    "IncomingBody",
    "Resume",
    "SendRequest",
    "Service",
    "ServicePort",
    "several",
]
