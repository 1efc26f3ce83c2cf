"""Receives that another cluster may satisfy, or whose message has to be probed for."""

from __future__ import annotations

from mpi4py import MPI

from runtime.matching import Envelope, JointReceive, Pattern
from runtime.mpi.progress.landings import Fresh
from runtime.mpi.progress.operations import IDLE, POLLED, Operation

TYPE_CHECKING = False  # for type checkers only; ranks do not import `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.mailboxes import Mailbox
    from runtime.wire import Incoming


class Receive(Operation):
    """One receive; it goes from the mailbox to the wire or to native MPI."""

    __slots__ = (
        "_incoming",
        "_is_taken",
        "_landing",
        "_request",
        "_status",
        "asked",
        "box",
        "may_go_on",
    )

    def __init__(
        self, box: Mailbox, pattern: Pattern, landing: Landing, *, near: bool, far: bool
    ) -> None:
        super().__init__()
        self.box = box
        self.may_go_on = False
        """Whether a loss has ended it, and others could still send what it matches."""
        self._landing = landing
        self._request: MPI.Request | None = None
        self._status = MPI.Status()
        self._incoming: Incoming | None = None
        self._is_taken = False
        self.asked = JointReceive(pattern, self, near=near, far=far, sought=not landing.sized)

    def again(self) -> Receive:
        """Return a receive like it, into the same memory."""
        asked = self.asked
        return Receive(self.box, asked.pattern, self._landing, near=asked.near, far=asked.far)

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
        room = self._landing.room(incoming.size)
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
                self.data = self._landing.land(b"" if payload is None else payload)
            except MPI.Exception as problem:
                name = self.box.name_of(self.source)
                problem.add_note(
                    f"{name} sent {incoming.size} bytes with tag {self.tag}"
                    f" into a buffer of {self._landing.size} bytes"
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

    @property
    def landing(self) -> Landing:
        """The destination of the message."""
        return self._landing

    def _end_natively(self, error: MPI.Exception | None) -> None:
        status = self._status
        self.source = self.box.rank_from(status.source)
        self.tag = status.tag
        self.nbytes = max(status.count, 0)
        self.cancelled = status.cancelled
        if isinstance(self._landing, Fresh):
            self.data = self._landing.made
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
