"""A rank in a simulated world: production's peers, driven by events, under a small program."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property
from struct import Struct
from typing import Any, cast

from gcm.records import dataclass
from runtime.machine.contracts import Routes
from runtime.machine.deaths import Observation, Witness
from runtime.rank_name import RankName
from runtime.testing.world.engine import Actor, ActorBegun, Effect, Event, WakeAt
from runtime.testing.world.load import Pause, ProgramMessage
from runtime.testing.world.sockets import WorldProcess
from runtime.testing.world.told import (
    Come,
    EndAsked,
    EndsTold,
    RankSaid,
    Released,
    SuspicionTold,
    TellActor,
    front_end_of,
)
from runtime.topology import Grid
from runtime.transport.credentials import Credentials
from runtime.wire.dialling.directory import Party, RankDirectory
from runtime.wire.dialling.routed import RoutedConnector
from runtime.wire.errors import PeerLeft, PeerLost
from runtime.wire.rank_peers import RankPeers
from runtime.wire.stream.messages import Incoming, Outgoing

SECRET = b"a secret of a simulated world"

_HEAD = Struct("<QQ")  # the number of the step, and the size
_SOON = 2e-6
"""Seconds that a process needs until it looks at its descriptors again."""

_LOOKS = 1.0
"""Seconds after which a rank that waits for another one sees to it that its loss is noticed."""


@dataclass(frozen=True, slots=True)
class Ended(Effect):
    """The process of a rank ends by itself, with an exit code, and why if that is not 0."""

    code: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Deaf(Effect):
    """The process does nothing but compute for so many seconds."""

    seconds: float


def payload_of(number: int, size: int) -> bytes:
    """Return what the message of a step carries."""
    unit = bytes((number * 7 + step * 31) % 251 for step in range(251))
    return (unit * (size // 251 + 1))[:size]


class _WorldPeers(RankPeers):
    """The peers of a rank, driven by the events of its actor."""

    def __init__(self, process: WorldProcess, *args: Any, **kwargs: Any) -> None:
        self._process = process
        self.now = self._read_time
        self.watch_descriptor = process.watch
        self.is_due = False
        self.tick_soon = self._tick_soon
        super().__init__(*args, random=process.random, **kwargs)

    def _read_time(self) -> float:
        return self._process.now

    def _tick_soon(self) -> None:
        self.is_due = True


@dataclass(frozen=True, slots=True)
class RankStart:
    """What a rank knows when it begins: itself, all others, and the machine."""

    index: int
    parties: tuple[Party, ...]
    grid: Grid
    silence: float
    resume_timeout: float


class RankActor(Actor):
    """One rank: it plays its part of the program, says goodbye, and ends."""

    def __init__(
        self,
        process: WorldProcess,
        place: RankStart,
        program: Sequence[tuple[int, ProgramMessage | Pause]],
    ) -> None:
        super().__init__(process.name)
        self.process = process
        self.place = place
        self.received: list[tuple[int, bytes]] = []
        """The steps whose messages have come, in their order, with what they carried."""
        self.losses: dict[int, PeerLost] = {}
        self.unfair_losses: list[tuple[int, str]] = []
        """Why peers were lost while the program ran, other than by ending in order."""
        self.code: int | None = None
        self.why = ""
        self._steps = deque(program)
        self._came: dict[int, deque[Incoming]] = {}
        self._sent: list[tuple[int, Outgoing]] = []
        self._buffers: dict[int, bytearray] = {}
        self._wanted: tuple[int, int] | None = None  # the step and the source of a receive
        self._taken: Incoming | None = None
        self._awaited: Outgoing | None = None
        self._until: float | None = None
        self._since = 0.0
        self._deadline: float | None = None
        self._is_leaving = False
        self._is_released = False

    @cached_property
    def peers(self) -> _WorldPeers:
        """Its peers, once it has begun."""
        place, process = self.place, self.process
        me = place.parties[place.index]
        directory = RankDirectory(place.parties)
        credentials = Credentials(SECRET, me.member)
        connector = RoutedConnector(
            place.index,
            directory,
            credentials,
            place.grid,
            front_ends={},
            peers=self._routes_of,
            share=lambda _: None,
            system=process,
        )
        made = _WorldPeers(
            process,
            place.index,
            directory,
            self,
            connector,
            listeners=[process.listen(one) for one in me.addresses],
            credentials=credentials,
            silence=place.silence,
            resume_timeout=place.resume_timeout,
        )
        made.suspect = self._suspect
        made.ask_for_end = self._ask_for_end
        return made

    @property
    def is_running(self) -> bool:
        """Whether its program runs."""
        return self._is_released and not self._is_leaving

    def _suspect(self, peer: int, why: PeerLost | None) -> None:
        parties, me = self.place.parties, self.place.index
        told = SuspicionTold(parties[me].member, parties[peer].member, str(why or ""))
        self._tell_front_end(told)

    def _ask_for_end(self, peer: int) -> None:
        parties, me = self.place.parties, self.place.index
        self._tell_front_end(EndAsked(parties[me].member, parties[peer].member))

    def _tell_front_end(self, told: Event) -> None:
        front_end = front_end_of(RankName.parse(self.name).cluster)
        self.process.do(TellActor(front_end, told))

    def _handle_told(self, event: Event) -> None:
        """Take in what is not about descriptors or the time, as the shell of a rank does."""
        if isinstance(event, ActorBegun):
            self._tell_front_end(RankSaid(self.name, "here"))
            self._tell_front_end(RankSaid(self.name, "ready"))
        elif isinstance(event, Released):
            self._is_released = True
        elif isinstance(event, Come):
            found = self.peers.index_of(event.by)
            if found is not None:
                self.peers.watch(found)
        elif isinstance(event, EndsTold):
            self._hear_of_end(event)

    def _hear_of_end(self, event: EndsTold) -> None:
        death = event.death
        index = self.peers.index_of(str(death.rank.place))
        if index in (None, self.place.index):
            return
        if event.lost_to == self.name:
            self.peers.confirm(index)
        elif not event.lost_to and event.told_to in ("", self.name):
            kind = PeerLost if death.code else PeerLeft
            self.peers.explain(index, kind(f"{death.who} {death.how}"))

    def _routes_of(self, peer: int) -> Routes:
        name = self.place.parties[peer].name
        return cast("Routes", _Asked(lambda: self.process.do(TellActor(name, Come(self.name)))))

    # --- as an actor ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.code is not None

    def waits_for(self) -> str:
        """Say for what it waits."""
        if self._is_leaving:
            return "at its end for " + ", ".join(self.peers.awaited())
        if self._wanted is not None:
            step, source = self._wanted
            opening = self.peers.describe_opening(source)
            return f"for message {step} of {self.place.parties[source].name} {opening}"
        unsent = [number for number, one in self._sent if not one.done]
        return f"until messages {unsent} have gone" if unsent else f"until {self._until}"

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to it."""
        if self.is_over:
            return ()
        self.process.now = now
        self._handle_told(event)
        peers = self.peers
        self.process.progress()
        self._see_to_what_is_due(now)
        self._go_on(now)
        if peers.is_due:
            self._see_to_what_is_due(now)
        effects = self.process.effects()
        if self.code is not None:
            return [*effects, Ended(self.code, self.why)]
        return [*effects, *self._deaf(), WakeAt(self._next(now))]

    def _see_to_what_is_due(self, now: float) -> None:
        peers = self.peers
        if peers.is_due or (self._deadline is not None and now >= self._deadline):
            late = 0.0 if self._deadline is None else max(0.0, now - self._deadline)
            peers.is_due = False
            self._deadline = peers.look_after(now, late)

    def _next(self, now: float) -> float | None:
        if self.peers.is_due or self.process.ready():
            return now + _SOON
        times = [self._deadline, self._until]
        if self._wanted is not None and now < self._since + _LOOKS:
            times.append(self._since + _LOOKS)
        return min((max(one, now + _SOON) for one in times if one is not None), default=None)

    def _deaf(self) -> list[Effect]:
        deaf, self._deaf_for = self._deaf_for, 0.0
        return [Deaf(deaf)] if deaf else []

    _deaf_for = 0.0

    # --- its program ------------------------------------------------------------------------------

    def _go_on(self, now: float) -> None:
        """Do as many steps as can be done."""
        try:
            while self.is_running and self._has_done(now):
                if not self._steps:
                    self._is_leaving = all(one.done for _, one in self._sent)
                    break
                self._begin(*self._steps.popleft(), now)
        except PeerLost as fault:
            self.why, self._is_leaving = str(fault), True
        if self._is_leaving and self.peers.leave():
            self.peers.hang_up()
            self.code = int(bool(self.why))
            self._tell_end()
            self._tell_front_end(RankSaid(self.name, "left"))

    def _tell_end(self) -> None:
        """Tell how the program has ended; as in production its peers may have seen it before."""
        lost = tuple(RankName.parse(self.place.parties[one].name) for one in self.losses)
        end = Observation(Witness.RANK, 0)
        if self.why:
            end = Observation(Witness.RANK, 1, exception=self.why, lost=lost, is_loss=True)
        self._tell_front_end(RankSaid(self.name, "ended", end))

    def _has_done(self, now: float) -> bool:
        """Tell whether the step is done that was begun last; raises PeerLost if it never will."""
        for _, one in self._sent:
            if one.done and one.error is not None:
                raise one.error
        self._sent = [each for each in self._sent if not each[1].done]
        if self._until is not None:
            if now < self._until:
                return False
            self._until = None
        if self._awaited is not None:
            if not self._awaited.done:
                return False
            self._awaited = None
        return self._wanted is None or self._has_received(now)

    def _has_received(self, now: float) -> bool:
        assert self._wanted is not None
        _, source = self._wanted
        if self._taken is None:
            waiting = self._came.get(source, deque())
            found = next((one for one in waiting if self._is_wanted(one)), None)
            if found is not None:
                waiting.remove(found)
                self._match(found)
        if self._taken is None or not self._taken.done:
            if source in self.losses:
                raise self.losses[source]
            if now >= self._since + _LOOKS:
                self.peers.watch(source)
            return False
        number, _ = _HEAD.unpack(self._taken.head)
        self.received.append((number, bytes(self._taken.payload or b"")))
        self._taken = self._wanted = None
        return True

    def _begin(self, number: int, step: ProgramMessage | Pause, now: float) -> None:
        self._since = now
        if isinstance(step, Pause):
            self._until = now + step.seconds
            self._deaf_for = step.seconds if step.is_deaf else 0.0
        elif step.source == self.place.index:
            data = memoryview(bytearray(payload_of(number, step.size)))
            head = _HEAD.pack(number, step.size)
            views = [data] if step.size else []
            sent = self.peers.send(step.target, head, views, sync=step.is_awaited)
            if not step.is_notice:  # whether that arrives is nobody's affair
                self._sent.append((number, sent))
            if step.is_awaited:
                self._awaited = sent
        else:
            self._wanted = number, step.source

    def _is_wanted(self, incoming: Incoming) -> bool:
        number, _ = _HEAD.unpack(incoming.head)
        return self._wanted == (number, incoming.source)

    def _match(self, incoming: Incoming) -> None:
        self._taken = incoming
        if incoming.size and incoming.number % 2:
            incoming.give(memoryview(bytearray(incoming.size)))
        else:
            incoming.take()

    # --- as a sink --------------------------------------------------------------------------------

    def arrived(self, incoming: Incoming) -> None:
        """Take a message that somebody waits for, or keep it."""
        if self._taken is None and self._is_wanted(incoming):
            self._match(incoming)
        else:
            self._came.setdefault(incoming.source, deque()).append(incoming)

    def completed(self, incoming: Incoming) -> None:
        """Do nothing: the program looks by itself."""

    def lost(self, peer: int, why: Exception) -> None:
        """Remember who is lost."""
        assert isinstance(why, PeerLost)
        self.losses[peer] = why
        if not (self._is_leaving or isinstance(why, PeerLeft)):
            self.unfair_losses.append((peer, str(why)))


class _Asked:
    """What a rank asks of another one."""

    def __init__(self, come: Callable[[], None]) -> None:
        self._come = come

    def come(self, _: str) -> None:
        """Ask it to dial."""
        self._come()
