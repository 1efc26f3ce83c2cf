"""The network of a simulated world: hosts, the lines between them, and what their systems keep.

A connection has two ends. What an end has written lies in its system until the other system has
confirmed it, what has come lies there until it is read; both have bounds. So a slow reader stops a
writer, a line that is cut lets all wait until it heals or a system gives up, and a process that
ends leaves what it wrote to its system.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable
from dataclasses import field
from enum import Enum, auto

from gcm.records import dataclass
from runtime.testing.world.engine import Actor, Effect, Event, World

NEVER = float("inf")
_ON_HOST = 20e-6  # seconds for what stays within one system
_PIECE = 64 << 10
_OFTEN = 0.5
"""Seconds between two looks at an end that has time limits of its own."""
_FIRST_PROBE = 5.0
_LAST_RETRY = 924.0
"""Seconds after which Linux gives up what nobody confirms, if nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Ready(Event):
    """Something can be read or written, or has ended, at a descriptor of the process."""


@dataclass(frozen=True, slots=True)
class Wrote(Effect):
    """There is more to be carried over a connection, in one direction."""

    connection: int
    end: int


@dataclass(frozen=True, slots=True)
class Read(Effect):
    """There is room again at one end of a connection."""

    connection: int
    end: int


@dataclass(frozen=True, slots=True)
class Dialled(Effect):
    """A process wants a connection to an address."""

    connection: int
    address: str


@dataclass(frozen=True, slots=True)
class HungUp(Effect):
    """A process has closed its end of a connection."""

    connection: int
    end: int


@dataclass(slots=True)
class NetworkLine:
    """What lies between two hosts in one direction: seconds, bytes a second, when a cut ends."""

    latency: float = 1e-4
    rate: float = 1e9
    cut_until: float = 0.0
    cut_since: float = 0.0
    free_at: float = 0.0

    def backlog(self, now: float) -> float:
        """Return for how many seconds what was sent until now occupies it."""
        return max(0.0, self.free_at - now)


class EndLife(Enum):
    """What the system knows of one end of a connection."""

    CONNECTING = auto()
    OPEN = auto()
    BROKEN = auto()
    """It has failed; the process learns that from `error`."""
    CLOSED = auto()
    """The process has closed it."""


@dataclass(slots=True, eq=False)
class ConnectionEnd:
    """One end of a connection, in the system of its host."""

    owner: str
    host: str
    life: EndLife = EndLife.CONNECTING
    unsent: bytearray = field(default_factory=bytearray)
    unconfirmed: int = 0
    received: bytearray = field(default_factory=bytearray)
    coming: int = 0
    """How much is on its way here."""
    has_ended: bool = False
    """Whether nothing more will come: the other end has said so."""
    says_end: bool = False
    """Whether the end is to be said behind all that was written."""
    error: int = 0
    arrives_at: float = 0.0
    is_full_since: float | None = None
    """Since when what the other end has written finds no room here."""
    misses_reset: bool = False
    """Whether the word that the other system has ended the connection was lost on its way."""
    user_timeout: float = 0.0
    """Seconds after which the system gives up what is not confirmed or finds no room, 0 if late."""
    keepalive: float = 0.0
    """Seconds after which it gives up an idle connection to a host that does not answer."""


@dataclass(slots=True, eq=False)
class WorldConnection:
    """One connection; the end 0 has dialled."""

    number: int
    ends: tuple[ConnectionEnd, ConnectionEnd]
    address: str
    is_on_host: bool
    is_swallowed: bool = False
    """Whether something between forgot it: nothing comes through any more, and nobody is told."""


class ListeningPlace:
    """A listening socket in the system of a host: what has come and was not accepted yet."""

    def __init__(self, owner: str, host: str, address: str) -> None:
        self.owner = owner
        self.host = host
        self.address = address
        self.waiting: list[WorldConnection] = []
        self.is_closed = False


