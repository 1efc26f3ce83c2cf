"""A request: a call that came in over a channel, its arguments unopened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gcm.invocation import Invocation
from runtime.transport.frames import Frame
from runtime.transport.messages import NOTE, Codec, Target, arguments_of, target_of

if TYPE_CHECKING:
    from runtime.transport.channel import Channel


class IncomingCall:
    """A call that came in: where it goes is known, its arguments are not opened yet."""

    __slots__ = ("channel", "codec", "frame", "target")

    def __init__(self, frame: Frame, channel: Channel, codec: Codec) -> None:
        self.frame = frame
        self.codec = codec
        """Opens the arguments and writes the result; who serves the call may choose another."""
        self.channel = channel
        self.target: Target = target_of(frame)

    @property
    def is_note(self) -> bool:
        """Whether nobody waits for an answer."""
        return self.frame.kind == NOTE

    def answer(self, error: BaseException | None, result: Any) -> None:
        """Say what became of it, once, in any thread; its handler has returned the request then."""
        self.channel.answer(self, error, result)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Open the arguments; that may import modules, so do it off the reactor's thread.

        Raises:
            NotSendable: they cannot be rebuilt in this process.
        """
        return arguments_of(self.frame, self.codec)

    def invocation(self) -> Invocation:
        """Open the arguments and return the call; raises like `arguments`."""
        args, kwargs = self.arguments()
        to = self.target
        return Invocation(
            to.component, to.interface, to.operation, args, kwargs, to.client, to.chain
        )

    def __str__(self) -> str:
        """Return where the call goes."""
        return str(self.target)
