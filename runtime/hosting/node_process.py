"""A node process as a value: who it is, and how it is reached."""

from __future__ import annotations

from gcm.records import dataclass
from runtime.transport.channel import Channel


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """A node process as the launcher knows it.

    `home` is the path of its agent, `address` where it listens for other processes of the run, or
    empty if nobody can connect to it.
    """

    home: str
    channel: Channel
    address: str = ""
