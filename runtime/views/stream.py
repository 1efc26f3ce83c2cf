"""The stream of the facts of a run: from who learns of them to who shows them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from runtime.shown_text import shown_lines
from runtime.topology import Part
from runtime.views.account import RunAccount
from runtime.views.facts import (
    CallsTraced,
    Fact,
    MessagesCounted,
    OutputWritten,
    RankSeen,
    Record,
    RunSeen,
)

T = TypeVar("T")

MOST_PAST = 100_000
"""So many facts are kept for those who follow a run from the middle on."""

_OF_THE_MOMENT = (OutputWritten, RankSeen, RunSeen, MessagesCounted, CallsTraced)


def nothing() -> None:
    """Do nothing: what is called once a fact is taken for which nobody waits."""


class FactListener(Protocol):
    """Whoever wants to know what a run does while it does it."""

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Take a fact, without waiting; called in order, by one thread.

        Call `taken`, from any thread, once nothing more has to be done about it: ranks whose
        output is not taken wait, so that only so much is ever on its way.
        """


class Silent:
    """A listener that takes no interest."""

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:  # noqa: ARG002
        """Take it."""
        taken()


class FactListeners:
    """Several listeners of one run; output counts as taken once all of them have taken it.

    The `account` of the run has heard all facts. Others can follow the run from the middle on: they
    get what has changed until then, but neither earlier output nor earlier looks.
    """

    def __init__(self, *listeners: FactListener) -> None:
        self.account = RunAccount()
        self._listeners = listeners
        self._lock = threading.Lock()
        self._past: deque[Fact] = deque(maxlen=MOST_PAST)
        self._followers: tuple[Callable[[Fact], None], ...] = ()

    def hear(self, fact: Fact, taken: Callable[[], None] = nothing) -> None:
        """Pass a fact on."""
        self.account.take(fact)
        with self._lock:
            if not isinstance(fact.record, _OF_THE_MOMENT):
                self._past.append(fact)
            for follower in self._followers:
                follower(fact)
        if len(self._listeners) > 1 and taken is not nothing:
            taken = _after(len(self._listeners), taken)
        for one in self._listeners:
            one.hear(fact, taken)

    def follow(self, hear: Callable[[Fact], None]) -> list[Fact]:
        """Call `hear` with each fact from now on, and return those until now; any thread may."""
        with self._lock:
            self._followers = (*self._followers, hear)
            return list(self._past)

    def leave(self, hear: Callable[[Fact], None]) -> int:
        """Call `hear` no more; return how many followers are left."""
        with self._lock:
            self._followers = tuple(one for one in self._followers if one != hear)
            return len(self._followers)


def _after(calls: int, then: Callable[[], None]) -> Callable[[], None]:
    """Return what calls another function when it is called the last time, from any thread."""
    left = iter(range(calls - 1, -1, -1))

    def count() -> None:
        if next(left) == 0:
            then()

    return count


class ListenerRaised(Exception):
    """A listener raised its cause: a fault of who runs the deployment, and of no member."""


class FactStream:
    """Gives the facts of a run their time, and passes them to a listener; for one thread.

    The `account` of the run has heard all of them.
    """

    def __init__(self, listener: FactListener, clock: Callable[[], float]) -> None:
        self.account = RunAccount()
        self._listener = listener
        self._clock = clock
        self._begun = clock()

    def since_begin(self, time: float) -> float:
        """Return the time of a fact that was at some time of the clock."""
        return time - self._begun

    def tell(self, name: Part, record: Record, taken: Callable[[], None] = nothing) -> None:
        """Tell a fact of now, cleaned; raises ListenerRaised."""
        is_output = isinstance(record, OutputWritten)
        fact = Fact(
            self._clock() - self._begun, str(name), record if is_output else cleaned(record)
        )
        self.account.take(fact)
        try:
            self._listener.hear(fact, taken)
        except Exception as fault:
            raise ListenerRaised from fault


def cleaned(value: T, clean: Callable[[str], str] = shown_lines) -> T:
    """Return a record with all its texts as they may be shown; they can have several lines.

    Another way to `clean` may allow only one.
    """
    made: Any = value
    if type(made) is str:  # members of enumerations stay what they are
        made = clean(made)
    elif isinstance(value, tuple):
        made = tuple(cleaned(one, clean) for one in value)
    elif isinstance(value, Mapping):
        made = {cleaned(name, clean): cleaned(one, clean) for name, one in value.items()}
    elif hasattr(value, "__dataclass_fields__"):
        made = type(value)(*(cleaned(getattr(value, one), clean) for one in made.__match_args__))
    return made  # type: ignore[no-any-return]
