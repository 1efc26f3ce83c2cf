"""Message matching, and flow control between sender and receiver."""

from runtime.matching.envelope import ANY, Envelope, Pattern, Wildcard
from runtime.matching.joint import JointMatcher, JointReceive
from runtime.matching.posted_receives import PostedReceive
from runtime.matching.queues import Matcher
from runtime.matching.window import Debt, Window, weight

__all__ = [
    "ANY",
    "Debt",
    "Envelope",
    "JointMatcher",
    "JointReceive",
    "Matcher",
    "Pattern",
    "PostedReceive",
    "Wildcard",
    "Window",
    "weight",
]
