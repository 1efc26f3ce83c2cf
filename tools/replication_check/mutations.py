"""Protocols that are wrong in one point, each of which the check has to find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from runtime.replicas.arrivals import Arrivals
from runtime.replicas.core import Replication
from runtime.replicas.decisions import Decisions
from runtime.replicas.effects import Effect, Lead, Transmit
from runtime.replicas.sends import Sends


@dataclass(frozen=True)
class Mutation:
    """One method that does something else; `size` names a run that shows what is wrong with it."""

    owner: type[Any]
    method: str
    change: Callable[[Callable[..., Any]], Callable[..., Any]]
    """From the method as it is to the wrong one."""
    size: str
    breaks: str
    """The property that does not hold then."""
    is_quick: bool = True
    """Whether it is found within a few seconds."""

    @contextmanager
    def planted(self) -> Iterator[None]:
        """Let the code be wrong for a while."""
        right: Any = self.owner.__dict__[self.method]
        is_property = isinstance(right, property)
        wrong = self.change(right.__get__ if is_property else right)
        setattr(self.owner, self.method, property(wrong) if is_property else wrong)
        try:
            yield
        finally:
            setattr(self.owner, self.method, right)


def _commits_at_once(right: Callable[..., Any]) -> Callable[..., Any]:
    def transmit_one(sends: Sends, stream: Any, number: int, message: Any) -> list[Effect]:
        effects: list[Effect] = right(sends, stream, number, message)
        for effect in effects:
            if isinstance(effect, Transmit):
                for process in effect.to:
                    sends.acknowledged(process, 10**6)
        return effects

    return transmit_one


def _nothing(right: Callable[..., Any]) -> Callable[..., Any]:
    del right
    return lambda *_: []


def _delivers_all(right: Callable[..., Any]) -> Callable[..., Any]:
    def is_new(here: Arrivals, process: int, stream: Any, number: int) -> bool:
        right(here, process, stream, number)
        return True

    return is_new


def _drops_the_backup(right: Callable[..., Any]) -> Callable[..., Any]:
    def lead(core: Replication) -> list[Effect]:
        core._sends.backup.clear()
        effects: list[Effect] = right(core)
        return effects

    return lead


def _the_last_first(right: Callable[..., Any]) -> Callable[..., Any]:
    def transmit(sends: Sends, settled: int) -> list[Effect]:
        sends.backup = dict(reversed(sends.backup.items()))
        effects: list[Effect] = right(sends, settled)
        return effects

    return transmit


def _asks_nobody(right: Callable[..., Any]) -> Callable[..., Any]:
    def succeed(core: Replication, dead: int) -> list[Effect]:
        right(core, dead)
        core._unheard = set()
        return [*core._lead()]

    return succeed


def _does_not_wait(right: Callable[..., Any]) -> Callable[..., Any]:
    def add(decisions: Decisions, made: Any) -> None:
        right(decisions, made)
        decisions.settled = decisions.made

    return add


def _listens_to_the_dead(right: Callable[..., Any]) -> Callable[..., Any]:
    def hear(core: Replication, process: int, word: Any) -> list[Effect]:
        if word[0] in ("decision", "committed") and not core.leads and not core._unheard:
            core._master = process
        effects: list[Effect] = right(core, process, word)
        return effects

    return hear


def _does_not_say_lead(right: Callable[..., Any]) -> Callable[..., Any]:
    def lead(core: Replication) -> list[Effect]:
        effects: list[Effect] = right(core)
        core.leads = False
        return [one for one in effects if not isinstance(one, Lead)]

    return lead


def _always(right: Callable[..., Any]) -> Callable[..., Any]:
    del right
    return lambda _: True


def _anybody(right: Callable[..., Any]) -> Callable[..., Any]:
    del right
    return lambda _: tuple(range(9))


def _asks_no_newcomer(right: Callable[..., Any]) -> Callable[..., Any]:
    def join(core: Replication, newcomers: Any) -> list[Effect]:
        leads = core.leads
        effects: list[Effect] = right(core, newcomers)
        if leads:
            core.leads, core._unheard = True, set()
        return [] if leads else effects

    return join


MESSAGE = "one message"
ANY = "from any of two"
TAGS = "two tags in the order of the program"
TEST = "a test before an answer"
JOINS = "one joins a single one"

MUTATIONS = {
    "commits when sent, not when acknowledged": Mutation(
        Sends, "transmit_one", _commits_at_once, MESSAGE, "no deadlock"
    ),
    "does not resend what is not committed": Mutation(
        Replication, "_lead", _drops_the_backup, MESSAGE, "no"
    ),
    "never commits": Mutation(Sends, "commit", _nothing, MESSAGE, "nothing left"),
    "delivers what was delivered": Mutation(Arrivals, "is_new", _delivers_all, MESSAGE, "once"),
    "sends what is left in another order": Mutation(
        Sends, "transmit", _the_last_first, TAGS, "same order"
    ),
    "tells no old commits as a new master": Mutation(
        Sends, "commit_all", _nothing, MESSAGE, "nothing left"
    ),
    "never becomes the master": Mutation(
        Replication, "_lead", _does_not_say_lead, ANY, "no deadlock"
    ),
    "asks nobody as a new master": Mutation(
        Replication, "_succeed", _asks_nobody, TEST, "same order", is_quick=False
    ),
    "tells no old decisions as a new master": Mutation(
        Decisions, "teach", _nothing, TEST, "nothing left", is_quick=False
    ),
    "sends before decisions are settled": Mutation(
        Decisions, "_add", _does_not_wait, TEST, "no ghosts", is_quick=False
    ),
    "listens to a master that has a successor": Mutation(
        Replication, "hear", _listens_to_the_dead, TEST, "same order", is_quick=False
    ),
    "hands over what may still be lost": Mutation(
        Replication, "may_hand_over", _always, JOINS, "no"
    ),
    "lets one join that does not wait": Mutation(
        Replication, "ready", _anybody, "one joins when it can", "no deadlock"
    ),
    "asks nobody who has joined": Mutation(
        Replication,
        "join",
        _asks_no_newcomer,
        "one joins, then a test",
        "nothing left",
        is_quick=False,
    ),
}
