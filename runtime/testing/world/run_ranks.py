"""A process of a rank in the world of a run: a stub that follows its script."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from runtime.collectives.recovery_modes import MOST_TRIES
from runtime.machine.contracts import CONTRACTS, Appeals, Control, Health, Membership, Views
from runtime.machine.deaths import BY_REQUEST, Observation, RankDeath, Witness
from runtime.membership.whereabouts import RankArrival
from runtime.rank_name import RankName
from runtime.testing.world.engine import Actor, ActorBegun, CallDue, Due, Effect, Event, WakeAt
from runtime.testing.world.run_front_end import pid_of, process_of
from runtime.testing.world.run_load import Ending, RankScript, RunKind
from runtime.testing.world.run_told import (
    DoubtFelt,
    LossSeen,
    ProcessEnded,
    RankCalled,
    RankHungUp,
    RankMayEnd,
    SpawnRank,
)
from runtime.testing.world.told import TellActor, front_end_of
from runtime.transport.keys import parsed

_LOSS_IS_SEEN = 0.02
"""Seconds after which a program that needs a lost rank fails."""

_PIECES = 8
"""In so many blocks a rank writes its output."""


class ScriptedRank(Actor):
    """One process of a rank."""

    def __init__(
        self, start: SpawnRank, script: RankScript, kind: RunKind, asks_after: float,
        rng: random.Random,
    ) -> None:  # fmt: skip
        super().__init__(process_of(start.rank, start.incarnation))
        self.rank = start.rank
        self.incarnation = start.incarnation
        self.host = start.host
        self.script = script
        self.ended_at: float | None = None
        self.wrote = 0
        self.began_at: float | None = None
        self.is_whole = False
        """Whether its program has come to an end of its own: nobody has stopped it as it wrote."""
        self.limits: list[tuple[float, float]] = []
        """When it was told that its time is limited, and when it ends."""
        self._kind = kind
        self._asks_after = asks_after
        self._rng = rng
        self._due: list[tuple[float, str, Any]] = []
        self._front_end = front_end_of(RankName.parse(start.rank).cluster)
        self._needs: set[str] = set()
        self._tries: Counter[str] = Counter()

    @property
    def is_over(self) -> bool:
        """Whether its process has ended."""
        return self.ended_at is not None

    def waits_for(self) -> str:
        """Say for what it waits."""
        return "to be let run" if self.began_at is None else f"for its end: {self._due[:3]}"

    def handle(self, event: Event, now: float) -> Sequence[Effect]:
        """Let something happen to it."""
        if self.is_over:
            return ()
        effects = list(self._handle(event, now))
        if not self.is_over:
            effects.append(WakeAt(min((at for at, _, _ in self._due), default=None)))
        return effects

    def _handle(self, event: Event, now: float) -> Iterator[Effect]:
        match event:
            case ActorBegun():
                yield self._call("", "")
                self._later(now + self._rng.uniform(0.0, 0.05), "ready")
            case RankMayEnd(interface, operation, args):
                yield from self._told(interface, operation, args, now)
            case DoubtFelt(rank, ends):
                if self.began_at is not None:
                    words = (rank,) if ends else (rank, "no route leads there")
                    operation = "trusts" if ends else "suspects"
                    yield self._call(CONTRACTS[Appeals], operation, self.name, *words)
            case LossSeen(rank):
                is_hit = self.script.misses and self.script.sees and self.began_at is not None
                if is_hit and self._kind is RunKind.PLAIN:
                    self._later(now, "miss", rank)
            case Due() | CallDue():
                for one in sorted(one for one in self._due if one[0] <= now):
                    if not self.is_over:
                        self._due.remove(one)
                        yield from self._do(one[1], one[2], now)
            case _:
                pass

    def _call(self, interface: str, operation: str, *args: Any) -> TellActor:
        told = RankCalled(self.rank, self.incarnation, interface, operation, args)
        return TellActor(self._front_end, told)

    def _later(self, at: float, what: str, value: Any = None) -> None:
        self._due.append((at, what, value))

    # --- what it is told --------------------------------------------------------------------------

    def _told(
        self, interface: str, operation: str, args: tuple[Any, ...], now: float
    ) -> Iterator[Effect]:
        if (interface, operation) == (CONTRACTS[Control], "go"):
            yield from self._begin(now)
        elif (interface, operation) == (CONTRACTS[Control], "stop"):
            self._later(now + self._rng.choice((0.001, 0.05)), "stopped")
        elif (interface, operation) == (CONTRACTS[Control], "limit_time"):
            self.limits.append((now, now + args[0]))
        elif (interface, operation) == (CONTRACTS[Views], "lost"):
            for plain in args[0]:
                self._hear_of_loss(plain, now)

    def _begin(self, now: float) -> Iterator[Effect]:
        self.began_at = now
        script = self.script
        for number in range(_PIECES if script.output else 0):
            size = script.output // _PIECES + (script.output % _PIECES if not number else 0)
            if size:
                self._later(now + script.seconds * (number + 1) / (_PIECES + 1), "write", size)
        self._later(now + script.seconds, "end")
        if self._kind is RunKind.SURVIVES:
            for rank in sorted(self._needs):
                self._later(now + self._asks_after, "ask", rank)
        yield from ()

    def _hear_of_loss(self, plain: dict[str, Any], now: float) -> None:
        named = {key: one for key, one in plain.items() if key not in ("lost_to", "told_to")}
        death = RankDeath.parse(named)
        mine = plain.get("lost_to", self.rank) == self.rank == plain.get("told_to", self.rank)
        if not mine or not death.code or death.after == BY_REQUEST:
            return
        if self._kind is RunKind.SURVIVES:
            member = death.who
            self._needs.add(member)
            if self.began_at is not None:
                self._later(now + self._asks_after, "ask", member)
        elif self._kind is RunKind.PLAIN and self.script.misses and self.began_at is not None:
            self._later(now + _LOSS_IS_SEEN, "miss", str(death.rank.place))

    # --- what it does -----------------------------------------------------------------------------

    def _do(self, what: str, value: Any, now: float) -> Iterator[Effect]:
        match what:
            case "ready":
                host = self.host or f"front-end of {RankName.parse(self.rank).cluster}"
                pid = pid_of(self.rank, self.incarnation)
                arrival = RankArrival(host, pid)
                yield self._call(CONTRACTS[Membership], "ready", self.rank, [arrival.plain])
            case "write":
                self.wrote += value
                yield TellActor(self._front_end, _written(self.rank, self.incarnation, value))
            case "ask":
                yield from self._ask(value)
            case "miss":
                lost = (RankName.parse(value),)
                seen = Observation(
                    Witness.RANK, 1, exception=f"ProcessGone: {value}", lost=lost, is_loss=True
                )
                operation = "aborted" if self.script.is_in_c else "ended"
                yield from self._tell_end(operation, seen, now, 1 << 8)
            case "stopped":
                yield from self._exit(now, 15)
            case "end":
                yield from self._end(now)

    def _ask(self, member: str) -> Iterator[Effect]:
        """Ask for another process, as often as a recovery does; then go on without."""
        rank = parsed(member)[0]
        self._tries[rank] += 1
        if self._tries[rank] <= MOST_TRIES:
            yield self._call(CONTRACTS[Appeals], "replace", self.name, [member])

    def _end(self, now: float) -> Iterator[Effect]:
        script = self.script
        self.is_whole = True
        match script.ending:
            case Ending.RETURNS:
                yield from self._tell_end("ended", Observation(Witness.RANK, 0), now, 0)
            case Ending.RAISES:
                seen = Observation(Witness.RANK, script.code, exception="ValueError: wrong")
                yield from self._tell_end("ended", seen, now, script.code << 8)
            case Ending.ABORTS:
                seen = Observation(Witness.RANK, script.code)
                yield from self._tell_end("aborted", seen, now, script.code << 8)
            case Ending.EXITS:
                yield from self._exit(now, script.code << 8)

    def _tell_end(
        self, operation: str, seen: Observation, now: float, status: int
    ) -> Iterator[Effect]:
        yield self._call(CONTRACTS[Health], operation, self.rank, seen.plain)
        yield from self._exit(now, status)

    def _exit(self, now: float, status: int) -> Iterator[Effect]:
        self.ended_at = now
        yield TellActor(self._front_end, RankHungUp(self.rank, self.incarnation))
        yield ProcessEnded(self.name, status)


def _written(rank: str, incarnation: int, size: int) -> Event:
    return RankCalled(rank, incarnation, "output", "written", (size,))
