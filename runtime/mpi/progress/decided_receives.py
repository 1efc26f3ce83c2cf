"""Receives from any rank at a replica: they get the message that the master's receive got.

The master matches as usual, and tells the others the source and the tag of what each such receive
got. At the others it is posted once that is known, then without a wildcard. A later receive that
could take its message away waits behind it. A receive from one rank needs no decision, whatever its
tag: all messages of a rank arrive at all replicas in the order of its program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpi4py import MPI

from runtime.matching import JointReceive
from runtime.mpi.progress.mailboxes import Receive, pattern_of
from runtime.mpi.progress.operations import IDLE
from runtime.replicas.decisions import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Hashable

    from runtime.matching import Envelope
    from runtime.mpi.progress.driver import Driver
    from runtime.mpi.progress.landings import Landing
    from runtime.mpi.progress.mailboxes import Mailbox
    from runtime.mpi.progress.ranks import CommunicatorRanks
    from runtime.mpi.progress.replication import ReplicatedConnections
    from runtime.wire import Incoming

Key = tuple["Hashable", int]
Announce = "Callable[[Hashable, int, Any], None]"


class DecidedReceive(Receive):
    """A receive of a replica; `point` is the decision that it waits for, or that is made of it."""

    __slots__ = ("_all", "is_posted", "members", "point")

    def __init__(
        self,
        everything: DecidedReceives,
        members: CommunicatorRanks,
        source: int,
        tag: int,
        landing: Landing,
    ) -> None:
        near, far = _sides(members, source)
        super().__init__(
            everything.box_of(members), pattern_of(source, tag), landing, near=near, far=far
        )
        self._all = everything
        self.members = members
        self.point: Key | None = None
        self.is_posted = False

    @property
    def urgency(self) -> int:
        """Urgent once native MPI has it."""
        return super().urgency if self.is_posted else IDLE

    def narrow(self, source: int, tag: int) -> None:
        """Receive from this source with this tag only."""
        near, far = _sides(self.members, source)
        sought = not self.landing.sized
        self.point = None
        self.asked = JointReceive(pattern_of(source, tag), self, near=near, far=far, sought=sought)

    def post(self) -> None:
        """Post it to the mailbox."""
        self.is_posted = True
        super().post()

    def begin_far(self, envelope: Envelope, incoming: Incoming) -> None:
        """Let a message land; the other replicas may have to be told which one it is."""
        self._all.matched(self, envelope.rank, envelope.tag)
        super().begin_far(envelope, incoming)

    def finish(self, error: BaseException | None = None) -> None:
        """Be done; a message of this very process is known by then."""
        if error is None and not self.cancelled:
            self._all.matched(self, self.source, self.tag)
        super().finish(error)

    def forget(self) -> bool:
        """Remove it from the mailbox, or from the queue before it."""
        return self._all.forget(self) or super().forget()


class DecidedReceives:
    """The receives of a replica that wait for decisions of the master, in program order."""

    def __init__(self, driver: Driver, connections: ReplicatedConnections, announce: Any) -> None:
        self._driver = driver
        self._connections = connections
        self._announce = announce
        self._by_point: dict[Key, DecidedReceive] = {}
        self._lines: dict[Mailbox, list[DecidedReceive]] = {}

    def box_of(self, m: CommunicatorRanks) -> Mailbox:
        """Return the mailbox of the messages of programs."""
        return self._driver.box(m.context, False)

    def begin(self, m: CommunicatorRanks, source: int, tag: int, landing: Landing) -> Receive:
        """Begin a receive: post it now, or once its message is decided."""
        point: Key | None = None
        box = self.box_of(m)
        if source != MPI.ANY_SOURCE:
            if box not in self._lines:
                near, far = _sides(m, source)
                known = Receive(box, pattern_of(source, tag), landing, near=near, far=far)
                self._driver.post(known)
                return known
        else:
            sequence = "match", m.context
            number, value = self._connections.core.ask(sequence)
            if value is UNKNOWN:
                point = sequence, number
            else:
                source, tag = value
        receive = DecidedReceive(self, m, source, tag, landing)
        if point is not None:
            receive.point = point
            self._by_point[point] = receive
        if box in self._lines or (point is not None and not self._connections.core.leads):
            self._lines.setdefault(box, []).append(receive)
            self._go_on(box)
        else:
            self._driver.post(receive)
        return receive

    def decided(self, point: Key, value: Any) -> bool:
        """Match a receive with the message that the master's got; return False if there is none."""
        receive = self._by_point.pop(point, None)
        if receive is None or receive.point is None:
            return receive is not None
        receive.narrow(*value)
        self._go_on(receive.box)
        return True

    def matched(self, receive: DecidedReceive, source: int, tag: int) -> None:
        """Tell the others which message a receive got here."""
        point, receive.point = receive.point, None
        if point is not None:
            self._announce(*point, (source, tag))

    def lead(self) -> None:
        """Post all receives with wildcards from now on, as the master does."""
        for box in list(self._lines):
            self._go_on(box)

    def forget(self, receive: DecidedReceive) -> bool:
        """Forget a receive that is not posted yet; return False if it is."""
        if receive.point is not None:
            self._by_point.pop(receive.point, None)
        box = receive.box
        line = self._lines.get(box, [])
        if receive not in line:
            return False
        line.remove(receive)
        self._go_on(box)
        return True

    def _go_on(self, box: Mailbox) -> None:
        """Post the receives that no undecided one precedes."""
        line = self._lines.pop(box, [])
        left: list[DecidedReceive] = []
        for receive in line:
            pattern = receive.asked.pattern
            waits = receive.point is not None and not self._connections.core.leads
            if waits or any(pattern.overlaps(one.asked.pattern) for one in left):
                left.append(receive)
            else:
                self._driver.post(receive)
        if left:
            self._lines[box] = left


def _sides(m: CommunicatorRanks, source: int) -> tuple[bool, bool]:
    """Return whether a message can come from this cluster, and from elsewhere."""
    if source == MPI.ANY_SOURCE:
        return bool(m.rank_from), not m.all_near
    return source in m.near, source not in m.near
