"""The `lifecycle` controller: start, stop and terminate a component with everything inside it.

Stopping loses no request. While a component stops, calls that come from inside go on, so that what
is in flight can finish; calls from outside wait at the gate until the component runs again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from gcm.components.controller import Controller, Port
from gcm.errors import IllegalLifeCycleError
from gcm.interfaces.going_on import outside
from gcm.membranes.lifecycle.starting import (
    StartTurn,
    Turn,
    await_turn,
    hooked,
    life_of,
    raise_failures,
    tell,
)
from gcm.membranes.lifecycle.states import CURES, TRANSITIONS, State
from gcm.membranes.lifecycle.stopping import HeldPort, queue_of, wait_until_quiet
from gcm.membranes.requests.quiescence import comes_from_inside, is_inside
from gcm.membranes.tree import ending_with, inside_out, servers_first
from gcm.records import dataclass

if TYPE_CHECKING:
    from gcm.components.model import Component
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub


__all__ = ["TRANSITIONS", "LifeCycleController", "State"]


class LifeCycleController(Controller):
    """Owns the state of one component.

    `stop_timeout` bounds how long a stop waits for calls inside; `hold_timeout` bounds how long a
    call from outside waits for a stopped component to run again; `start_timeout` bounds how long a
    start waits for one that another thread has begun.
    """

    __slots__ = (
        "_changed",
        "_draining",
        "_state",
        "_stopped_by",
        "closed_since",
        "hold_timeout",
        "start_timeout",
        "stop_timeout",
        "turn",
    )
    name = "lifecycle"
    __not_operations__ = Controller.__not_operations__ | {
        "arrive",
        "bring_up",
        "close",
        "drain",
        "holding_port",
        "leave",
        "not_started_again",
        "open",
        "refuse_if_hopeless",
        "settle",
        "wait_until_open",
    }

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._state = State.STOPPED
        self._stopped_by: threading.Thread | None = None
        self._changed: threading.Condition | None = None
        self._draining: frozenset[Component] = frozenset()
        self.turn: Turn | None = None
        self.closed_since = 0.0
        self.start_timeout = 30.0
        self.stop_timeout = 30.0
        self.hold_timeout = 60.0

    def state(self) -> State:
        """Return the state of the component."""
        return self._state

    def is_started(self) -> bool:
        """Return whether the component accepts functional calls."""
        return self._state is State.STARTED

    def has_ended(self) -> bool:
        """Return whether the component is terminated."""
        return self._state is State.TERMINATED

    def start(self) -> None:
        """Start the component and everything inside it; starting a started one does nothing.

        Servers are told before their clients, and everybody before calls come in.

        Raises:
            IllegalLifeCycleError: something is missing, with every fault of the whole tree listed,
                or a `started` hook failed. Nothing is left half started. Or another thread is
                starting it and does not finish within `start_timeout`.
        """
        deadline = time.monotonic() + self.start_timeout
        while True:
            self._require("start")
            await_turn(self.component, deadline)
            seen = _look_at(inside_out(self.component))
            if any(one.is_starting_elsewhere for one in seen):
                continue  # that thread came after the wait, and is waited for like all others
            lacking = [one for one in seen if not one.is_rising]
            if not lacking:
                return
            faults = [f"{one.part.path}: {fault}" for one in lacking for fault in _faults(one)]
            if faults:
                raise IllegalLifeCycleError(
                    f"cannot start, {len(faults)} reason(s): " + "; ".join(faults),
                    component=self.component.path,
                    state=self._state,
                    cure="Nothing was started; fix this and start again",
                )
            rising = [one.part for one in lacking]
            start = StartTurn(rising)
            if _claim(rising, State.STOPPED, State.STARTING, start):
                start.run()
                return

    def stop(self) -> None:
        """Let what is in flight finish, then stop; stopping a stopped component does nothing.

        Raises:
            IllegalLifeCycleError: calls inside do not end within `stop_timeout`, with who is where;
                the component then runs on. Or the caller is itself inside the component.
        """
        self._require("stop")
        await_turn(self.component, time.monotonic() + self.start_timeout)
        parts = inside_out(self.component)
        falling = frozenset(part for part in parts if life_of(part).is_started())
        if not falling:
            return
        if is_inside(falling, sys._getframe()):  # a walk down this thread's own stack
            raise IllegalLifeCycleError(
                "a request of the component cannot stop it: it would wait for itself",
                component=self.component.path,
                state=self._state,
                cure="Stop it from outside, or from a thread of your own",
            )
        turn = Turn()
        if not _claim(falling, State.STARTED, State.STOPPING, turn):
            self.stop()  # another thread was faster: look again
            return
        try:
            self._let_finish(falling)
            fallen = reversed(servers_first(inside_out(self.component)))
            hooks = hooked((part for part in fallen if part in falling), "stopped")
            raise_failures(tell(hooks, "stopped"), "stopped")
        finally:
            turn.end(falling)

    def terminate(self) -> None:
        """End the component and everything inside it for good; calls that wait are refused.

        Components shared with a composite that stays alive are not terminated.

        Raises:
            IllegalLifeCycleError: the component, or a part of it, is not stopped.
        """
        self._require("terminate")
        await_turn(self.component, time.monotonic() + self.start_timeout)
        ending = [part for part in ending_with(self.component) if not life_of(part).has_ended()]
        running = [part.path for part in ending if life_of(part)._state is not State.STOPPED]
        if running:
            raise IllegalLifeCycleError(
                f"cannot terminate a component while parts of it run: {', '.join(running)}",
                component=self.component.path,
                state=self._state,
                cure="Stop the component: that stops everything inside",
            )
        turn = Turn()
        if not _claim(ending, State.STOPPED, State.TERMINATED, turn):
            self.terminate()  # another thread was faster: look again
            return
        for part in ending:
            life_of(part).settle(State.TERMINATED)
            for server in part.servers:
                server.abandon("the component has ended")
        turn.end(ending)
        raise_failures(tell(hooked(ending, "terminated"), "terminated"), "ended")

    def _let_finish(self, falling: frozenset[Component]) -> None:
        """Close `falling`, wait until nothing runs inside and stop; otherwise keep running."""
        for part in falling:
            life_of(part)._stopped_by = threading.current_thread()
            life_of(part).close(falling)
        try:
            self.drain(falling)
        except BaseException:
            for part in falling:
                life_of(part).open()
                life_of(part).arrive()
            raise
        for part in falling:
            life_of(part).settle()

    def holding_port(self, interface: ServerInterface, stub: Stub, operation: str) -> Port:
        """Return the port that holds calls until the component accepts them."""
        return HeldPort(self, interface, stub, operation)

    def refuse_if_hopeless(self, interface: str, operation: str) -> None:
        """Raise at once where waiting would be for ever: only the caller could start this."""
        if self._state is State.TERMINATED:
            raise self._refusal(interface, f"'{operation}' was called, but the component has ended")
        if self._state is not State.STOPPED:
            return
        if self._stopped_by is None:
            raise self._refusal(
                interface,
                f"'{operation}' was called before the component was started",
                "Start it first: component.start()",
            )
        if self._stopped_by is threading.current_thread():
            raise self._refusal(
                interface,
                f"'{operation}' was called by the thread that stopped the component",
                "Start it again first: the call would wait for ever",
            )

    def wait_until_open(self, interface: str, operation: str) -> None:
        """Wait until the component accepts calls; a call from inside what stops proceeds at once.

        Raises:
            IllegalLifeCycleError: nobody can start it any more, or nobody did in `hold_timeout`.
        """
        deadline = time.monotonic() + self.hold_timeout
        while not self.component.membrane.admits_calls:
            seen = self._state  # a change from here on may be told before the wait has begun
            if self._state is State.STOPPING and comes_from_inside(self._draining, sys._getframe()):
                return
            if self.bring_up():
                return
            self.refuse_if_hopeless(interface, operation)
            with self._condition:
                rest = deadline - time.monotonic()
                if rest <= 0:
                    raise self.not_started_again(interface, operation)
                if self._state is seen and not self.component.membrane.admits_calls:
                    outside(self._condition.wait, rest)

    def not_started_again(self, interface: str, operation: str) -> IllegalLifeCycleError:
        """Return the error for a call that has waited for `hold_timeout`."""
        return self._refusal(
            interface,
            f"'{operation}' waited {self.hold_timeout} s for the component to be started again",
            "Start it, or raise `hold_timeout` of its lifecycle controller",
        )

    def bring_up(self) -> bool:
        """Let the component be told of its start now if the calling thread is starting it.

        So a hook can call what is to start later, where bindings go round in a circle. Tells
        whether that thread is starting it: then nobody else can be inside.
        """
        start = self.turn
        if not (isinstance(start, StartTurn) and start.is_mine()):
            return False
        if not self.component.children:
            start.bring_up(self.component)
        return True

    def _is_others(self) -> bool:
        """Return whether another thread is starting or stopping the component."""
        return self.turn is not None and not self.turn.is_mine()

    def _refusal(self, interface: str, what: str, cure: str = "") -> IllegalLifeCycleError:
        return IllegalLifeCycleError(
            what,
            component=self.component.path,
            interface=interface,
            state=self._state,
            cure=cure or CURES.get(self._state, ""),
        )

    def _require(self, action: str) -> None:
        if (self._state, action) not in TRANSITIONS:
            raise IllegalLifeCycleError(
                f"cannot {action} a component that is {self._state}",
                component=self.component.path,
                state=self._state,
                cure=CURES.get(self._state, ""),
            )

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


_CONDITIONS = threading.Lock()
_CLAIMS = threading.Lock()


@dataclass(frozen=True, slots=True)
class _Seen:
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


def _look_at(parts: Collection[Component]) -> list[_Seen]:
    """Look at each of `parts` once, so that all conclusions are consistent."""
    with _CLAIMS:  # the turn first: meanwhile turns can end, but none can begin
        return [_Seen(part, life_of(part).turn, life_of(part)._state) for part in parts]


def _faults(seen: _Seen) -> list[str]:
    """Return every reason why a part cannot be started with the others."""
    if seen.state is not State.STOPPED:
        return [f"it is {seen.state}. {CURES[seen.state]}"]
    return [
        fault
        for controller in seen.part.membrane.having("faults_before_start")
        for fault in controller.faults_before_start()
    ]


def _claim(parts: Collection[Component], state: State, claimed: State, turn: Turn) -> bool:
    """Change all of `parts` from `state` to `claimed`, or none if one is in another state."""
    with _CLAIMS:
        if any(life_of(part)._state is not state or life_of(part)._is_others() for part in parts):
            return False
        for part in parts:
            life_of(part)._state = claimed
            life_of(part).turn = turn
    return True
