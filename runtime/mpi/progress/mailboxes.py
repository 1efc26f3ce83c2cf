"""The mailbox of a communicator: pending receives and unexpected messages, near and far."""

from __future__ import annotations

import struct

from mpi4py import MPI

from runtime.matching import ANY, Envelope, JointMatcher, JointReceive, Pattern
from runtime.mpi.progress.receives import Receive
from runtime.topology import member_in_words

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from runtime.mpi.progress.membership import CommunicatorMembers
    from runtime.wire import Incoming

HEAD = struct.Struct("<8s?iq")
"""The key of a message: context, whether it is of a collective, rank of its sender, tag."""


class Mailbox:
    """The messages of programs, or those of collectives, of one communicator.

    It may exist before the communicator, since others may have made it already and send. The
    engine's lock protects it.
    """

    def __init__(self, name_of: Callable[[int], str]) -> None:
        self.matcher = JointMatcher(self)
        self._name_of = name_of
        self._members: CommunicatorMembers | None = None
        self.native = MPI.COMM_NULL
        self._status = MPI.Status()

    def open(self, m: CommunicatorMembers, native: MPI.Intracomm) -> None:
        """Register the communicator."""
        self._members, self.native = m, native

    @property
    def is_open(self) -> bool:
        """Whether the communicator is registered."""
        return self._members is not None

    @property
    def members(self) -> CommunicatorMembers:
        """The communicator."""
        assert self._members is not None, "only messages of others come before the communicator"
        return self._members

    def post(self, receive: Receive) -> None:
        """Post a receive."""
        asked = receive.asked
        self.matcher.post(asked)
        if asked.envelope is not None:
            receive.begin_far(asked.envelope, asked.message)

    def arrive(self, rank: int, tag: int, incoming: Incoming) -> bool:
        """Match a message of another cluster, or keep it; return whether it was matched."""
        envelope = Envelope("", rank, tag)
        asked = self.matcher.arrive(envelope, incoming)
        if asked is not None:
            asked.owner.begin_far(envelope, incoming)
        return asked is not None

    def forget(self, receive: Receive) -> bool:
        """Cancel a receive; return False if it is matched or native MPI has it."""
        return self.matcher.cancel(receive.asked)

    def drain(self) -> list[Incoming]:
        """Return and forget unexpected messages."""
        return self.matcher.drain()

    # the matcher's interface to native MPI

    def give(self, asked: JointReceive) -> None:
        """Post a receive to native MPI."""
        receive: Receive = asked.owner
        source, tag = self._native_pattern(asked.pattern)
        try:
            receive.begin_natively(self.native.Irecv(receive.landing.native(0), source, tag))
        except MPI.Exception as error:
            receive.finish(error)

    def peek(self, pattern: Pattern, status: MPI.Status | None = None) -> Envelope | None:
        """Return the envelope of the first matching message that native MPI has."""
        status = status or self._status
        if not self.native.Iprobe(*self._native_pattern(pattern), status):
            return None
        return Envelope("", self.rank_from(status.source), status.tag)

    def take(self, asked: JointReceive, envelope: Envelope) -> bool:
        """Receive the first message with this envelope."""
        status = MPI.Status()
        message = self.pick(envelope, status)
        if message is None:
            return False
        receive: Receive = asked.owner
        try:
            receive.begin_natively(message.Irecv(receive.landing.native(status.count)))
        except MPI.Exception as error:
            receive.source, receive.tag = envelope.rank, envelope.tag
            receive.finish(error)
        return True

    def pick(
        self, envelope: Envelope, status: MPI.Status, *, lower: bool = False
    ) -> MPI.Message | None:
        """Reserve the first native message with this envelope; `lower`: as an object."""
        probe = self.native.improbe if lower else self.native.Improbe
        return probe(self.members.near[envelope.rank], envelope.tag, status)

    def has_near(self, pattern: Pattern) -> bool:
        """Return whether native MPI may have a matching message."""
        return pattern.rank is ANY or pattern.rank in self.members.near

    def rank_from(self, native_rank: int) -> int:
        """Return the rank in the peers of a native rank; special values stay as they are."""
        return self.members.rank_from[native_rank] if native_rank >= 0 else native_rank

    def _native_pattern(self, pattern: Pattern) -> tuple[int, int]:
        source = MPI.ANY_SOURCE if pattern.rank is ANY else self.members.near[pattern.rank]
        return source, MPI.ANY_TAG if pattern.tag is ANY else pattern.tag

    # senders

    def senders(self, pattern: Pattern) -> Sequence[int]:
        """Return the processes of other clusters whose messages match.

        A receive from any rank does not wait for one whose loss was acknowledged.
        """
        m = self.members
        if pattern.rank is not ANY:
            return () if pattern.rank in m.near else (m.peers[pattern.rank],)
        known = m.recovery.acknowledged
        return [
            index
            for rank, index in enumerate(m.peers)
            if m.native_rank[rank] < 0 and index not in known and index not in m.gaps
        ]

    def name_of(self, rank: int) -> str:
        """Return the name of a rank of the peers: `rank 3 (south/cedar 1) on node7`."""
        return member_in_words(rank, self._name_of(self.members.peers[rank]))

    def instead_of(self, pattern: Pattern) -> str:
        """Say what has come from the sender of a message that will never come; "" for nothing."""
        for envelope, incoming in self.matcher.kept():
            if pattern.rank in (ANY, envelope.rank):
                tag = f"tag {envelope.tag}, {incoming.size} bytes"
                return f"a message that nobody receives has come: {tag}"
        return ""

    def describe(self, pattern: Pattern) -> str:
        """Describe a receive."""
        m = self.members
        tag = "any tag" if pattern.tag is ANY else f"tag {pattern.tag}"
        who = "any rank" if pattern.rank is ANY else self.name_of(pattern.rank)
        return f"a message with {tag} from {who} on {m.native.name or 'a communicator'}"


def pattern_of(source: int, tag: int) -> Pattern:
    """Return the pattern for a rank and a tag as given to MPI."""
    any_source: Any = ANY if source == MPI.ANY_SOURCE else source
    any_tag: Any = ANY if tag == MPI.ANY_TAG else tag
    return Pattern("", any_source, any_tag)
