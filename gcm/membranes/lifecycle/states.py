"""The states of a component's life cycle, and which actions each of them allows."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """The states of a component's life cycle."""

    STOPPED = "stopped"
    STARTING = "starting"
    STARTED = "started"
    STOPPING = "stopping"
    TERMINATED = "terminated"


TRANSITIONS: dict[tuple[State, str], State] = {
    (State.STOPPED, "start"): State.STARTED,
    (State.STARTING, "start"): State.STARTED,
    (State.STARTED, "start"): State.STARTED,
    (State.STARTED, "stop"): State.STOPPED,
    (State.STOPPED, "stop"): State.STOPPED,
    (State.STOPPED, "terminate"): State.TERMINATED,
    (State.TERMINATED, "terminate"): State.TERMINATED,
}
"""What each action leads to; every pair that is not listed is refused and changes nothing.

A start of what another thread is starting waits for that one; one of what the same thread is
starting, in a `started` hook, leaves it to the start that is going on.
"""

CURES = {
    State.STARTING: "Wait until its start is over",
    State.STARTED: "Stop it first",
    State.STOPPING: "Another thread is stopping it: wait until it is stopped",
    State.TERMINATED: "A terminated component never comes back: make a new one",
}
"""The cure for an action that a state refuses."""
