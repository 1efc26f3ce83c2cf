"""The `lifecycle` controller: start, stop and terminate a component with everything inside it.

Stopping loses no request. While a component stops, calls that come from inside go on, so that what
is in flight can finish; calls from outside wait at the gate until the component runs again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from gcm.errors import GcmError, IllegalLifeCycleError
from gcm.interfaces.stacks import outside
from gcm.membranes.controller import Controller, Port
from gcm.membranes.gate import HeldPort
from gcm.membranes.hooks import hooked, raise_failures, tell
from gcm.membranes.quiescence import comes_from_inside, is_inside, visits
from gcm.membranes.request_queue import RequestQueueController

if TYPE_CHECKING:
    from gcm.components.model import Component
    from gcm.interfaces.interface import ServerInterface
    from gcm.interfaces.stub import Stub


class State(StrEnum):
    """The states of a component's life."""

    STOPPED = "stopped"
    STARTED = "started"
    STOPPING = "stopping"
    TERMINATED = "terminated"


TRANSITIONS: dict[tuple[State, str], State] = {
    (State.STOPPED, "start"): State.STARTED,
    (State.STARTED, "start"): State.STARTED,
    (State.STARTED, "stop"): State.STOPPED,
    (State.STOPPED, "stop"): State.STOPPED,
    (State.STOPPED, "terminate"): State.TERMINATED,
    (State.TERMINATED, "terminate"): State.TERMINATED,
}
"""What each action leads to; every pair that is not listed is refused and changes nothing."""

_CURES = {
    State.STARTED: "Stop it first",
    State.STOPPING: "Another thread is stopping it: wait until it is stopped",
    State.TERMINATED: "A terminated component never comes back: make a new one",
}

_FIRST_PAUSE = 0.00005
_LONGEST_PAUSE = 0.005


