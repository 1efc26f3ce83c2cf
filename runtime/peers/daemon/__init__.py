"""The processes of a lab: that of a peer and that of a supernode, and what they are made of."""

from __future__ import annotations

from runtime.peers.daemon.booting import boot, logging_to, serve
from runtime.peers.daemon.running import RunningDaemon, find_running

__all__ = ["RunningDaemon", "boot", "find_running", "logging_to", "serve"]
