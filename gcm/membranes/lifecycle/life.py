"""The life of one component as a value that changes: its state, its gate, and whose turn it is.

A *turn* is the time in which one thread starts or stops components together. Turns are claimed for
all their components at once or for none, so two threads never start or stop one of them both.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, cast

from gcm.components.controller import Controller
from gcm.errors import IllegalLifeCycleError
from gcm.membranes.lifecycle.states import State
from gcm.membranes.lifecycle.stopping import queue_of, wait_until_quiet
from gcm.records import dataclass

if TYPE_CHECKING:
    from gcm.components.model import Component


class Turn:
    """The time in which one thread starts or stops components, until their hooks have run."""

    __slots__ = ("_over", "_thread")

    def __init__(self) -> None:
        self._thread = threading.get_ident()
        self._over = threading.Event()

    def is_mine(self) -> bool:
        """Return whether it belongs to the calling thread."""
        return threading.get_ident() == self._thread

    def wait(self, timeout: float) -> bool:
        """Wait until it is over, however it ended; return False on timeout."""
        return self._over.wait(timeout)

    def end(self, parts: Iterable[Component]) -> None:
        """Let other threads have their turn with `parts`."""
        for part in parts:
            life_of(part).leave(self)
        self._over.set()


class Life(Controller):
    """What starts and stops change of one component; `LifeCycleController` decides when.

    Its methods are called by the thread whose turn it is.
    """

    __slots__ = (
        "_changed",
        "_draining",
        "_state",
        "closed_since",
        "hold_timeout",
        "start_timeout",
        "stop_timeout",
        "stopped_by",
        "turn",
    )

    __not_operations__ = Controller.__not_operations__ | {
        "arrive",
        "close",
        "drain",
        "leave",
        "open",
        "settle",
    }

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._state = State.STOPPED
        self.stopped_by: threading.Thread | None = None
        self._changed: threading.Condition | None = None
        self._draining: frozenset[Component] = frozenset()
        self.turn: Turn | None = None
        self.closed_since = 0.0
        self.start_timeout = 30.0
        self.stop_timeout = 30.0
        self.hold_timeout = 60.0

    def _is_others(self) -> bool:
        """Return whether another thread is starting or stopping the component."""
        return self.turn is not None and not self.turn.is_mine()

    @property
    def _condition(self) -> threading.Condition:
        """The condition variable of waiting calls, made by the first of them."""
        with _CONDITIONS:
            if self._changed is None:
                self._changed = threading.Condition()
            return self._changed

    def open(self) -> None:
        """Accept calls."""
        self._draining = frozenset()
        self._set(self._state, admits=True)
        if queue := queue_of(self.component):
            queue.resume()

    def arrive(self) -> None:
        """Become started, now that everything that starts together is open."""
        self._set(State.STARTED, admits=True)

    def leave(self, turn: Turn) -> None:
        """Record that `turn` is over."""
        if self.turn is turn:
            self.turn = None

    def close(self, falling: frozenset[Component]) -> None:
        """Hold calls from outside `falling`."""
        self._draining = falling
        self.closed_since = time.monotonic()
        if queue := queue_of(self.component):
            queue.allow(False)
        self._set(State.STOPPING, admits=False)

    def settle(self, state: State = State.STOPPED) -> None:
        """Become stopped or terminated; calls that wait at the gate look again."""
        self._draining = frozenset()
        if queue := queue_of(self.component):
            queue.allow(False)
        self._set(state, admits=False)

    def _set(self, state: State, *, admits: bool) -> None:
        self._state = state
        if self.component.membrane.admits_calls is not admits:
            self.component.membrane.admits_calls = admits
            self.component.wire_servers()
        if self._changed is not None:
            with self._changed:
                self._changed.notify_all()

    def drain(self, falling: frozenset[Component]) -> None:
        """Wait until nothing runs inside `falling`.

        Raises:
            IllegalLifeCycleError: that takes longer than `stop_timeout`.
        """
        busy = wait_until_quiet(falling, self.stop_timeout)
        if busy:
            raise IllegalLifeCycleError(
                f"cannot stop within {self.stop_timeout} s: " + "; ".join(busy),
                component=self.component.path,
                state=self._state,
                cure="It runs on. Let these calls end, or raise `stop_timeout` of its "
                "lifecycle controller",
            )


def life_of(component: Component) -> Life:
    """Return the life cycle controller of a component that starts or stops with others."""
    return cast("Life", component.membrane.lifecycle)


_CONDITIONS = threading.Lock()
_CLAIMS = threading.Lock()


@dataclass(frozen=True, slots=True)
class Seen:
    """The state in which a part was seen, and whose turn it was."""

    part: Component
    turn: Turn | None
    state: State

    @property
    def is_rising(self) -> bool:
        """Whether the part runs, or is just being started by the calling thread."""
        mine = self.state is State.STARTING and self.turn is not None and self.turn.is_mine()
        return self.state is State.STARTED or mine

    @property
    def is_starting_elsewhere(self) -> bool:
        """Whether another thread is just starting the part."""
        others = self.turn is not None and not self.turn.is_mine()
        return self.state is State.STARTING and others


def look_at(parts: Collection[Component]) -> list[Seen]:
    """Look at each of `parts` once, so that all conclusions are consistent."""
    with _CLAIMS:  # the turn first: meanwhile turns can end, but none can begin
        return [Seen(part, life_of(part).turn, life_of(part)._state) for part in parts]


def claim(parts: Collection[Component], state: State, claimed: State, turn: Turn) -> bool:
    """Change all of `parts` from `state` to `claimed`, or none if one is in another state."""
    with _CLAIMS:
        if any(life_of(part)._state is not state or life_of(part)._is_others() for part in parts):
            return False
        for part in parts:
            life_of(part)._state = claimed
            life_of(part).turn = turn
    return True