class LifeCycleController(Controller):
    """Owns the state of one component.

    `stop_timeout` bounds how long a stop waits for calls inside; `hold_timeout` bounds how long a
    call from outside waits for a stopped component to run again.
    """

    __slots__ = ("_changed", "_draining", "_state", "_stopped_by", "hold_timeout", "stop_timeout")
    name = "lifecycle"
    __not_operations__ = Controller.__not_operations__ | {
        "holding_port",
        "refuse_if_hopeless",
        "wait_until_open",
    }

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._state = State.STOPPED
        self._stopped_by: threading.Thread | None = None
        self._changed: threading.Condition | None = None
        self._draining: frozenset[Component] = frozenset()
        self.stop_timeout = 30.0
        self.hold_timeout = 60.0

    def state(self) -> State:
        """Return the state of the component."""
        return self._state

    def is_started(self) -> bool:
        """Tell whether the component takes functional calls."""
        return self._state is State.STARTED

    def has_ended(self) -> bool:
        """Tell whether the component is terminated."""
        return self._state is State.TERMINATED

    def start(self) -> None:
        """Start the component and everything inside it; starting a started one does nothing.

        Raises:
            IllegalLifeCycleError: something is missing, with every fault of the whole tree listed,
                or a `started` hook failed. Nothing is left half started.
        """
        self._require("start")
        rising = [part for part in _tree(self.component) if not _life(part).is_started()]
        faults = [f"{part.path}: {fault}" for part in rising for fault in _faults(part)]
        if faults:
            raise IllegalLifeCycleError(
                f"cannot start, {len(faults)} reason(s): " + "; ".join(faults),
                component=self.component.path,
                state=self._state,
                cure="Nothing was started; mend this and start again",
            )
        _raise_all(rising)

    def stop(self) -> None:
        """Let what is in flight finish, then stop; stopping a stopped component does nothing.

        Raises:
            IllegalLifeCycleError: calls inside do not end within `stop_timeout`, with who is where;
                the component then runs on. Or the caller is itself inside the component.
        """
        self._require("stop")
        falling = frozenset(part for part in _tree(self.component) if _life(part).is_started())
        if not falling:
            return
        if is_inside(falling, sys._getframe()):  # a walk down this thread's own stack
            raise IllegalLifeCycleError(
                "a request of the component cannot stop it: it would wait for itself",
                component=self.component.path,
                state=self._state,
                cure="Stop it from outside, or from a thread of your own",
            )
        for part in falling:
            _life(part)._stopped_by = threading.current_thread()
            _life(part)._close(falling)
        try:
            self._drain(falling)
        except BaseException:
            for part in falling:
                _life(part)._open()
            raise
        for part in falling:
            _life(part)._settle(State.STOPPED)
        fallen = [part for part in reversed(_tree(self.component)) if part in falling]
        raise_failures(tell(hooked(fallen, "stopped"), "stopped"), "stopped")

    def terminate(self) -> None:
        """End the component and everything inside it for good; calls that wait are refused.

        What is shared with a composite that goes on is spared.

        Raises:
            IllegalLifeCycleError: the component, or a part of it, is not stopped.
        """
        self._require("terminate")
        if self._state is State.TERMINATED:
            return
        ending = [part for part in _ending(self.component) if not _life(part).has_ended()]
        running = [part.path for part in ending if _life(part)._state is not State.STOPPED]
        if running:
            raise IllegalLifeCycleError(
                f"cannot terminate a component while parts of it run: {', '.join(running)}",
                component=self.component.path,
                state=self._state,
                cure="Stop the component: that stops everything inside",
            )
        for part in ending:
            _life(part)._settle(State.TERMINATED)
            for server in part.servers:
                server.abandon("the component has ended")
        raise_failures(tell(hooked(ending, "terminated"), "terminated"), "ended")

    def holding_port(self, interface: ServerInterface, stub: Stub, operation: str) -> Port:
        """Return the port that keeps a call back until the component takes calls."""
        return HeldPort(self, interface, stub, operation)

    def refuse_if_hopeless(self, interface: str, operation: str) -> None:
        """Raise at once where waiting could only hang: nobody but the caller could start this."""
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
        """Wait until the component takes calls; a call from inside what stops goes on at once.

        Raises:
            IllegalLifeCycleError: nobody can start it any more, or nobody did in `hold_timeout`.
        """
        deadline = time.monotonic() + self.hold_timeout
        while not self.is_started():
            if self._state is State.STOPPING and comes_from_inside(self._draining, sys._getframe()):
                return
            self.refuse_if_hopeless(interface, operation)
            with self._condition:
                rest = deadline - time.monotonic()
                if rest <= 0:
                    raise self._refusal(
                        interface,
                        f"'{operation}' waited {self.hold_timeout} s for the component to be "
                        "started again",
                        "Start it, or raise `hold_timeout` of its lifecycle controller",
                    )
                if not self.is_started():
                    outside(self._condition.wait, rest)

    def _refusal(self, interface: str, what: str, cure: str = "") -> IllegalLifeCycleError:
        return IllegalLifeCycleError(
            what,
            component=self.component.path,
            interface=interface,
            state=self._state,
            cure=cure or _CURES.get(self._state, ""),
        )

    def _require(self, action: str) -> None:
        if (self._state, action) not in TRANSITIONS:
            raise IllegalLifeCycleError(
                f"cannot {action} a component that is {self._state}",
                component=self.component.path,
                state=self._state,
                cure=_CURES.get(self._state, ""),
            )

    @property
    def _condition(self) -> threading.Condition:
        """What waiting calls sleep on; made by the first of them."""
        with _CONDITIONS:
            if self._changed is None:
                self._changed = threading.Condition()
            return self._changed

    def _open(self) -> None:
        """Let calls in."""
        self._draining = frozenset()
        for client in self.component.bindables:
            client.settle()
        self._set(State.STARTED, admits=True)
        if queue := _queue(self.component):
            queue.resume()

    def _close(self, falling: frozenset[Component]) -> None:
        """Hold calls from outside `falling`."""
        self._draining = falling
        if queue := _queue(self.component):
            queue.allow(False)
        self._set(State.STOPPING, admits=False)

    def _settle(self, state: State) -> None:
        """Be stopped or terminated; whoever waits at the gate looks again."""
        self._draining = frozenset()
        if queue := _queue(self.component):
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

    def _drain(self, falling: frozenset[Component]) -> None:
        """Wait until nothing runs inside `falling`; queues serve on while others may need them."""
        deadline = time.monotonic() + self.stop_timeout
        queues = [queue for part in falling if (queue := _queue(part))]
        pause = _FIRST_PAUSE
        while True:
            busy = self._busy(falling, queues)
            for queue in queues:
                queue.allow(any(owner is not queue.component for owner, _ in busy))
            if not busy and not self._busy(falling, queues):
                return
            if time.monotonic() > deadline:
                raise IllegalLifeCycleError(
                    f"cannot stop within {self.stop_timeout} s: "
                    + "; ".join(text for _, text in busy),
                    component=self.component.path,
                    state=self._state,
                    cure="It runs on. Let these calls end, or raise `stop_timeout` of its "
                    "lifecycle controller",
                )
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _busy(
        self, falling: frozenset[Component], queues: Iterable[RequestQueueController]
    ) -> list[tuple[Component, str]]:
        found = [(visit.component, str(visit)) for visit in visits(falling)]
        seen = {component for component, _ in found}
        return found + [  # a request that is just being taken out of the queue or finished
            (queue.component, f"{queue.component.path} serves '{queue.serving}'")
            for queue in queues
            if queue.serving and queue.component not in seen
        ]


