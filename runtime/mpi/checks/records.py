"""What is known of messages, receives and communicators where a run is checked."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Sequence
from typing import Any

from gcm.records import dataclass
from runtime.checks.reports import NUMBERS


@dataclass(frozen=True, slots=True)
class WaitingMessage:
    """A message that a receive may take: its sender, tag and bytes."""

    source: int
    tag: int
    size: int


Choice = Sequence[WaitingMessage]
"""The messages of which a receive from any source takes the first one."""


class CheckedReceive:
    """A receive, whose sender and tag are known when it is complete; None until then.

    `choice` are the messages of which it takes the first one.
    """

    __slots__ = ("choice", "comm", "is_over", "number", "source", "tag")

    def __init__(self, comm: KnownComm, source: Any, tag: Any, number: int, choice: Choice) -> None:
        self.comm, self.source, self.tag, self.number = comm, source, tag, number
        self.choice, self.is_over = choice, False


class KnownComm:
    """A communicator: what all members know it by, and how many collectives were made on it.

    `posted` are receives in their order. Threads that share it post in no order, so of messages
    that a second one sends or receives nothing more is told.
    """

    __slots__ = (
        *("is_inter", "is_shared", "key", "members", "number", "peers", "posted", "rank", "rows"),
        *("size", "thread", "turn"),
    )

    def __init__(self, number: int, key: str, members: list[str], peers: list[str]) -> None:
        self.number, self.key, self.members, self.peers = number, key, members, peers
        self.is_inter = self.is_shared = False
        self.thread = 0
        self.posted: deque[CheckedReceive] = deque()
        self.rank = self.size = 0
        self.turn = 0
        self.rows = array(NUMBERS)
