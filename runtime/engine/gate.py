"""Where the ranks of a cluster report: who has come, who is ready, who has left and how."""

from __future__ import annotations

import socket
from typing import Any, Protocol

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.membership.rank_link import CONTROL, ROUTES
from runtime.membership.room import address_in, as_others_see, remove_key
from runtime.transport.channel import Channel, Relay, Request
from runtime.transport.credentials import Credentials
from runtime.transport.errors import ChannelClosed
from runtime.transport.listening import Door
from runtime.transport.reactor import Reactor
from runtime.transport.streams import SocketStream

Facts = dict[str, Any]

MOST_HELD = 1.0
"""Seconds for which each rank that does not read its messages holds up what comes behind them.

Among that may be the word to kill it.
"""


class Watcher(Protocol):
    """Who is told what ranks do; called on the reactor's thread, so it must not wait."""

    def rank_here(self, rank: str) -> None:
        """Know that a rank has come."""
        ...

    def rank_ready(self, rank: str, facts: Facts) -> None:
        """Know that a rank has started its MPI and waits."""
        ...

    def rank_unable(self, rank: str, why: str, python: str) -> None:
        """Know that a rank could not load its MPI."""
        ...

    def rank_ended(self, rank: str, code: int, why: str, *facts: Any) -> None:
        """Know how the program of a rank ended; for the facts see `RankExit`."""
        ...

    def rank_aborted(self, rank: str, code: int, *facts: Any) -> None:
        """Know that the program of a rank ends the run."""
        ...

    def rank_counted(
        self, rank: str, rows: list[Any], figures: dict[str, int], *, at_end: bool
    ) -> None:
        """Know what a rank has sent to those of other clusters, and how it found them."""
        ...

    def rank_learned(self, rank: str, told: list[Any]) -> None:
        """Know what a rank has learned of routes."""
        ...

    def rank_left(self, rank: str) -> None:
        """Know that a rank has gone without a word."""
        ...

    def all_left(self) -> None:
        """Know that the last rank has gone."""
        ...


class Gate:
    """A door for ranks. They wait behind it until they are released all at once."""

    def __init__(
        self,
        reactor: Reactor,
        room: str,
        port: int | None,
        credentials: Credentials,
        watcher: Watcher,
        *,
        relay: Relay | None = None,
    ) -> None:
        """Listen, on this host only if `port` is None; raises Unreachable.

        `relay` says where what ranks send to others goes on.
        """
        self._reactor = reactor
        self._relay = relay
        self._room = room
        self._watcher = watcher
        self._guests: dict[str, _Guest] = {}
        self.released = False
        self._is_closed = False
        self._door = Door(reactor, address_in(room, "front-end", port), credentials, self._admit)
        self.address = as_others_see(self._door.address)

    def release(self, answers: dict[str, Any]) -> None:
        """Let every rank run, with what it is to know; nobody else is let in from now on."""
        self.released = True
        self.close()
        for guest in self._guests.values():
            guest.release(answers.get(guest.name))

    def stop(self) -> None:
        """Ask every rank to end."""
        for guest in self._guests.values():
            guest.stop()

    def tell(self, rank: str, operation: str, *args: Any) -> bool:
        """Tell a rank something about routes; return whether it is still there."""
        guest = self._guests.get(rank)
        return guest is not None and guest.tell(ROUTES, operation, *args)

    def tell_others(self, rank: str, operation: str, *args: Any) -> None:
        """Tell all other ranks something about routes."""
        for name in self._guests.keys() - {rank}:
            self.tell(name, operation, *args)

    def close(self) -> None:
        """Let nobody in any more, and remove the key; twice is once."""
        if self._is_closed:
            return
        self._is_closed = True
        self._door.close()
        remove_key(self._room)

    def find(self, rank: str) -> Channel | None:
        """Return the way to a rank; None if it is not here."""
        guest = self._guests.get(rank)
        return guest.channel if guest is not None else None

    @property
    def is_empty(self) -> bool:
        """Whether nothing more can come from any rank."""
        return all(guest.channel.is_closed for guest in self._guests.values())

    @property
    def traffic(self) -> tuple[int, int, int]:
        """Return the messages from and to the ranks, the bytes to them, and those from them."""
        channels = [guest.channel for guest in self._guests.values()]
        return (
            sum(one.messages for one in channels),
            sum(one.sent_bytes for one in channels),
            sum(one.received_bytes for one in channels),
        )

    def _admit(self, connected: socket.socket, name: str, received: bytes) -> None:
        self._watcher.rank_here(name)
        guest = _Guest(self._reactor, connected, name, self._watcher, self._relay)
        self._guests[name] = guest
        guest.channel.when_closed(self._left)
        guest.channel.open(received)

    def _left(self, _: ChannelClosed) -> None:
        if self.is_empty:
            self._watcher.all_left()


class _Guest:
    """One rank."""

    def __init__(
        self,
        reactor: Reactor,
        connected: socket.socket,
        name: str,
        watcher: Watcher,
        relay: Relay | None,
    ) -> None:
        self.name = name
        self._watcher = watcher
        self._waits: Future[Any] = Future(f"the start of {name}")
        self._ended = False
        # What other codes send to a rank has windows of its own, so it cannot be too much for long.
        stream = SocketStream(connected)
        self.channel = Channel(reactor, stream, name, self._hear, relay=relay, most_held=MOST_HELD)
        self.channel.when_closed(self._gone)

    def release(self, answer: object) -> None:
        if not self._waits.done():
            self._waits.set_result(answer)

    def stop(self) -> None:
        self.tell(CONTROL, "stop")

    def tell(self, interface: str, operation: str, *args: Any) -> bool:
        try:
            self.channel.note(Invocation(self.name, interface, operation, args))
        except ChannelClosed:
            return False  # it has ended by itself meanwhile
        return True

    def _hear(self, request: Request) -> Future[Any] | None:
        if request.target.interface != CONTROL:
            return None  # for a rank that is not here, or not any more
        args = request.invocation().args
        match request.target.operation:
            case "ready":
                self._watcher.rank_ready(self.name, *args)
                return self._waits
            case "unable":
                self._ended = True
                self._watcher.rank_unable(self.name, *args)
            case "learned":
                self._watcher.rank_learned(self.name, *args)
            case "counted":
                self._watcher.rank_counted(self.name, *args, at_end=False)
            case "exchanged":
                self._watcher.rank_counted(self.name, *args, at_end=True)
            case "aborted":
                self._ended = True
                self._watcher.rank_aborted(self.name, *args)
            case "ended":
                self._ended = True
                self._watcher.rank_ended(self.name, *args)
        return None

    def _gone(self, _: ChannelClosed) -> None:
        if not self._ended:
            self._watcher.rank_left(self.name)
