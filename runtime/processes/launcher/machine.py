"""A running machine: one thread that feeds the state of the run and does what it says."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Self

from runtime.collectives import left_to_ranks
from runtime.coupling.deployed_codes import Codes
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.errors import GridError
from runtime.exit_codes import NEVER_STARTED
from runtime.hosting.workers import Workers
from runtime.interruptible import has_happened
from runtime.launchers.local import LocalLauncher
from runtime.lifecycle.events import Begin, Event, Finish, Halt, Interrupt, Show, Tick
from runtime.lifecycle.failure_report import first_cause, messages
from runtime.lifecycle.outcome import Outcome
from runtime.lifecycle.run_life import RunPhase
from runtime.lifecycle.run_parts import RunParts
from runtime.lifecycle.run_plan import run_plan_of
from runtime.lifecycle.state import IllegalEvent, RunState
from runtime.lifecycle.walltimes import RunTimeouts
from runtime.processes.launcher.effects import Executor
from runtime.processes.launcher.native_users import tell_of_programs
from runtime.processes.launcher.reaching import Reach, usual_launcher
from runtime.processes.launcher.samples import UNSAMPLED, Sampling
from runtime.processes.launcher.warm_start import WarmStart
from runtime.transport.reactor import Reactor
from runtime.views.facts import (
    MACHINE,
    RankResult,
    Record,
    RunEnded,
    RunPlanned,
    StateChanged,
)
from runtime.views.stream import FactListener, FactStream, ListenerRaised, Silent

if TYPE_CHECKING:
    from gcm.components.composite import Composite
    from gcm.components.model import Component
    from gcm.interfaces.future import Future
    from gcm.invocation import Invocation
    from gcm.membranes.lifecycle import State
    from runtime.coupling.component import CodeComponent
    from runtime.hosting.nodes import MachineNode, NodesInTurn
    from runtime.processes.launcher.bindings import ReportedBinding
    from runtime.processes.launcher.deployed_assembly import DeployedAssembly

MOST_LATE = 1.0
"""How many seconds a time that is over waits for what has come before."""

_log = logging.getLogger(__name__)


class Machine:
    """A deployment plan being executed.

    >>> with Machine(plan) as machine:          # doctest: +SKIP
    ...     outcome = machine.wait()

    With `steered`, the program that holds the machine controls its codes: the run goes on when
    they have ended, until `stop` or the end of the block. With `idle` too, none starts by itself.

    >>> with Machine(plan, steered=True) as machine:          # doctest: +SKIP
    ...     machine.code("ocean").control.wait()

    Its rank 0:0:0 reads the descriptor `stdin`, all others nothing, as it does without. `reach`
    leads to the clusters that are on other hosts. With `samples` the listener is told from time
    to time what the ranks of each cluster have sent, and what ranks wait for; else only when they
    end.

    Leaving the block stops what still runs. Everything a machine started is gone once `wait` has
    returned, and within five seconds also when the process that holds it is killed.
    """

    def __init__(
        self,
        plan: DeploymentPlan,
        listener: FactListener | None = None,
        *,
        timeouts: RunTimeouts | None = None,
        steered: bool = False,
        idle: bool = False,
        warm: WarmStart | None = None,
        stdin: int | None = None,
        reach: Reach = usual_launcher,
        samples: Sampling = UNSAMPLED,
    ) -> None:
        if not isinstance(plan, DeploymentPlan):
            raise GridError(
                f"{plan!r} is no plan", cure=f"Write Machine(planned({str(plan)!r})), with"
                " planned of runtime"
            )  # fmt: skip
        self.plan = plan
        self._reach = reach
        self._samples = samples
        self._warm = warm
        self._stdin = stdin
        timeouts = timeouts or RunTimeouts(plan.start_limit)
        timeouts = replace(timeouts, run=timeouts.run or plan.deployment.run_timeout)
        self._codes = Codes(plan, steered=steered, idle=idle, settle=timeouts.settle)
        self._deployed = self._new_assembly(steered) if plan.deployment.assembly else None
        self._workers = Workers("codes")
        self._making = threading.Lock()
        self._tree: Composite | None = None
        self._executor: Executor | None = None
        self._listener = listener or self._own_listener()
        self._state = RunState(RunParts(run_plan_of(plan), timeouts, steered, idle))
        self._queue: SimpleQueue[Event | Callable[[], None]] = SimpleQueue()
        self._outcome: Outcome | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what is deployed where, and how far it is."""
        from runtime.views.page import excerpt_of

        rows = [
            (one.path, one.host or "here", str(one.ranks))
            for one in self.plan.deployment.clusters()
        ]
        headline = f"{self.plan.deployment.name}: {self.state}"
        return excerpt_of(headline, "", [("cluster", "host", "ranks"), *rows], ())

    def start(self) -> Self:
        """Begin, and return at once."""
        self._thread.start()
        return self

    def __enter__(self) -> Self:
        """Begin."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Stop what still runs, and wait until it has gone."""
        self.stop()
        self._thread.join()

    def run(self) -> Outcome:
        """Execute the plan and return how it ended; what goes wrong is in the outcome, not raised.

        Everything that was started is gone when this returns.

        >>> machine = Machine(plan, listener)                                   # doctest: +SKIP
        >>> signal.signal(signal.SIGINT, lambda *_: machine.interrupt())        # doctest: +SKIP
        >>> machine.run().exit_code                                             # doctest: +SKIP
        0
        """
        with self:
            return self.wait()

    @property
    def state(self) -> RunPhase:
        """Where the run is."""
        return self._state.run.life.phase

    def jobs(self) -> dict[str, StateChanged]:
        """Return where the jobs of batch systems are, by the clusters that have one."""
        now = time.monotonic()
        state, jobs = self._state, {}
        for cluster in self.plan.deployment.clusters():
            name = cluster.identifier
            if words := state.batch.queued.get(name):
                jobs[name] = StateChanged("queued", words)
            elif (left := state.batch.walltimes.left(name, now)) is not None:
                jobs[name] = StateChanged("running", f"{timedelta(0, int(left))} of walltime left")
        return jobs

    @property
    def assembly(self) -> Composite:
        """The whole machine as one assembly, to look at, to ask and to export.

        Its states are those of the components in their processes, as far as the run knows. All that
        would change a component is refused; only `codes` takes calls.

        >>> machine.assembly.find("north/alder/wrapper2")        # doctest: +SKIP
        <wrapper /grid/north/alder/wrapper2>
        >>> machine.assembly.find("codes/ocean")                  # doctest: +SKIP
        <codecomponent /grid/codes/ocean>
        """
        from runtime.coupling.component import codes_component
        from runtime.processes.launcher.tree import machine_tree
        from runtime.processes.watch import watch_of

        with self._making:
            if self._tree is None:
                codes = codes_component(self._codes, self._workers)
                self._tree = machine_tree(
                    self.plan.components(),
                    self._call,
                    self._life_of,
                    [codes],
                    is_watched=watch_of(self.plan) is not None,
                )
            return self._tree

    def _life_of(self, part: str) -> State:
        from gcm.membranes.lifecycle import State

        return State(self._state.run.life_of(part))

    def bindings(self) -> tuple[set[ReportedBinding], dict[str, str]]:
        """Ask every process of the machine what its components are bound to.

        Returns the bindings, and by path why a component has not answered: the ranks of a code
        that does not run are not there.

        >>> for one in machine.bindings()[0]: print(one)          # doctest: +SKIP
        /grid/north/alder/wrapper2.health-up -> /grid/north/alder/clustering.health
        """
        from runtime.processes.launcher.bindings import answered_bindings

        return answered_bindings(self.assembly, self._call)

    def _call(self, invocation: Invocation) -> Future[Any]:
        if self._executor is None:
            raise GridError(f"the machine does not run, so nothing serves {invocation}")
        return self._executor.router.call(invocation)

    def code(self, name: str) -> CodeComponent:
        """Return a code as a component, with the interfaces `control` and `messages`.

        Raises:
            UnknownCode: the deployment has no code of that name.

        >>> machine.code("ocean").control.status().state       # doctest: +SKIP
        <CodeState.RUNNING: 'running'>
        """
        from runtime.coupling.component import code_of

        self._codes.check(name)
        return code_of(self.assembly, name)

    def deployed(self, timeout: float | None = None) -> Component:
        """Return the root of the deployed assembly, once all of it is started.

        Its components can be found, rebound, stopped and started, wherever they live. Unless the
        machine is `steered`, its interface `run` is being called, if it has one.

        Raises:
            TimeoutError: it takes longer than that.
            GridError: there is no assembly, or the machine has ended.

        >>> machine.deployed().find("worker1").stop()      # doctest: +SKIP
        """
        return self._assembled().started(timeout)

    def nodes(self, timeout: float | None = None) -> dict[str, MachineNode]:
        """Return the nodes that components can be made on, by `site/cluster/node`.

        These are all nodes to which the descriptor maps a virtual node, once the assembly is
        started.

        Raises:
            TimeoutError: it takes longer than that.
            GridError: there is no assembly, or the machine has ended.

        >>> there = machine.nodes()["lab/rack/blade1"]            # doctest: +SKIP
        >>> worker = gcm.active(Worker, node=there)               # doctest: +SKIP
        """
        return self._assembled().nodes(timeout)

    def taking_turns(self, timeout: float | None = None) -> NodesInTurn:
        """Return all nodes as one place, where primitives take turns on them.

        Composites that are made there live in the present process. Raises as `nodes` does.

        >>> with gcm.placed(machine.taking_turns()):              # doctest: +SKIP
        ...     farm = make_farm()                                # doctest: +SKIP
        """
        return self._assembled().taking_turns(timeout)

    def add(self, file: str, node: str, *, bindings: Sequence[tuple[str, str]] = ()) -> str:
        """Add the component of an ADL document beside the assembly, on a node; return its path.

        `bindings` of `component.interface` to another are made before it is started, by reference;
        their paths begin with the name of the assembly, or of what was added. If anything fails
        nothing of it is left.

        Raises:
            GridError: there is no assembly or node, or the document has faults.
            GcmError: it cannot be made, bound or started.

        >>> machine.add("spy.fractal", "lab/rack/blade1", bindings=[("spy.work", "app/w1.work")])
        ... # doctest: +SKIP
        """
        from runtime.processes.launcher.additions import Addition

        return self._assembled().add(Addition(file, node, tuple(bindings)))

    def _assembled(self) -> DeployedAssembly:
        if self._deployed is None:
            raise GridError(
                "no assembly is deployed",
                place=self.plan.deployment.name,
                cure="Name one in the descriptor: <assembly file='app.fractal'/>",
            )
        return self._deployed

    def wait(self, timeout: float | None = None) -> Outcome:
        """Return how the run ended, once everything is gone; raises TimeoutError."""
        if not has_happened(self._ended, timeout):
            raise TimeoutError(f"the run was still {self.state} after {timeout:g} s")
        self._thread.join()
        assert self._outcome is not None
        return self._outcome

    def stop(self) -> None:
        """Ask everything to end in order, without waiting for it."""
        self._queue.put(Halt())

    def interrupt(self) -> None:
        """Mean what Ctrl-C means: end in order, and at once the second time.

        A signal handler may call this.
        """
        self._queue.put(Interrupt())

    def explain(self) -> None:
        """Let it be logged what all ranks are doing and why they wait; the run goes on.

        A signal handler may call this.
        """
        self._ask(lambda executor: executor.waits.explain())

    def _ask(self, asked: Callable[[Executor], None]) -> None:
        """Let the engine's thread ask something of what executes the plan, if it still does."""
        self._queue.put(lambda: None if self._executor is None else asked(self._executor))

    def snapshot(self, timeout: float, *, with_stacks: bool = False) -> list[tuple[str, Record]]:
        """Return what all ranks are doing and why they wait, as facts with their names.

        Any thread but the engine's may ask.

        Raises:
            TimeoutError: the application does not run, or nobody answers in time.
        """
        found: SimpleQueue[list[tuple[str, Record]]] = SimpleQueue()

        self._ask(lambda executor: executor.waits.ask_facts(found.put, with_stacks=with_stacks))
        try:
            return found.get(timeout=timeout)
        except Empty:
            raise TimeoutError(f"no answer after {timeout:g} s") from None

    def sample(self, seconds: float) -> None:
        """Let the facts tell from now on, every so many seconds, what ranks do; 0 for never.

        Any thread may call this.
        """
        self._ask(lambda executor: executor.samples.every(seconds))

    def _new_assembly(self, steered: bool) -> DeployedAssembly:
        # Only for who has an assembly: all others start without this wait.
        from runtime.processes.launcher.deployed_assembly import DeployedAssembly

        return DeployedAssembly(self.plan, steered=steered)

    def _own_listener(self) -> FactListener:
        """Return who listens where the program has nobody for that."""
        if self._deployed is None:
            return Silent()
        from runtime.processes.launcher.component_output import ComponentOutput

        return ComponentOutput()

    # --- the thread -------------------------------------------------------------------------------

    def _run(self) -> None:
        with ExitStack() as last:  # whatever happens, nobody may wait for ever
            last.callback(self._ended.set)
            last.callback(self._workers.close)
            if self._deployed is not None:
                last.callback(self._deployed.over, "the machine has ended")
            last.callback(self._codes.end, "the machine has ended")
            facts = FactStream(self._listener, time.monotonic)
            try:
                self._execute(facts)
            except BaseException as error:  # this is the thread's end
                _log.exception("the engine failed")
                self._failed(error, facts)
            outcome = facts.account.outcome()
            self._outcome = replace(outcome, exceptions=self._state.run.failures.exceptions)

    def _execute(self, facts: FactStream) -> None:
        facts.tell(MACHINE, RunPlanned.of(self.plan))
        tell_of_programs(self.plan)
        if left := left_to_ranks(self.plan.deployment.plans):
            _log.warning("plans: %s", left)
        launcher = LocalLauncher() if self._warm is None else self._warm.launcher
        with launcher as local, Reactor("engine") as reactor:
            post = self._queue.put
            with Executor(
                self.plan, local, reactor, facts, post,
                codes=self._codes, assembly=self._deployed, warm=self._warm, stdin=self._stdin,
                reach=self._reach, samples=self._samples,
                start_timeout=self._state.run.timeouts.start,
            ) as executor:  # fmt: skip
                self._executor = executor
                code = self._loop(executor)
                self._executor = None
                executor.publish_figures(self._state)
        self._publish_ends(facts)
        failures, ranks = self._state.run.failures, facts.account.ranks()
        paths = {one.identifier: one.path for one in self.plan.deployment.clusters()}
        names = self._state.run.plan.names
        errors = (*messages(failures, ranks, paths, names), *self._state.run.errors)
        facts.tell(MACHINE, RunEnded(code, errors, first_cause(failures, ranks, names)))

    def _publish_ends(self, facts: FactStream) -> None:
        for rank, death in self._state.run.deaths.items():
            facts.tell(rank, RankResult(death.code, death.observed.signal))
        for one in () if self._deployed is None else self._deployed.reports():
            facts.tell(one.path, one)

    def _failed(self, error: BaseException, facts: FactStream) -> None:
        if isinstance(error, ListenerRaised):
            error = error.__cause__ or error
        fault = GridError(
            f"the engine failed: {type(error).__name__}: {error}",
            cure="Everything was ended; the log has the traceback",
        )
        with suppress(ListenerRaised):
            self._publish_ends(facts)
        with suppress(ListenerRaised):
            facts.tell(MACHINE, RunEnded(NEVER_STARTED, (*self._state.run.errors, str(fault))))

    def _loop(self, executor: Executor) -> int:
        code = self._happen(Begin(), executor)
        while code is None:
            deadline = self._state.due
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                code = self._be_late(executor)
                continue
            try:
                item = self._queue.get(timeout=left)
            except Empty:
                continue
            code = self._take(item, executor)
        return code

    def _be_late(self, executor: Executor) -> int | None:
        """Let a time be over, but not before what came until now: it may have come in time.

        That is done for a second at most, since what comes meanwhile may never cease. What a
        front-end said becomes an event only when it has its turn, so there are two rounds.
        """
        until = time.monotonic() + MOST_LATE
        for _ in range(2):
            for _ in range(self._queue.qsize()):
                if time.monotonic() > until:
                    break
                code = self._take(self._queue.get(), executor)
                if code is not None:
                    return code
        return self._happen(Tick(), executor)

    def _take(self, item: Event | Callable[[], None], executor: Executor) -> int | None:
        if callable(item):
            item()
            return None
        return self._happen(item, executor)

    def _happen(self, event: Event, executor: Executor) -> int | None:
        """Let one event happen; return the exit code once the run is over."""
        try:
            effects = self._state.handle(event, time.monotonic())
        except IllegalEvent as fault:
            _log.warning("%s: %r", fault, event)
            return None
        code = None
        for effect in effects:
            if isinstance(effect, Finish):
                code = effect.code
            elif isinstance(effect, Show):
                executor.show(effect)
            else:
                executor.do(effect)
        return code