_CONDITIONS = threading.Lock()


def _life(component: Component) -> LifeCycleController:
    return component.membrane.lifecycle


def _queue(component: Component) -> RequestQueueController | None:
    if RequestQueueController.name not in component.membrane:
        return None
    return component.membrane.get(RequestQueueController)


def _tree(component: Component) -> list[Component]:
    """Return everything inside `component` and then itself; a shared component once."""
    found: dict[Component, None] = {}
    pending: list[tuple[Component, bool]] = [(component, False)]
    while pending:
        part, children_done = pending.pop()
        if children_done:
            found[part] = None
        elif part not in found:
            pending.append((part, True))
            pending += [(child, False) for child in reversed(part.children)]
    return list(found)


def _faults(part: Component) -> list[str]:
    """Return every reason why `part` cannot be started with the others."""
    state = _life(part).state()
    if state is not State.STOPPED:
        return [f"it is {state}. {_CURES[state]}"]
    return [
        fault
        for controller in part.membrane.having("faults_before_start")
        for fault in controller.faults_before_start()
    ]


def _ending(component: Component) -> list[Component]:
    """Return what ends with `component`: not what a composite that lives on shares with it."""
    ending = {component}
    for part in reversed(_tree(component)):  # from outside to inside
        if all(parent in ending or _life(parent).has_ended() for parent in part.parents):
            ending.add(part)
    return [part for part in _tree(component) if part in ending]


def _raise_all(rising: Sequence[Component]) -> None:
    """Open everything inside, run the `started` hooks, and open the outermost component last."""
    for part in rising[:-1]:
        _life(part)._open()
    begun: list[Controller] = []
    try:
        for controller in hooked(rising, "started"):
            begun.append(controller)
            controller.started()
    except BaseException as error:
        failures = _fall_back(rising[:-1], begun[:-1])
        for failure in failures:
            error.add_note(f"While the others were stopped again: {failure}")
        if isinstance(error, GcmError) or not isinstance(error, Exception):
            raise
        raise IllegalLifeCycleError(
            f"the start failed: {type(error).__name__}: {error}",
            component=begun[-1].component.path,
            state=State.STOPPED,
            cure="Nothing was left running; mend the cause above and start again",
        ) from error
    if rising:
        _life(rising[-1])._open()


def _fall_back(opened: Sequence[Component], begun: Sequence[Controller]) -> list[Exception]:
    """Stop after a failed start what was open already, and tell those that had begun."""
    falling = frozenset(opened)
    failures: list[Exception] = []
    for part in opened:
        _life(part)._close(falling)
    try:
        if opened:
            _life(opened[-1])._drain(falling)
    except IllegalLifeCycleError as error:
        failures.append(error)
    for part in opened:
        _life(part)._settle(State.STOPPED)
    return failures + tell([one for one in reversed(begun) if "stopped" in one.hooks], "stopped")
