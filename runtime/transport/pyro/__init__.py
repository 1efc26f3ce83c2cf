"""Calls from and to the world outside of a run, over Pyro5: the one place that imports it."""

from runtime.transport.pyro.guests import Guests, ServedObject
from runtime.transport.pyro.outside import PyroCaller

__all__ = ["Guests", "PyroCaller", "ServedObject"]
