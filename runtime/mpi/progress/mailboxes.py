"""The mailbox of a communicator: pending receives and unexpected messages, near and far.

A receive for which both native MPI and other clusters may have a message is posted with both, and
the mailbox decides which of the two it is: whichever comes first takes the receive back from the
other side. A receive that native MPI alone can serve never comes here.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.matching import ANY, Envelope, JointMatcher, JointReceive, Pattern
from runtime.mpi.progress.landings import Fresh
from runtime.mpi.progress.operations import IDLE, POLLED, Operation
from runtime.topology import member_in_words

if TYPE_CHECKING:
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.ranks import CommunicatorRanks
    from runtime.wire import Incoming


HEAD = struct.Struct("<8s?iq")
"""The key of a message: context, whether it is of a collective, rank of its sender, tag."""

CONTEXT_BYTES = 8
"""How many bytes of it are the context."""

REVOKED, AGREEMENT, INVITED, SERVED = -10, -11, -12, -13
"""The tags of notices: the communicator is revoked; a message of an agreement; an invitation of a
replacement; a request to a service, whose header follows.
"""


class Mailbox:
    """The messages of programs, or those of collectives, of one communicator.

    It may exist before the communicator, since others may have made it already and send. The
    engine's lock protects it.
    """

    def __init__(self, name_of: Callable[[int], str]) -> None:
        self.matcher = JointMatcher(self)
        self._name_of = name_of
        self._members: CommunicatorRanks | None = None
        self.native = MPI.COMM_NULL
        self._status = MPI.Status()

    def open(self, m: CommunicatorRanks, native: MPI.Intracomm) -> None:
        """Register the communicator."""
        self._members, self.native = m, native

    @property
    def is_open(self) -> bool:
        """Whether the communicator is registered."""
        return self._members is not None

    @property
    def members(self) -> CommunicatorRanks:
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


class Receive(Operation):
    """One receive; it goes from the mailbox to the wire or to native MPI."""

    __slots__ = (
        "_incoming",
        "_is_taken",
        "_request",
        "_status",
        "asked",
        "box",
        "landing",
        "may_go_on",
    )

    def __init__(
        self, box: Mailbox, pattern: Pattern, landing: Landing, *, near: bool, far: bool
    ) -> None:
        super().__init__()
        self.box = box
        self.may_go_on = False
        """Whether a loss has ended it, and others could still send what it matches."""
        self.landing = landing
        self._request: MPI.Request | None = None
        self._status = MPI.Status()
        self._incoming: Incoming | None = None
        self._is_taken = False
        self.asked = JointReceive(pattern, self, near=near, far=far, sought=not landing.sized)

    def again(self) -> Receive:
        """Return a receive like it, into the same memory."""
        asked = self.asked
        return Receive(self.box, asked.pattern, self.landing, near=asked.near, far=asked.far)

    @property
    def urgency(self) -> int:
        """It is urgent while native MPI has it, or the mailbox probes for it."""
        return POLLED if self._incoming is None and self.asked.near and not self.done else IDLE

    def test(self) -> bool:
        """Test whether the message is there."""
        request = self._request
        if self.done or request is None:
            return self.done
        try:
            if request.Test(self._status):
                self._end_natively(None)
        except MPI.Exception as error:
            self._end_natively(error)
        return self.done

    def post(self) -> None:
        """Post it to the mailbox."""
        self.box.post(self)

    def begin_natively(self, request: MPI.Request) -> None:
        """Post it to native MPI."""
        self._request = request
        self.test()

    def begin_far(self, envelope: Envelope, incoming: Incoming) -> None:
        """Let a message of another cluster land, which may still be arriving."""
        self._incoming = incoming
        self.source, self.tag, self.nbytes = envelope.rank, envelope.tag, incoming.size
        incoming.owner = self
        room = self.landing.room(incoming.size)
        if room is None:
            self._is_taken = True
            incoming.take()
        else:
            incoming.give(room)
        if incoming.done:
            self.landed()

    def landed(self) -> None:
        """Record that the message is complete."""
        incoming, error = self._incoming, None
        if incoming is not None:
            incoming.owner = None
        if self._is_taken and incoming is not None:
            try:
                payload = incoming.payload
                self.data = self.landing.land(b"" if payload is None else payload)
            except MPI.Exception as problem:
                name = self.box.name_of(self.source)
                problem.add_note(
                    f"{name} sent {incoming.size} bytes with tag {self.tag}"
                    f" into a buffer of {self.landing.size} bytes"
                )
                error = problem
        self._incoming = None
        self.finish(error)

    def finish(self, error: BaseException | None = None) -> None:
        """Complete it; memory of the program is held no longer than this."""
        self.asked.owner = None
        super().finish(error)

    @property
    def comes_from(self) -> int | None:
        """The index of the process whose message is arriving now."""
        return None if self._incoming is None else self._incoming.source

    def cancel(self) -> None:
        """Cancel it, if no message has been matched with it."""
        if self.done:
            return
        if self._request is not None:
            self._request.Cancel()
        elif self.forget():
            self.cancelled = True
            self.finish()

    def forget(self) -> bool:
        """Leave the mailbox; return False if a message has been matched, or native MPI has it."""
        return self.box.forget(self)

    def describe(self) -> str:
        """Describe what is waited for."""
        return self.box.describe(self.asked.pattern)

    def awaited(self) -> Sequence[int]:
        """Return the possible senders."""
        if self._incoming is not None:
            return (self._incoming.source,)
        return self.box.senders(self.asked.pattern) if self.asked.far else ()

    def _end_natively(self, error: MPI.Exception | None) -> None:
        status = self._status
        self.source = self.box.rank_from(status.source)
        self.tag = status.tag
        self.nbytes = max(status.count, 0)
        self.cancelled = status.cancelled
        if isinstance(self.landing, Fresh):
            self.data = self.landing.made
        self._request = None
        self.finish(error)


class PendingReceive(Operation):
    """A receive that is posted again when somebody waits for it again.

    Until then losses can be acknowledged. Messages that arrive meanwhile are kept.
    """

    __slots__ = ("_ask", "_receive")

    def __init__(self, ask: Callable[[], Operation]) -> None:
        super().__init__()
        self._ask = ask
        self._receive: Operation | None = None

    @property
    def receive(self) -> Operation:
        """Return the receive; the first call posts it."""
        if self._receive is None:
            self._receive = self._ask()
        return self._receive

    @property
    def urgency(self) -> int:
        """How urgent it is to ask native MPI if it is done."""
        return self.receive.urgency

    def test(self) -> bool:
        """Test whether the message is there."""
        one = self.receive
        if not self.done and one.test():
            self.source, self.tag, self.nbytes = one.source, one.tag, one.nbytes
            self.data, self.cancelled = one.data, one.cancelled
            self.finish(one.error)
        return self.done

    def cancel(self) -> None:
        """Cancel it."""
        self.receive.cancel()
        self.test()

    def describe(self) -> str:
        """Describe what is waited for."""
        return self.receive.describe()

    def awaited(self) -> Sequence[int]:
        """Return the possible senders."""
        return self.receive.awaited()