class Network:
    """All hosts and lines. `room` is how many bytes a system keeps for one direction."""

    def __init__(self, world: World, *, room: int = 256 << 10, silence: float = 8.0) -> None:
        self._world = world
        self._rng = world.rng
        self.room = room
        self.silence = silence
        self.connections: dict[int, WorldConnection] = {}
        self.listeners: dict[str, ListeningPlace] = {}
        self.hosts_down: set[str] = set()
        self.places: dict[str, str] = {}
        """At which host each address is, whether somebody listens there or not."""
        self._lines: dict[tuple[str, str], NetworkLine] = {}
        self._next = 0
        world.own(Wrote, self._carry_on)
        world.own(Read, self._has_room)
        world.own(Dialled, self._dial)
        world.own(HungUp, self._hang_up)

    # --- hosts and lines --------------------------------------------------------------------------

    def line(self, source: str, target: str) -> NetworkLine:
        """Return the line from one host to another."""
        found = self._lines.get((source, target))
        if found is None:
            found = self._lines[source, target] = NetworkLine()
        return found

    def cut(self, source: str, target: str, until: float) -> None:
        """Let nothing through from one host to another until a time."""
        line = self.line(source, target)
        if line.cut_until <= self._world.now:
            line.cut_since = self._world.now
        line.cut_until = max(line.cut_until, until)
        for one in list(self.connections.values()):
            if {one.ends[0].host, one.ends[1].host} == {source, target}:
                self._watch_silence(one)

    def is_cut(self, source: str, target: str) -> bool:
        """Tell whether nothing comes through now."""
        return self.line(source, target).cut_until > self._world.now

    def down(self, host: str) -> None:
        """Let a host lose its power: nobody is told of anything."""
        self.hosts_down.add(host)
        others = {one.host for each in self.connections.values() for one in each.ends}
        others |= {one.host for one in self.listeners.values()}
        for other in sorted(others - {host}):
            self.cut(host, other, NEVER)
            self.cut(other, host, NEVER)

    def reset(self, connection: WorldConnection) -> None:
        """Let something between end a connection, as firewalls do: both ends are told."""
        for at, one in enumerate(connection.ends):
            if one.life in (EndLife.CONNECTING, EndLife.OPEN):
                self._break_later(connection, at, errno.ECONNRESET, self._rng.uniform(0, 0.05))
        connection.is_swallowed = True

    def swallow(self, connection: WorldConnection) -> None:
        """Let something between forget a connection: from now on all is lost in silence."""
        connection.is_swallowed = True
        self._watch_silence(connection)

    def end_process(self, owner: str) -> None:
        """Let a system close what a process had open when it ended, however it did."""
        for listener in [one for one in self.listeners.values() if one.owner == owner]:
            self.close_listener(listener)
        for one in list(self.connections.values()):
            for at, end in enumerate(one.ends):
                if end.owner == owner and end.life is not EndLife.CLOSED:
                    self.close(one, at)

    def open_of(self, owners: Iterable[str] | None = None) -> list[WorldConnection]:
        """Return the connections between hosts that are open, of some processes or of all."""
        wanted = None if owners is None else set(owners)
        return [
            one
            for one in self.connections.values()
            if not one.is_on_host
            and not one.is_swallowed
            and all(end.life is EndLife.OPEN for end in one.ends)
            and (wanted is None or any(end.owner in wanted for end in one.ends))
        ]

    # --- what processes ask -----------------------------------------------------------------------

    def listen(self, owner: str, host: str, address: str) -> ListeningPlace:
        """Return a socket of a process that listens at an address."""
        made = self.listeners[address] = ListeningPlace(owner, host, address)
        return made

    def connection(self, owner: str, host: str, address: str) -> WorldConnection:
        """Return a connection of a process that is about to be dialled."""
        self._next += 1
        ends = ConnectionEnd(owner, host), ConnectionEnd("", "")
        made = WorldConnection(self._next, ends, address, address.startswith("unix:"))
        self.connections[made.number] = made
        return made

    def close_listener(self, listener: ListeningPlace) -> None:
        """Refuse from now on; who has waited is sent away."""
        listener.is_closed = True
        if self.listeners.get(listener.address) is listener:
            del self.listeners[listener.address]
        for one in listener.waiting:
            self.close(one, 1)
        listener.waiting.clear()

    def close(self, connection: WorldConnection, at: int) -> None:
        """Close one end. What was not read is lost, and the other system is told of that."""
        end, other = connection.ends[at], connection.ends[1 - at]
        was, end.life = end.life, EndLife.CLOSED
        if was is EndLife.BROKEN or was is EndLife.CLOSED:
            self._forget(connection)
            return
        if end.received and other.life is EndLife.OPEN:
            end.unsent.clear()
            end.received.clear()
            delay = self._delay(end, other)
            self._break_later(connection, 1 - at, errno.ECONNRESET, delay)
        else:
            end.says_end = True
            self._carry(connection, at)

    # --- effects ----------------------------------------------------------------------------------

    def _dial(self, _: Actor, effect: Effect) -> None:
        assert isinstance(effect, Dialled)
        connection = self.connections[effect.connection]
        caller = connection.ends[0]
        listener = self.listeners.get(connection.address)
        host = listener.host if listener is not None else self.places[connection.address]
        connection.ends[1].host = host
        self._ask(connection, host, self._delay(caller, connection.ends[1]))

    def _ask(self, connection: WorldConnection, host: str, delay: float) -> None:
        """Let a request arrive, which is repeated as long as nothing comes through."""
        caller = connection.ends[0]

        def arrive() -> None:
            if caller.life is not EndLife.CONNECTING:
                self._forget(connection)
                return
            if host in self.hosts_down:
                return
            if not connection.is_on_host and (
                self.is_cut(caller.host, host) or self.is_cut(host, caller.host)
            ):
                self._world.at(self._world.now + 1.0, arrive)
                return
            self._answer(connection)

        self._world.at(self._world.now + delay, arrive)

    def _answer(self, connection: WorldConnection) -> None:
        caller, called = connection.ends
        listener = self.listeners.get(connection.address)
        delay = self._delay(called, caller)
        if listener is None or listener.is_closed:
            self._break_later(connection, 0, errno.ECONNREFUSED, delay)
            return
        called.owner, called.life = listener.owner, EndLife.OPEN
        listener.waiting.append(connection)
        self._ready(listener.owner)

        def taken() -> None:
            if caller.life is EndLife.CONNECTING:
                caller.life = EndLife.OPEN
                self._note(caller.owner, "is connected", called.owner)
                self._ready(caller.owner)
                self._carry(connection, 0)
                self._carry(connection, 1)
            self._watch_silence(connection)

        self._world.at(self._world.now + delay, taken)

    def _hang_up(self, _: Actor, effect: Effect) -> None:
        assert isinstance(effect, HungUp)
        if effect.connection in self.connections:
            self.close(self.connections[effect.connection], effect.end)

    def _carry_on(self, _: Actor, effect: Effect) -> None:
        assert isinstance(effect, Wrote)
        if effect.connection in self.connections:
            self._carry(self.connections[effect.connection], effect.end)

    def _has_room(self, _: Actor, effect: Effect) -> None:
        assert isinstance(effect, Read)
        if effect.connection in self.connections:
            connection = self.connections[effect.connection]
            connection.ends[effect.end].is_full_since = None
            self._carry(connection, 1 - effect.end)

    # --- bytes on their way -----------------------------------------------------------------------

    def _carry(self, connection: WorldConnection, at: int) -> None:
        """Send what finds room at the other end, and then that nothing more comes."""
        source, target = connection.ends[at], connection.ends[1 - at]
        if source.life is EndLife.CONNECTING or source.life is EndLife.BROKEN:
            return
        while source.unsent and not connection.is_swallowed:
            free = self.room - len(target.received) - target.coming
            if free <= 0:
                if target.is_full_since is None:
                    target.is_full_since = self._world.now
                    self._watch_room(connection, at)
                return
            piece = bytes(source.unsent[: min(free, _PIECE)])
            del source.unsent[: len(piece)]
            source.unconfirmed += len(piece)
            target.coming += len(piece)
            self._send(connection, at, piece)
        if source.says_end and not source.unsent:
            source.says_end = False
            self._send(connection, at, b"")

    def _send(self, connection: WorldConnection, at: int, piece: bytes) -> None:
        """Let a piece arrive, behind all others; an empty one is the end."""
        source, target = connection.ends[at], connection.ends[1 - at]
        now = self._world.now
        when = now + self._delay(source, target)
        if not connection.is_on_host:
            line = self.line(source.host, target.host)
            line.free_at = max(now, line.free_at) + len(piece) / line.rate
            when += line.free_at - now
        target.arrives_at = when = max(when, target.arrives_at)
        self._world.at(when, lambda: self._arrive(connection, at, piece))

    def _arrive(self, connection: WorldConnection, at: int, piece: bytes) -> None:
        source, target = connection.ends[at], connection.ends[1 - at]
        if connection.is_swallowed and not connection.is_on_host:
            return
        if not connection.is_on_host and self.is_cut(source.host, target.host):
            until = self.line(source.host, target.host).cut_until
            if until < NEVER:  # it is sent again
                target.arrives_at = max(target.arrives_at, until + 0.2)
                again = target.arrives_at
                self._world.at(again, lambda: self._arrive(connection, at, piece))
            return
        target.coming -= len(piece)
        if target.life in (EndLife.BROKEN, EndLife.CLOSED):
            if piece and source.life is EndLife.OPEN:  # nobody reads that
                delay = self._delay(target, source)
                self._break_later(connection, at, errno.ECONNRESET, delay)
            self._forget(connection)
            return
        if piece:
            target.received += piece
            self._confirm(connection, at, len(piece))
        else:
            target.has_ended = True
            self._note(source.owner, "has closed its connection", target.owner)
        self._ready(target.owner)

    def _confirm(self, connection: WorldConnection, at: int, size: int) -> None:
        source, target = connection.ends[at], connection.ends[1 - at]

        def confirmed() -> None:
            if not connection.is_on_host and self.is_cut(target.host, source.host):
                until = self.line(target.host, source.host).cut_until
                if until < NEVER and source.life is EndLife.OPEN:
                    self._world.at(until + 0.2, confirmed)
                return
            was_full = len(source.unsent) + source.unconfirmed >= self.room
            source.unconfirmed -= size
            self._carry(connection, at)
            if was_full:
                self._ready(source.owner)

        self._world.at(self._world.now + self._delay(target, source), confirmed)

    def _delay(self, source: ConnectionEnd, target: ConnectionEnd) -> float:
        if source.host == target.host:
            return _ON_HOST
        return self.line(source.host, target.host).latency * self._rng.uniform(1.0, 1.2)

    # --- ends of connections ----------------------------------------------------------------------

    def _break_later(self, connection: WorldConnection, at: int, error: int, delay: float) -> None:
        """Let one end fail after a while, if the line lets the word of it through."""
        source, target = connection.ends[1 - at], connection.ends[at]

        def arrive() -> None:
            is_own = error == errno.ETIMEDOUT or connection.is_swallowed
            if not (connection.is_on_host or is_own) and self.is_cut(source.host, target.host):
                target.misses_reset = True
                return
            self._break(connection, at, error)

        self._world.at(self._world.now + delay, arrive)

    def _break(self, connection: WorldConnection, at: int, error: int) -> None:
        end = connection.ends[at]
        if end.life in (EndLife.CONNECTING, EndLife.OPEN):
            end.life, end.error = EndLife.BROKEN, error
            end.unsent.clear()
            if error == errno.ETIMEDOUT:
                self._probe_later(connection, 1 - at)
            self._note(end.owner, f"finds a connection broken: {errno.errorcode[error]}")
            self._ready(end.owner)
        self._forget(connection)

    def _watch_silence(self, connection: WorldConnection) -> None:
        """Let each end be given up by its system if nothing comes through for long enough."""
        if connection.is_on_host:
            return
        for at in (0, 1):
            wait = self.silence * self._rng.uniform(1.0, 1.3)
            begun = self._world.now
            self._world.at(begun + wait, lambda at=at: self._look_for_silence(connection, at))  # type: ignore[misc]

    def _probe_later(self, connection: WorldConnection, at: int) -> None:
        """Let the other end find out by its probes that nobody knows the connection any more."""
        wait = self.silence * self._rng.uniform(0.3, 1.0)

        def look() -> None:
            here, there = (one.host for one in connection.ends)
            if self.is_cut(here, there) or self.is_cut(there, here):
                self._world.at(self._world.now + wait, look)
            elif connection.ends[at].life is EndLife.OPEN:
                self._break(connection, at, errno.ECONNRESET)

        self._world.at(self._world.now + wait, look)

    def _look_for_silence(self, connection: WorldConnection, at: int) -> None:
        here, there = (one.host for one in connection.ends)
        is_silent = connection.is_swallowed or self.is_cut(here, there) or self.is_cut(there, here)
        if is_silent and connection.ends[at].life is EndLife.OPEN:
            self._break(connection, at, errno.ETIMEDOUT)

    def _watch_room(self, connection: WorldConnection, at: int) -> None:
        """Let a system give up a connection between hosts whose other end reads nothing."""
        if connection.is_on_host:
            return
        target = connection.ends[1 - at]
        since = target.is_full_since

        def look() -> None:
            if since is not None and target.is_full_since == since:
                self._break(connection, at, errno.ETIMEDOUT)

        self._world.at(self._world.now + self.silence, look)

    def look_after(self, connection: WorldConnection, at: int) -> None:
        """Give up an end as its own options say, from now on."""
        end, other = connection.ends[at], connection.ends[1 - at]
        if end.life not in (EndLife.CONNECTING, EndLife.OPEN):
            return
        now, since = self._world.now, self._silent_since(connection, at)
        is_known = other.life is not EndLife.BROKEN and not end.misses_reset
        if since is None and not is_known:  # a system that knows nothing of it answers a probe so
            self._break(connection, at, errno.ECONNRESET)
            return
        is_idle = not (end.unsent or end.unconfirmed)
        if end.user_timeout and not is_idle:
            waits = [one for one in (since, other.is_full_since) if one is not None]
            limit = end.user_timeout
        else:
            waits = [] if since is None else [since]
            limit = end.keepalive if is_idle else _LAST_RETRY
        if waits and now - min(waits) >= limit:
            self._break(connection, at, errno.ETIMEDOUT)
        self._world.at(now + _OFTEN, lambda: self.look_after(connection, at))

    def answers(self, connection: WorldConnection, at: int) -> tuple[int, int, int]:
        """Return how much a host has not answered, not confirmed, and since when it is silent."""
        since, end = self._silent_since(connection, at), connection.ends[at]
        if since is None:
            return 0, int(end.unconfirmed > 0), 0
        silent = self._world.now - since
        return int(silent > _FIRST_PROBE), int(end.unconfirmed > 0), int(silent * 1000)

    def _silent_since(self, connection: WorldConnection, at: int) -> float | None:
        """Return since when nothing comes from the other host, None if it would answer."""
        here, there = connection.ends[at].host, connection.ends[1 - at].host
        lines = self.line(here, there), self.line(there, here)
        cut = [one.cut_since for one in lines if one.cut_until > self._world.now]
        return None if connection.is_on_host else min(cut, default=None)

    def _forget(self, connection: WorldConnection) -> None:
        if all(one.life is EndLife.CLOSED or not one.owner for one in connection.ends):
            self.connections.pop(connection.number, None)

    def _ready(self, owner: str) -> None:
        if owner:
            self._world.tell(owner, Ready())

    def _note(self, who: str, what: str, to: str = "") -> None:
        self._world.tape.note(self._world.now, who, what, to)

    # --- for faults -------------------------------------------------------------------------------

    def when(self, at: float, call: Callable[[], None]) -> None:
        """Let a fault happen at a time."""
        self._world.at(at, call)
