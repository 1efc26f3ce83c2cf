"""Calls from and to the world outside of a run, over Pyro5: the one place that imports it."""

from runtime.transport.pyro.exposed_objects import ExposedObject
from runtime.transport.pyro.outside import PyroCaller
from runtime.transport.pyro.server import PyroServer

__all__ = ["ExposedObject", "PyroCaller", "PyroServer"]
