"""A request: a call that came in over a channel, its arguments unopened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcm.invocation import Invocation
from runtime.transport.frames import Frame
from runtime.transport.messages import NOTE, Codec, Target, arguments_of, target_of

if TYPE_CHECKING:
    from runtime.transport.channel import Channel


class IncomingCall:
    """A call that came in: where it goes is known, its arguments are not opened yet."""

    __slots__ = ("_codec", "channel", "frame", "target")

    def __init__(self, frame: Frame, channel: Channel, codec: Codec) -> None:
        self.frame = frame
        self._codec = codec
        self.channel = channel
        self.target: Target = target_of(frame)

    @property
    def is_note(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.frame.kind == NOTE

    def invocation(self, codec: Codec | None = None) -> Invocation:
        """Open the arguments; that may import modules, so do it off the reactor's thread.

        With a `codec` of its own they are opened with that: who calls may be somebody behind the
        peer who is trusted less.

        Raises:
            NotSendable: they cannot be rebuilt in this process.
        """
        args, kwargs = arguments_of(self.frame, codec or self._codec)
        to = self.target
        return Invocation(
            to.component, to.interface, to.operation, args, kwargs, to.client, to.chain
        )

    def __str__(self) -> str:
        """Return where the call goes."""
        return str(self.target)
