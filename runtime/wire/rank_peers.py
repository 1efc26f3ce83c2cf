"""What a rank does with its peers, whatever loop drives it: no thread, clock or descriptor set.

`PeerConnections` drives it with the event loop of a process, a simulated world with events of its
own.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping, Sequence

from runtime.lazy_import import logger
from runtime.transport.admission import Admission
from runtime.transport.credentials import Credentials
from runtime.transport.keys import parsed
from runtime.transport.lean import HANDSHAKE_SECONDS
from runtime.wire.dialling.connecting import LANE, PROBES, Attempt, Connector
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.line import RESUME_TIMEOUT, SILENCE_TIMEOUT
from runtime.wire.dialling.meetings import Meetings
from runtime.wire.dialling.references import Traffic
from runtime.wire.errors import PeerLost, WireError
from runtime.wire.peer import Peer
from runtime.wire.stream.messages import MessageSink, Outgoing
from runtime.wire.stream.receiver import STAGE

_log = logger(__name__)

_LATE = 1.0
"""Seconds after which it is this process that did not run, and nobody else is to blame."""


class RankPeers:
    """Sends messages to peers and hands over those that arrive; see the package.

    `listeners` are listening sockets, which are closed with it. After so many seconds of `silence`
    a connection is of no use whose other end does not answer; one that broke has to be resumed
    within so many of `resume_timeout`. One that comes in has `patience` seconds to prove itself.
    `random` gives the numbers that are used once. A subclass is the loop that drives it.
    """

    now: Callable[[], float]
    watch_descriptor: Callable[[int, int, Callable[[int], bool] | None], None]
    tick_soon: Callable[[], None]

    suspect: Callable[[int, PeerLost | None], None] | None = None
    """Who is told that a peer cannot be reached, where it is not decided here what that means.

    None instead of a reason withdraws that. By `explain` or `confirm` it is told that the peer
    is lost; until then it is tried to reach it.
    """
    ask_for_end: Callable[[int], None] | None = None
    """Asks once for `explain`, now or later, if a peer ends; nobody else is told of a good end."""
    are_all_ends_told = False
    """Whether `explain` is called for each peer that ends, so that none is lost without it."""

    def __init__(
        self,
        me: int,
        directory: RankDirectory,
        sink: MessageSink,
        connector: Connector,
        *,
        listeners: Sequence[socket.socket] = (),
        credentials: Credentials | None = None,
        silence: float = SILENCE_TIMEOUT,
        resume_timeout: float = RESUME_TIMEOUT,
        patience: float = HANDSHAKE_SECONDS,
        random: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self.me = me
        self.silence = silence
        self.resume_timeout = resume_timeout
        self.sink = sink
        self.connector = connector
        self.stage = memoryview(bytearray(STAGE))
        self._directory = directory
        self._peers: dict[int, Peer] = {}
        self._is_leaving = False
        self._left: list[Peer] = []
        self._meetings = Meetings(self._met, self)
        self._admission: Admission | None = None
        if listeners and credentials is not None:
            self._admission = Admission(
                listeners,
                credentials,
                self._admitted,
                self,
                patience=patience,
                here=self.describe(me),
                whose=directory.clusters_at,
                random=random,
            )
            self._admission.open()

    # --- sending and receiving --------------------------------------------------------------------

    def send(
        self, to: int, head: bytes, payload: Sequence[memoryview] = (), *, sync: bool = False
    ) -> Outgoing:
        """Start to send a message; with `sync` it is done only once it has been matched.

        The payload is the concatenation of views of bytes. To a peer that is lost the error is
        there at once.

        Raises:
            BadFrame: the head or the payload is larger than it can be.
            WireError: there is no such peer.
        """
        peer = self._peers.get(to) or self._meet(to)
        if peer.why is not None:
            failed = Outgoing(done=True)
            failed.error = peer.why
            return failed
        line = peer.line
        if line is not None and not sync:
            data = peer.sender.pass_by(head, payload)
            if data is not None:
                return line.write(data)
        outgoing = peer.sender.put(head, payload, sync)
        if line is None:
            peer.dial()
        elif not line.is_blocked:
            line.flush()
        return outgoing

    # --- peers ------------------------------------------------------------------------------------

    def watch(self, peer: int) -> None:
        """See to it that the loss of a peer is noticed, also where nothing is sent to it."""
        (self._peers.get(peer) or self._meet(peer)).watch()

    def explain(self, peer: int, why: PeerLost) -> None:
        """Record how a peer has ended: nobody waits for it longer than for its last words.

        As for all else, the lock of the owner is held; who has none asks for it by `soon`.
        """
        (self._peers.get(peer) or self._meet(peer)).explain(why)

    def confirm(self, peer: int) -> None:
        """Let a peer be lost that was suspected, for the reason that was told then."""
        found = self._peers.get(peer)
        if found is not None:
            found.confirm()

    @property
    def size(self) -> int:
        """How many ranks are known, the lost ones among them."""
        return len(self._directory)

    def index_of(self, name: str) -> int | None:
        """Return the index of a rank, or None if there is no such rank."""
        return self._directory.index(name)

    def add(self, party: Party) -> None:
        """Know a rank that has taken the place of a lost one; the lock of the owner is held."""
        self._directory.add(party)

    def renew(self, party: Party) -> None:
        """Let an index mean the process that has taken a rank's place; its former one is lost."""
        index = self._directory.index(party.name)
        known = None if index is None else self._peers.pop(index, None)
        if known is not None:
            known.lose()
        self._directory.put(party)

    def is_connected(self, peer: int) -> bool:
        """Tell whether there is a connection to a peer."""
        found = self._peers.get(peer)
        return found is not None and found.line is not None

    def come(self, attempt: Attempt) -> None:
        """Go where a peer waits; it proves itself there as one that has dialled."""
        self._meetings.come(attempt)

    def why_lost(self, peer: int) -> Exception | None:
        """Return why a peer is lost, or None if it is not."""
        found = self._peers.get(peer)
        return None if found is None else found.why

    def describe(self, peer: int) -> str:
        """Return how errors name a peer: its rank, its host, its addresses."""
        return str(self._directory.party(peer))

    def link_to(self, peer: int) -> str:
        """Return how errors name what is between this rank and a peer."""
        return self._directory.link(self.me, peer)

    def describe_opening(self, peer: int) -> str:
        """Say what keeps a connection to a peer from being opened; nothing if nothing does."""
        found = self._peers.get(peer)
        return "" if found is None else found.describe_opening()

    def is_near(self, peer: int) -> bool:
        """Tell whether a peer is on this machine."""
        machine = self._directory.party(peer).machine
        return bool(machine) and machine == self._directory.party(self.me).machine

    def share_a_machine(self, peers: Sequence[int]) -> bool:
        """Tell whether some ranks, of which this may be one, are on one machine."""
        machines = {self._directory.party(one).machine for one in peers}
        return len(machines) <= 1 and "" not in machines

    def round_trip(self, peer: int) -> float:
        """Return the shortest seconds to a peer and back; 0 where nobody knows.

        Where front-ends pass messages on it is that to the first of them.
        """
        found = self._peers.get(peer)
        return 0.0 if found is None else found.streams.round_trip

    def rest(self, peer: int) -> bool:
        """Begin to close the connection to a peer, in agreement; return whether that began.

        False means that there is none, that something is queued, on its way or half received, or
        that somebody watches the peer and nothing has come of it since.
        The peer may refuse. Nothing is forgotten, and the next send opens another connection.
        """
        found = self._peers.get(peer)
        return found is not None and found.rest()

    def connected(self) -> Mapping[int, int]:
        """Return all peers to which there is a connection, with the messages sent and received.

        Where that number has not grown since the last call nothing was said meanwhile.
        """
        return {
            index: peer.sender.messages + peer.receiver.expected
            for index, peer in self._peers.items()
            if peer.line is not None
        }

    def intercepted(self) -> list[str]:
        """Return what interceptors hold back or have dropped of all messages."""
        return []

    def interceptors_of(self, peer: int) -> list[str]:  # noqa: ARG002 - others have some
        """Return what stands in the port to a peer, and what it has done to messages."""
        return []

    @property
    def lanes(self) -> int:
        """How many connections there are beside the first one to each peer."""
        return sum(peer.streams.count for peer in self._peers.values())

    def narrow(self) -> None:
        """Do with one connection to each peer, for a while."""
        for peer in self._peers.values():
            peer.streams.narrow()

    def traffic(self) -> Mapping[int, Traffic]:
        """Return what went between this rank and each peer, as far as it began."""
        return {
            index: Traffic(
                peer.sender.messages,
                peer.sender.bytes,
                peer.receiver.expected,
                peer.receiver.bytes,
                peer.connection.joins,
                peer.connection.resumptions,
                peer.streams.most,
            )
            for index, peer in self._peers.items()
        }

    def unsent(self) -> Mapping[int, Sequence[tuple[bytes, int]]]:
        """Return the first messages that were lost with each peer: their heads and sizes.

        A send is done before there is a connection. Where the peer ends without one, the message
        has not arrived, and no call has failed for it.
        """
        return {index: peer.unsent for index, peer in self._peers.items() if peer.unsent}

    def _meet(self, index: int) -> Peer:
        party = self._directory.party(index)
        if index == self.me:
            raise WireError(f"{party} is not a peer of itself")
        peer = self._peers[index] = Peer(index, self)
        if self._is_leaving:
            peer.take_leave()  # there is nothing to be said to it
        return peer

    def _admitted(self, connected: socket.socket, name: str, received: bytes) -> None:
        if name.endswith(PROBES):
            connected.close()  # it knows now
            return
        member = name.removesuffix(LANE)
        index = self._directory.index(parsed(member)[0])
        if index in (None, self.me) or self._directory.party(index).member != member:
            who = name if index is None else self.describe(index)
            _log.warning("a connection of %s was refused: it is not a peer, or no longer", who)
            connected.close()
            return
        if name.endswith(LANE):
            known = self._peers.get(index)
            if known is None:
                connected.close()  # a lane belongs to a connection that is there
            else:
                known.streams.admit(connected, received)
            return
        (self._peers.get(index) or self._meet(index)).admit(connected, received)

    def _met(self, connected: socket.socket, received: bytes) -> None:
        if self._admission is None:
            connected.close()
        else:
            self._admission.receive(connected, "a meeting", received)

    def look_after(self, now: float, late: float) -> float | None:
        """Do what is due, `late` by so many seconds; return when something will be due again."""
        self._meetings.tick(now)
        for peer in list(self._peers.values()):
            if late > _LATE:
                peer.postpone(late)
            peer.tick(now)
        times = [peer.deadline for peer in self._peers.values()]
        times.append(self._meetings.deadline)
        if self._admission is not None:
            self._admission.tick(now)
            times.append(self._admission.deadline)
        return min((one for one in times if one is not None), default=None)

    # --- the end ----------------------------------------------------------------------------------

    def leave(self) -> bool:
        """Go on saying goodbye to all peers; return whether nobody has to be waited for."""
        if not self._is_leaving:
            self._is_leaving = True
            self._left = list(self._peers.values())
        for one in self._left:
            if not one.leave.is_over:
                one.take_leave()
        return all(one.leave.is_over for one in self._left)

    def awaited(self) -> list[str]:
        """Return for whom the end of this rank waits, each with the reason."""
        return [f"{one} ({why})" for one in self._left if (why := one.awaited_at_end)]

    def hang_up(self) -> None:
        """Close all there is, when all has been said."""
        if self._admission is not None:
            self._admission.close()
        self._meetings.close()
        for peer in self._peers.values():
            peer.hang_up()

    def cut_off(self) -> list[Peer]:
        """Return the peers that may not have the last messages, after the leave."""
        return [one for one in self._left if one.was_cut_off]
