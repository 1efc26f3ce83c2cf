"""Failure detection without sockets, clocks and threads: time is handed in, effects come out.

`Detector` is one member of a group that watches itself; `HierarchicalDetector` is a member of a
group inside a group of groups. Both are driven in the same way:

    detector = Detector(["a", "b"], "a", DetectorSettings(), now=clock())
    at detector.next_time:    for effect in detector.advance(now): ...
    when a message comes:     for effect in detector.receive(message, now): ...
    when the system says so:  for effect in detector.gone("b", "exit code 1", now): ...
"""

from runtime.health.detector import Detector
from runtime.health.hierarchical import Groups, HierarchicalDetector
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
from runtime.health.protocols import DetectorProtocol, cleanup_rounds, offsets
from runtime.health.settings import DetectorSettings, LineTimes, UnfitDetector, fitted
from runtime.health.table import HeartbeatTable, ListTable

__all__ = [
    "Declare",
    "Detector",
    "DetectorProtocol",
    "DetectorSettings",
    "Effect",
    "Expel",
    "Expelled",
    "Groups",
    "Heartbeat",
    "HeartbeatTable",
    "HierarchicalDetector",
    "Join",
    "LineTimes",
    "ListTable",
    "Message",
    "Ping",
    "PingReply",
    "Send",
    "Suspect",
    "Trust",
    "UnfitDetector",
    "cleanup_rounds",
    "fitted",
    "offsets",
    "plain",
    "read",
]
