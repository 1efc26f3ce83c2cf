"""Ports of a run and their names: how two groups that know nothing of each other become connected.

The `PortDesk` of a rank is a pure machine, a service like a window. It pairs those who accept at a
port of this rank with those who connect to it. The names are with the launcher.
"""

from __future__ import annotations

from runtime.ports.desk import DESK_KEY, PortAnswer, PortDesk, PortName, PortQuestion, PortRequest
from runtime.ports.names import NameAnswer, NameRequest, PortNames

__all__ = [
    "DESK_KEY",
    "NameAnswer",
    "NameRequest",
    "PortAnswer",
    "PortDesk",
    "PortName",
    "PortNames",
    "PortQuestion",
    "PortRequest",
]
