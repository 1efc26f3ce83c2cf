"""Probing for messages, natively and from other clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from runtime.mpi.point_to_point.messages import found_message, native_message
from runtime.mpi.progress.mailboxes import pattern_of
from runtime.mpi.progress.operations import IDLE, POLLED, Operation

if TYPE_CHECKING:
    from runtime.matching import Envelope, Pattern
    from runtime.mpi.point_to_point.messages import Message
    from runtime.mpi.progress.mailboxes import Mailbox
    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.wire import Incoming


class AvailableMessage:
    """An available message; without `incoming` native MPI has it."""

    __slots__ = ("envelope", "incoming", "nbytes")

    def __init__(self, envelope: Envelope, nbytes: int, incoming: Incoming | None) -> None:
        self.envelope = envelope
        self.nbytes = nbytes
        self.incoming = incoming


class BlockingProbe(Operation):
    """A blocking probe: done when a message matches, or none ever can."""

    __slots__ = ("_m", "found", "pattern")

    def __init__(self, m: CommunicatorMembers, source: int, tag: int) -> None:
        super().__init__()
        self._m = m
        self.pattern = pattern_of(source, tag)
        self.found: AvailableMessage | None = None

    @property
    def urgency(self) -> int:
        """It is urgent where native MPI may have the message."""
        return POLLED if self._m.box.has_near(self.pattern) else IDLE

    def test(self) -> bool:
        """Probe once."""
        if not self.done:
            self.found = probe_once(self._m, self.pattern)
            if self.found is not None:
                self.finish()
            else:
                error = self._m.engine.losses.among(self.awaited(), near=self.urgency > IDLE)
                if error is not None:
                    self.finish(error)
        return self.done

    def describe(self) -> str:
        """Describe what is waited for."""
        return self._m.box.describe(self.pattern)

    def awaited(self) -> Sequence[int]:
        """Return the possible senders."""
        return self._m.box.senders(self.pattern)


def probe_once(m: CommunicatorMembers, pattern: Pattern) -> AvailableMessage | None:
    """Return the message that a receive would get now; the engine's lock is held."""
    box = m.box
    sides = (_probe_near, _probe_far) if box.matcher.near_first else (_probe_far, _probe_near)
    for side in sides:
        found = side(box, pattern)
        if found is not None:
            box.matcher.near_first = found.incoming is None  # the receive that follows gets it
            return found
    return None


def match(
    m: CommunicatorMembers, found: AvailableMessage, status: MPI.Status, *, lower: bool
) -> Message | None:
    """Reserve an available message; None if another thread was quicker."""
    box, envelope = m.box, found.envelope
    if found.incoming is not None:
        return found_message(m, envelope, box.matcher.pick(envelope))
    native = box.pick(envelope, status, lower=lower)
    return None if native is None else native_message(m, native, envelope.rank)


def _probe_far(box: Mailbox, pattern: Pattern) -> AvailableMessage | None:
    found = box.matcher.find(pattern)
    if found is None:
        return None
    envelope, incoming = found
    return AvailableMessage(envelope, incoming.size, incoming)


def _probe_near(box: Mailbox, pattern: Pattern) -> AvailableMessage | None:
    if not box.has_near(pattern):
        return None
    status = MPI.Status()
    while True:
        envelope = box.peek(pattern, status)
        if envelope is None:
            return None
        if not box.matcher.wants(envelope):
            return AvailableMessage(envelope, status.count, None)
        if not box.matcher.hand_over(envelope):
            return None
