"""Where the ranks of a cluster report: who has come, who is ready, who has left and how."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from gcm.invocation import Invocation
from runtime.errors import GridError
from runtime.lazy_import import logger
from runtime.machine.calls import CallRefused, DispatchTable, stub
from runtime.machine.contracts import CONTRACTS, Control, Health, Routes, Views
from runtime.machine.paths import LAUNCHER, RANKS
from runtime.membership.run_directory import (
    Bootstrap,
    address_in,
    as_others_see,
    remove_key,
    write_key,
)
from runtime.topology import NO_NAMES, RankNames
from runtime.transport.channel import Channel, IncomingCall, Relay
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed, TransportError
from runtime.transport.keys import member_name
from runtime.transport.lean import HANDSHAKE_SECONDS, HOST_SILENCE
from runtime.transport.listening import Listener
from runtime.transport.messages import PLAIN_DATA, Target
from runtime.transport.reactor import Reactor
from runtime.transport.round_trip import HostWatch
from runtime.transport.streams import SocketStream
from runtime.transport.transports import end_when_silent

_log = logger(__name__)

MOST_HELD = 1.0
"""Seconds for which each rank that does not read its messages holds up what comes behind them.

Among that may be the word to kill it.
"""

ENDS = ("unable", "ended", "aborted")
"""The operations of `Health` after which a rank says no more."""


class Watcher(Protocol):
    """Who is told that ranks come and go; called on the reactor's thread, so it must not wait.

    What ranks say themselves goes to what serves the contracts of `runtime.machine`.
    """

    def rank_here(self, rank: str, channel: Channel) -> None:
        """Record that a rank has come, and how it is reached."""

    def rank_left(self, rank: str, *, is_silence: bool) -> None:
        """Record that a rank has gone without a word, or that its host does not answer."""

    def all_left(self) -> None:
        """Record that the last rank has gone."""


class Gate:
    """A listener for ranks, which wait in it until all of them are released at once."""

    def __init__(
        self,
        reactor: Reactor,
        run_directory: str,
        port: int | None,
        credentials: Credentials,
        watcher: Watcher,
        *,
        dispatch: DispatchTable,
        ranks: Iterable[str],
        incarnation: int,
        relay: Relay | None = None,
        names: RankNames = NO_NAMES,
        stays: bool = False,
        patience: float = HANDSHAKE_SECONDS,
    ) -> None:
        """Listen, on this host only if `port` is None; raises Unreachable.

        `dispatch` has the operations that ranks can call, `relay` returns the next
        station of a message between ranks. Admitted are these `ranks` in this incarnation, each
        once, and they may take `patience` seconds to prove it; if it `stays`, others may come
        later in the place of lost ones. The log has their `names`.
        """
        self.names = names
        self._ranks = tuple(ranks)
        self._expected = {member_name(rank, incarnation): rank for rank in self._ranks}
        self._stays = stays
        self.reactor = reactor
        self.relay = relay
        self._run_directory = run_directory
        self.watcher = watcher
        self.dispatch = dispatch
        self._admitted: dict[str, _AdmittedRank] = {}
        self.released = False
        self._is_closed = False
        self._listener = Listener(
            reactor, address_in(run_directory, "front-end", port), credentials, self._admit,
            patience=patience,
        )  # fmt: skip
        self.address = as_others_see(self._listener.address)

    def publish_key(self, bootstrap: Bootstrap, *, alone: str = "") -> None:
        """Leave where ranks find it what they read first; `alone` is one that is started again.

        Raises:
            GridError: it cannot be written.
        """
        ranks = (alone,) if alone else self._ranks
        write_key(self._run_directory, ranks, bootstrap, alone=alone)

    def release(self) -> None:
        """Let nobody in from now on who is not expected: the ranks that have come run."""
        self.released = True
        if self._stays:
            remove_key(self._run_directory)
        else:
            self.close()

    def expect_again(self, rank: str, incarnation: int) -> str:
        """Let one more in, which takes the place of a lost rank; return where it comes to."""
        self._expected[member_name(rank, incarnation)] = rank
        self.dismiss(rank)
        return self.address

    def dismiss(self, rank: str) -> None:
        """Hear nothing more of a rank, and hang up, so that it ends."""
        admitted = self._admitted.get(rank)
        if admitted is not None:
            admitted.retire()

    def expect_no_more(self, rank: str, incarnation: int) -> None:
        """Do not let a rank in any more that was to take the place of another one."""
        if self._expected.pop(member_name(rank, incarnation), None) is not None:
            remove_key(self._run_directory, alone=rank)

    def interfaces(self, rank: str) -> tuple[Views, Control] | None:
        """Return the views and the control of one rank; None if it is not here."""
        admitted = self._admitted.get(rank)
        if admitted is None:
            return None
        return stub(Views, admitted.send), stub(Control, admitted.send)

    def forget(self) -> None:
        """Hear nothing more of these ranks: others have taken their place."""
        for admitted in self._admitted.values():
            admitted.dispatch = None

    def routes(self, rank: str) -> Routes | None:
        """Return what a rank serves about routes; None if it is not here any more."""
        admitted = self._admitted.get(rank)
        return None if admitted is None or admitted.channel.is_closed else admitted.routes

    def routes_of_others(self, rank: str) -> list[Routes]:
        """Return what all other ranks serve about routes."""
        return [admitted.routes for name, admitted in self._admitted.items() if name != rank]

    def close(self) -> None:
        """Let nobody in any more, and remove the key; twice is once."""
        if self._is_closed:
            return
        self._is_closed = True
        self._listener.close()
        remove_key(self._run_directory)
        for rank in self._expected.values() if self.released else ():
            remove_key(self._run_directory, alone=rank)

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank; None if it is not here."""
        admitted = self._admitted.get(rank)
        return admitted.channel if admitted is not None else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing more can come from any rank."""
        return all(admitted.channel.is_closed for admitted in self._admitted.values())

    @property
    def connected(self) -> list[str]:
        """The ranks of which more may come."""
        return [name for name, one in self._admitted.items() if not one.channel.is_closed]

    @property
    def is_held(self) -> bool:
        """Whether nothing is read of some rank now, though it may have sent more."""
        return any(one.channel.is_held for one in self._admitted.values())

    @property
    def traffic(self) -> tuple[int, int, int]:
        """Return the messages from and to the ranks, the bytes to them, and those from them."""
        channels = [admitted.channel for admitted in self._admitted.values()]
        return (
            sum(one.messages for one in channels),
            sum(one.sent_bytes for one in channels),
            sum(one.received_bytes for one in channels),
        )

    def _admit(self, connected: socket.socket, member: str, received: bytes) -> None:
        name = self._expected.pop(member, None)
        if name is None:
            who = self.names.name(member)
            _log.warning("%s was refused: it is not a rank that is expected, or no longer", who)
            connected.close()
            return
        # One that computes, or is stopped, may read nothing for long.
        end_when_silent(connected, HOST_SILENCE, even_if_full=False)
        admitted = self._admitted[name] = _AdmittedRank(self, connected, name, member)
        if self.released:
            remove_key(self._run_directory, alone=name)
        self.watcher.rank_here(name, admitted.channel)
        admitted.channel.when_closed(self._left)
        admitted.channel.open(received)
        admitted.watch_host()

    def _left(self, _: ChannelClosed) -> None:
        if self.is_empty:
            self.watcher.all_left()


class _AdmittedRank:
    """One rank: the contracts that it serves, and the connection over which it calls others."""

    def __init__(self, gate: Gate, connected: socket.socket, name: str, member: str) -> None:
        self.name = name
        self._reactor = gate.reactor
        self._member = member
        self.routes = stub(Routes, self.send)
        self._watcher, self._relay = gate.watcher, gate.relay
        self.dispatch: DispatchTable | None = gate.dispatch
        self._has_reported_its_end = False
        self._host = HostWatch(connected, HOST_SILENCE)
        # What other codes send to a rank has windows of its own, so it cannot be too much for long.
        self.channel = Channel(
            gate.reactor,
            SocketStream(connected),
            gate.names.name(name),
            self._handle,
            relay=self._onward,
            codec=PLAIN_DATA,
            most_held=MOST_HELD,
        )
        self.channel.when_closed(self._gone)

    def send(self, interface: str, operation: str, args: tuple[Any, ...]) -> None:
        """Call the rank; nothing happens once it has gone."""
        with suppress(ChannelClosed):  # it has ended by itself meanwhile
            self.channel.note(Invocation(self.name, interface, operation, args))

    def watch_host(self) -> None:
        """End the connection once its host does not answer, now or later."""
        if self.channel.is_closed or self._host.pause is None:
            return
        try:
            self._host.look()
        except TimeoutError as silence:
            self.channel.handle_end("its host does not answer", silence)
        else:
            self._reactor.later(self._host.pause, self.watch_host)

    def retire(self) -> None:
        """Hear nothing more of it, not even that it has gone."""
        self.dispatch, self._has_reported_its_end = None, True
        self.channel.close()

    def _onward(self, target: Target) -> Channel | None:
        """Return the way for what the rank sends to others, which it does in its own name.

        The launcher's own interface is called by the name that the rank has proved.
        """
        onward = self._relay(target) if self._relay is not None and self.dispatch else None
        own = self._member if target.component == LAUNCHER else self.name
        if onward is not None and target.client != own:
            raise TransportError(f"{self.name} calls {target} in the name of {target.client!r}")
        return onward

    def _handle(self, request: IncomingCall) -> None:
        interface, operation = request.target.interface, request.target.operation
        if self.dispatch is None:
            return  # of a former run of the ranks
        try:
            if request.target.component.startswith(RANKS) and interface not in self.dispatch:
                return  # for a rank that is not here, or not any more
            args = request.invocation().args
            if args[:1] != (self.name,):
                raise CallRefused(
                    f"{interface}.{operation} was called in the name of another member"
                )
            self._has_reported_its_end |= interface == CONTRACTS[Health] and operation in ENDS
            self.dispatch.call(interface, operation, args)
        except GridError as fault:
            _log.warning("what %s says is not understood: %s", self.channel.peer, fault)

    def _gone(self, ended: ChannelClosed) -> None:
        if not self._has_reported_its_end:
            self._watcher.rank_left(self.name, is_silence=ended.is_silence)
