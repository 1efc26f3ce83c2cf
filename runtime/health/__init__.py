"""Failure detection without sockets, clocks and threads: time is handed in, effects come out.

A `Detector` is one member of a group that watches itself. Those that a descriptor can name are the
rows of `protocols`, and are loaded where one is made; `hierarchical.HierarchicalDetector` is a
member of a group inside a group of groups. All are driven in the same way:

    detector = make_detector(["a", "b"], "a", DetectorSettings(), now=clock())
    at detector.next_time:    for effect in detector.advance(now): ...
    when a message comes:     for effect in detector.receive(message, now): ...
    when the system says so:  for effect in detector.gone("b", "exit code 1", now): ...
"""

from runtime.health.contract import Detector
from runtime.health.making import make_detector
from runtime.health.messages import (
    Declare,
    Effect,
    Expel,
    Expelled,
    Heartbeat,
    Join,
    Message,
    Ping,
    PingReply,
    Send,
    Suspect,
    Trust,
    plain,
    read,
)
from runtime.health.protocols import DEFAULT_DETECTOR, DetectorProtocol
from runtime.health.settings import DetectorSettings, LineTimes, UnfitDetector, fitted

__all__ = [
    "DEFAULT_DETECTOR",
    "Declare",
    "Detector",
    "DetectorProtocol",
    "DetectorSettings",
    "Effect",
    "Expel",
    "Expelled",
    "Heartbeat",
    "Join",
    "LineTimes",
    "Message",
    "Ping",
    "PingReply",
    "Send",
    "Suspect",
    "Trust",
    "UnfitDetector",
    "fitted",
    "make_detector",
    "plain",
    "read",
]
