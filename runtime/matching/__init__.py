"""Message matching, and flow control between sender and receiver."""

from runtime.matching.envelope import ANY, Envelope, Pattern, Wildcard
from runtime.matching.joint import JointMatcher, JointReceive
from runtime.matching.posted_receives import PostedReceive
from runtime.matching.queues import Matcher
from runtime.matching.window import ReceiveWindow, Window, weight

__all__ = [
    "ANY",
    "Envelope",
    "JointMatcher",
    "JointReceive",
    "Matcher",
    "Pattern",
    "PostedReceive",
    "ReceiveWindow",
    "Wildcard",
    "Window",
    "weight",
]
