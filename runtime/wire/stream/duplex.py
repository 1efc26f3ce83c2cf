"""The two directions of a pair, and what their ends tell each other over a new connection."""

from __future__ import annotations

from runtime.wire.errors import BadFrame
from runtime.wire.stream.frames import AGAIN, GO, RESUMES, ResumePoint, pack
from runtime.wire.stream.receiver import MessageReceiver
from runtime.wire.stream.sender import MessageSender


class DuplexStream:
    """The `receiver` and the `sender`, whose bytes are counted once a connection can be resumed."""

    def __init__(self, receiver: MessageReceiver, sender: MessageSender) -> None:
        self.receiver = receiver
        self.sender = sender

    @property
    def resume(self) -> bool:
        """Whether what is half said can go on over another connection."""
        return self.sender.replay is not None

    @property
    def have_begun(self) -> bool:
        """Whether anything was said that is counted."""
        return self.resume and (self.receiver.position > 0 or self.sender.end > 0)

    @property
    def progress(self) -> tuple[int, int]:
        """How much came, and how much is known to have come to the other end."""
        return self.receiver.position, self.sender.under_way.settled

    def count(self) -> None:
        """Count from now on; twice is once."""
        self.receiver.count()
        self.sender.keep()

    def go(self, *, again: bool = False) -> bytes:
        """Return what says that this end is going to use a connection."""
        flags = (RESUMES if self.resume else 0) | (AGAIN if again else 0)
        return pack(GO, flags, 0, self.receiver.position, self.sender.end)

    def go_on(self, go: ResumePoint | None) -> None:
        """Go on over a new connection; the other end has said where, or it was never reached.

        Raises:
            BadFrame: the other end cannot be the same process.
        """
        if not self.resume:
            return
        position, written = (go.position, go.written) if go is not None else (0, 0)
        if go is not None and written < self.receiver.position:
            raise BadFrame(f"it has written {written} of {self.receiver.position} bytes that came")
        self.sender.resume(position)
        self.receiver.replayed = written

    @property
    def may_rest(self) -> bool:
        """Whether nothing is queued, on its way, or half received."""
        return self.sender.is_finished and self.receiver.is_between
