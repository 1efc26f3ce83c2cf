"""How the forwarder of a grid is spoken to: one JSON object per message, one answer each."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from typing import Any

from benchmarks.grid.errors import EmulationError

LARGEST = 1 << 20


def public_address(name: str) -> str:
    """Return where the forwarder of a named grid listens: an address that vanishes with it."""
    return f"\0gcm-emulated-grid-{name}"


def ask(forwarder: socket.socket, order: Mapping[str, Any]) -> dict[str, Any]:
    """Send one order and return the answer; raises `EmulationError` with what was wrong."""
    try:
        forwarder.send(json.dumps(order).encode())
        answer = forwarder.recv(LARGEST)
    except OSError as error:
        raise EmulationError(f"the forwarder of the grid does not answer: {error}") from error
    if not answer:
        raise EmulationError("the forwarder of the grid has ended")
    found: dict[str, Any] = json.loads(answer)
    if "error" in found:
        raise EmulationError(found["error"])
    return found
