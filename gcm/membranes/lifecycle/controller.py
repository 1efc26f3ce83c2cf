"""The `lifecycle` controller: start, stop and terminate a component with everything inside it.

Stopping loses no request. While a component stops, calls that come from inside go on, so that what
is in flight can finish; calls from outside wait at the gate until the component runs again.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

from gcm.errors import IllegalLifeCycleError
from gcm.interfaces.going_on import outside
from gcm.membranes.lifecycle.life import Life, Seen, Turn, claim, life_of, look_at
from gcm.membranes.lifecycle.starting import StartTurn, await_turn, hooked, raise_failures, tell
from gcm.membranes.lifecycle.states import CURES, TRANSITIONS, State
from gcm.membranes.lifecycle.stopping import HeldPort
from gcm.membranes.requests.quiescence import comes_from_inside, is_inside
from gcm.membranes.tree import ending_with, inside_out, servers_first

if TYPE_CHECKING:
    from gcm.components.controller import Port
    from gcm.components.model import Component
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub


__all__ = ["TRANSITIONS", "LifeCycleController", "State"]


class LifeCycleController(Life):
    """Owns the state of one component.

    `stop_timeout` bounds how long a stop waits for calls inside; `hold_timeout` bounds how long a
    call from outside waits for a stopped component to run again; `start_timeout` bounds how long a
    start waits for one that another thread has begun.
    """

    __slots__ = ()
    name = "lifecycle"
    __not_operations__ = Life.__not_operations__ | {
        "bring_up",
        "holding_port",
        "not_started_again",
        "refuse_if_hopeless",
        "rise",
        "wait_until_open",
    }

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
            seen = look_at(inside_out(self.component))
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
            if claim(rising, State.STOPPED, State.STARTING, start):
                start.run()
                return

    def rise(self, number: str) -> StartTurn:
        """Begin a start that others of a circle of bindings, in other processes, are part of.

        Until the turn that is returned runs, the component is told of its start by the first call
        that has the `number` of the start in its chain, as in a circle of one process.

        Raises:
            IllegalLifeCycleError: something is missing, or it is not stopped.
        """
        start = StartTurn([self.component], number)
        (seen,) = look_at([self.component])
        faults = _faults(seen)
        if faults or not claim([self.component], State.STOPPED, State.STARTING, start):
            raise IllegalLifeCycleError(
                f"cannot start: {'; '.join(faults) or 'another thread is starting it'}",
                component=self.component.path,
                state=self._state,
                cure="Nothing was started; fix this and start again",
            )
        for client in self.component.bindables:
            client.settle()
        return start

    def stop(self) -> None:
        """Let what is in flight finish, then stop; stopping a stopped component does nothing.

        Raises:
            IllegalLifeCycleError: calls inside do not end within `stop_timeout`, with who is where;
                the component then runs on. Or the caller is itself inside the component.
        """
        self._require("stop")
        await_turn(self.component, time.monotonic() + self.start_timeout)
        parts = inside_out(self.component)
        falling = frozenset(part for part in parts if part.state == State.STARTED)
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
        if not claim(falling, State.STARTED, State.STOPPING, turn):
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
        ending = [part for part in ending_with(self.component) if part.state != State.TERMINATED]
        running = [part.path for part in ending if part.state != State.STOPPED]
        if running:
            raise IllegalLifeCycleError(
                f"cannot terminate a component while parts of it run: {', '.join(running)}",
                component=self.component.path,
                state=self._state,
                cure="Stop the component: that stops everything inside",
            )
        turn = Turn()
        if not claim(ending, State.STOPPED, State.TERMINATED, turn):
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
            life_of(part).stopped_by = threading.current_thread()
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
        if self.stopped_by is None:
            raise self._refusal(
                interface,
                f"'{operation}' was called before the component was started",
                "Start it first: component.start()",
            )
        if self.stopped_by is threading.current_thread():
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


def _faults(seen: Seen) -> list[str]:
    """Return every reason why a part cannot be started with the others."""
    if seen.state is not State.STOPPED:
        return [f"it is {seen.state}. {CURES[seen.state]}"]
    return [
        fault
        for controller in seen.part.membrane.having("faults_before_start")
        for fault in controller.faults_before_start()
    ]
