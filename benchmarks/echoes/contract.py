"""What every way to talk implements, and which ones there are."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, Protocol, cast

FEWEST, MOST = 5, 3000
PATIENCE = 120.0

Rounds = Callable[[int, int], list[float]]
"""Sends so many bytes there and back, so many times; returns the seconds of each round trip."""

WAYS = {
    "tcp": ("plain TCP", ""),
    "post": ("ours", ""),
    "forwarded": ("ours, two front-ends", ""),
    "component": ("ours, component call", ""),
    "tls": ("ours, TLS", "cryptography"),
    "ssl": ("Python ssl", "cryptography"),
    "serpent": ("Pyro5 serpent", "Pyro5"),
    "msgpack": ("Pyro5 msgpack", "Pyro5"),
    "annotations": ("Pyro5 annotations", "Pyro5"),
    "zmq": ("pyzmq", "zmq"),
    "grpc": ("grpcio", "grpc"),
    "dask": ("dask comm", "distributed"),
    "xoscar": ("xoscar", "xoscar"),
}
"""For each way: its name in tables, and the package it needs."""

_MODULES = {
    "tcp": "tcp",
    "ssl": "tcp",
    **dict.fromkeys(("post", "tls", "forwarded", "component"), "ours"),
}


class Way(Protocol):
    """A module of this package."""

    def serve(self, way: str, host: str, port: int) -> None:
        """Send everything back until killed; call `listening()` once clients may come."""

    def client(self, way: str, host: str, port: int) -> AbstractContextManager[Rounds]:
        """Connect."""


def way(name: str) -> Way:
    """Return the module that implements a way; raises `ImportError` where it needs something."""
    return cast("Way", importlib.import_module(f"benchmarks.echoes.{_MODULES.get(name, 'others')}"))


def is_installed(name: str) -> bool:
    """Return whether what a way needs is here."""
    needed = WAYS[name][1]
    return not needed or find_spec(needed) is not None


def library(name: str) -> Any:
    """Return a library that may be missing, and whose types are of no interest here."""
    return importlib.import_module(name)


def listening() -> None:
    """Tell who started this process that clients may come."""
    print("listening", flush=True)


def timed(trip: Callable[[], object], times: int) -> list[float]:
    """Return how long each round trip took."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        trip()
        taken.append(time.perf_counter() - begun)
    return taken


def one_way(rounds: Rounds, size: int, seconds: float) -> list[float]:
    """Return the seconds of one way, of as many round trips as there is time for."""
    least = min(rounds(size, 3))
    times = max(FEWEST, min(MOST, int(seconds / least)))
    return [trip / 2 for trip in rounds(size, times)]
