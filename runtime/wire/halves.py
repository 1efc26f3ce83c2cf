"""Both halves of a pair, and what their ends tell each other when there is a new connection."""

from __future__ import annotations

from runtime.wire.errors import BadFrame
from runtime.wire.frames import AGAIN, GO, RESUMES, pack
from runtime.wire.hope import Go
from runtime.wire.inlet import Inlet
from runtime.wire.outlet import Outlet


class Halves:
    """The `inlet` and the `outlet`, whose bytes are counted once a connection can be resumed."""

    __slots__ = ("inlet", "outlet")

    def __init__(self, inlet: Inlet, outlet: Outlet) -> None:
        self.inlet = inlet
        self.outlet = outlet

    @property
    def resume(self) -> bool:
        """Whether what is half said can go on over another connection."""
        return self.outlet.replay is not None

    @property
    def have_begun(self) -> bool:
        """Whether anything was said that is counted."""
        return self.resume and (self.inlet.position > 0 or self.outlet.end > 0)

    @property
    def progress(self) -> tuple[int, int]:
        """How much came, and how much is known to have come to the other end."""
        return self.inlet.position, self.outlet.under_way.settled

    def count(self) -> None:
        """Count from now on; twice is once."""
        self.inlet.count()
        self.outlet.keep()

    def go(self, *, again: bool = False) -> bytes:
        """Return what says that this end is going to use a connection."""
        flags = (RESUMES if self.resume else 0) | (AGAIN if again else 0)
        return pack(GO, flags, 0, self.inlet.position, self.outlet.end)

    def go_on(self, go: Go | None) -> None:
        """Go on over a new connection; the other end has said where, or it was never reached.

        Raises:
            BadFrame: the other end cannot be the same process.
        """
        if not self.resume:
            return
        position, written = (go.position, go.written) if go is not None else (0, 0)
        if go is not None and written < self.inlet.position:
            raise BadFrame(f"it has written {written} of {self.inlet.position} bytes that came")
        self.outlet.resume(position)
        self.inlet.replayed = written

    @property
    def may_rest(self) -> bool:
        """Whether nothing is queued, on its way, or half received."""
        return self.outlet.is_finished and self.inlet.is_between
