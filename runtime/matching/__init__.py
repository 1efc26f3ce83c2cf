"""Matching of messages with those who wait for them, and how much a sender may have on its way."""

from runtime.matching.asks import Posted
from runtime.matching.envelope import ANY, Envelope, Pattern, Wildcard
from runtime.matching.joint import JointMatcher, JointReceive
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
    "Posted",
    "Wildcard",
    "Window",
    "weight",
]
