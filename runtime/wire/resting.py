"""Closing a connection with which nothing is wrong, in agreement, until somebody sends again.

The asker says REST and then nothing. The other end says REST_TOO and then nothing, if it has
nothing to say either, and STAY otherwise. When both have asked, that is agreed. The other one waits
until the other end hangs up, so everything that was said is read.
"""

from __future__ import annotations

from runtime.wire.dialling.line import Line
from runtime.wire.stream.frames import REST, REST_TOO, STAY
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender


class Resting:
    """One line that both ends are about to leave. Nothing new is written meanwhile."""

    __slots__ = ("_asks", "_receiver", "_sender", "line")

    def __init__(
        self, line: Line, receiver: MessageReceiver, sender: MessageSender, *, asks: bool
    ) -> None:
        self.line = line
        self._receiver = receiver
        self._sender = sender
        self._asks = asks
        sender.say(REST if asks else REST_TOO, sender.end)
        line.flush()
        sender.is_held = True

    @property
    def is_agreed(self) -> bool:
        """Whether this end may hang up."""
        return self._asks and self._receiver.said in (REST, REST_TOO)

    @property
    def is_unwanted(self) -> bool:
        """Whether the other end goes on."""
        return self._asks and self._receiver.said == STAY

    def end(self) -> Line:
        """Let new things be written again; return the line."""
        self._receiver.said = 0
        self._sender.release()
        return self.line
