"""A rank's connection to its front-end, without the component framework: a rank starts quickly."""

from __future__ import annotations

from runtime.engine.room import read_key
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.lean import LeanChannel
from runtime.transport.messages import Target

TYPE_CHECKING = False  # known to type checkers; importing `typing` would delay every rank
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

PATIENCE = 30.0  # seconds to find the front-end
CONTROL = "control"
"""The interface over which a rank and its front-end speak about the rank itself."""


class RankLink:
    """What a rank says to its front-end and hears from it."""

    def __init__(self, room: str, name: str) -> None:
        """Connect; raises OSError without a key in the room, Unreachable, AuthenticationFailed."""
        address, secret = read_key(room)
        self._name = name
        self._channel = LeanChannel.dial(address, Credentials(secret, name), PATIENCE)

    def call(self, operation: str, *args: Any) -> Any:
        """Call the front-end and wait for the result; only before `listen`."""
        return self._channel.call(Target(self._name, CONTROL, operation), *args)

    def note(self, operation: str, *args: Any) -> None:
        """Tell the front-end something; nothing happens once it has gone."""
        try:
            self._channel.note(Target(self._name, CONTROL, operation), *args)
        except ChannelClosed:
            return

    def listen(self, hear: Callable[[str], None]) -> None:
        """Pass on what the front-end asks for until it has gone, then say `lost`."""
        while True:
            try:
                frame = self._channel.receive()
            except ChannelClosed:
                hear("lost")
                return
            target, _, _ = self._channel.opened(frame)
            hear(target.operation)
