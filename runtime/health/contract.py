"""What the runtime asks of a failure detector. How they are made is in `protocols`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from runtime.health.messages import Effect, Message


class Detector(Protocol):
    """One member of a group that watches itself, without sockets, clocks and threads.

    Each method returns what is to be done: messages to be sent, and what was found out. `Declare`
    is final for that incarnation of a member.
    """

    @property
    def members(self) -> Sequence[str]:
        """All members, in the same order everywhere."""

    @property
    def next_time(self) -> float:
        """When `advance` has to be called."""

    @property
    def suspects(self) -> list[str]:
        """Who is suspected."""

    def advance(self, now: float) -> list[Effect]:
        """Do what is due."""

    def receive(self, message: Message, now: float) -> list[Effect]:
        """Take what a member says, which may be late, or come twice."""

    def alive(self, member: str, now: float) -> list[Effect]:
        """Record that something else has come from a member: its heartbeats may be behind that."""

    def gone(self, member: str, why: str, now: float) -> list[Effect]:
        """Record as certain that a member has ended."""

    def expect(self, member: str) -> int:
        """Watch a member from now on that was gone; return the incarnation in which it begins."""
