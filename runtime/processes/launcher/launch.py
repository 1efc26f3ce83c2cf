"""Deploying a plan from beginning to end: what `gcm-deploy` calls."""

from __future__ import annotations

from contextlib import suppress

from runtime.deployment.planning.plan import DeploymentPlan
from runtime.lifecycle.outcome import Outcome
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.state import RunTimeouts
from runtime.processes.launcher.machine import Machine
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.warm_start import WarmStart
from runtime.views.facts import MACHINE, Record, RunSeen
from runtime.views.stream import FactListener

SNAPSHOT_TIMEOUT = 6.0
"""How many seconds ranks have to say what they are doing."""


class Interrupts:
    """Ctrl-C, handed from a signal handler to the run: once ends it in order, twice at once."""

    def __init__(self) -> None:
        self._machine: Machine | None = None
        self._early = 0

    def press(self, *_: object) -> None:
        """Be pressed once; fit to be a signal handler."""
        if self._machine is None:
            self._early += 1
        else:
            self._machine.interrupt()

    def explain(self, *_: object) -> None:
        """Let it be told what the run is doing; fit to be a signal handler."""
        if self._machine is not None:
            self._machine.explain()

    def snapshot(self, *, with_stacks: bool) -> list[tuple[str, Record]]:
        """Return what the run is doing, as facts with their names, for observers outside."""
        machine = self._machine
        state = RunPhase.PLANNED if machine is None else machine.state
        seen: list[tuple[str, Record]] = []
        if machine is not None and state is RunPhase.RUNNING:
            with suppress(TimeoutError):
                seen = machine.snapshot(SNAPSHOT_TIMEOUT, with_stacks=with_stacks)
        jobs = {} if machine is None else machine.jobs()
        return [(MACHINE, RunSeen(str(state))), *jobs.items(), *seen]

    def sample(self, seconds: float) -> None:
        """Let the facts tell every so many seconds what ranks do, as `Machine.sample`."""
        if self._machine is not None:
            self._machine.sample(seconds)

    def reach(self, machine: Machine) -> None:
        """Mean this machine from now on, with what was pressed before."""
        self._machine = machine
        for _ in range(self._early):
            machine.interrupt()


def deploy(
    plan: DeploymentPlan,
    listener: FactListener,
    *,
    interrupts: Interrupts | None = None,
    timeouts: RunTimeouts | None = None,
    warm: WarmStart | None = None,
    stdin: int | None = None,
    reach: Reach = usual_launcher,
    samples: float = 0.0,
) -> Outcome:
    """Execute a plan and return how it ended; what goes wrong is in the outcome, not raised.

    Everything that was started is gone when this returns. The first rank of all reads what comes
    from the descriptor `stdin`, nothing without one. `reach` leads to clusters on other hosts.
    The ranks are asked what they do and have sent every `samples` seconds, 0 for never.

    >>> interrupts = Interrupts()                                         # doctest: +SKIP
    >>> signal.signal(signal.SIGINT, interrupts.press)                    # doctest: +SKIP
    >>> deploy(plan, listener, interrupts=interrupts).exit_code           # doctest: +SKIP
    0
    """
    machine = Machine(
        plan, listener, timeouts=timeouts, warm=warm, stdin=stdin, reach=reach, samples=samples
    )
    if interrupts is not None:
        interrupts.reach(machine)
    with machine:
        return machine.wait()


__all__ = ["Interrupts", "Machine", "Outcome", "RunTimeouts", "deploy"]
