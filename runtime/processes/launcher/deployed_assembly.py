"""The user's assembly: its tree lives in the launcher, primitives live in the node processes."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gcm.adl import assemble, outline_of_plan, plan_document
from gcm.adl.runnable import RUN, has_run, result_of, run_operation
from gcm.documents import Diagnostics
from gcm.errors import IllegalLifeCycleError
from gcm.suggestion import did_you_mean
from gcm.tracebacks import told_to_user
from runtime.deployment.planning.plan import DeploymentPlan
from runtime.deployment.planning.spreading import idle_nodes, spread_components
from runtime.deployment.planning.steps import Step
from runtime.errors import GridError
from runtime.hosting.host import Host
from runtime.hosting.node import NodeFacts
from runtime.hosting.node_factory import MADE, NodeFactory
from runtime.hosting.nodes import MachineNode, NodesInTurn
from runtime.hosting.other_node import NodeProcess, ask_node
from runtime.hosting.remote_references import find_remote
from runtime.lifecycle.events import AssemblyEnded, NodeLost, StepFailed, StepUp
from runtime.lifecycle.outcome import ComponentReport
from runtime.machine.paths import node_path
from runtime.processes.launcher.additions import Addition, added
from runtime.processes.launcher.openings import Post
from runtime.processes.launcher.place import ClusterPlace
from runtime.processes.launcher.services import Starts
from runtime.step_name import StepKind, StepName
from runtime.transport.errors import TransportError

if TYPE_CHECKING:
    from gcm.adl.plan import AssemblyPlan, ComponentPlan
    from gcm.components.model import Component

_log = logging.getLogger(__name__)

_ASSEMBLE = StepName(StepKind.ASSEMBLE)

STOP_SECONDS = 2.0
"""How long calls inside may take to end when the run has to end."""

END_SECONDS = 3.0
"""How long the end of the whole assembly may take then; the rest ends with its processes."""

LOSS_SECONDS = 2.0
"""How long after a broken connection to wait for the news that a node was lost."""

_OURS = (str(Path(__file__).parents[2]) + "/",)


class DeployedAssembly:
    """Starts node processes, assembles, calls `run` if there is one, and ends it all.

    When it is `steered`, the program that holds the machine calls what it likes, and `run` is left
    to it.
    """

    def __init__(self, plan: DeploymentPlan, *, steered: bool = False) -> None:
        assert plan.deployment.assembly is not None
        self._deployment = plan.deployment
        self._file = str(Path(plan.deployment.assembly.file).expanduser())
        self._arguments = plan.deployment.assembly.arguments
        self._made_in_python = plan.deployment.assembly.plan
        self._outlives_nodes = plan.deployment.assembly.outlives_nodes
        self._steered = steered
        steps = [one for one in plan.steps if one.kind is StepKind.NODE]
        self._clusters = {one.place: one.by.about for one in steps if one.by is not None}
        self._nodes: dict[str, NodeProcess] = {}
        self._facts: dict[str, NodeFacts] = {}
        self._where: dict[str, str] = {}
        self._operation = ""
        self._root: Component | None = None
        self._factory: NodeFactory | None = None
        self._adding = threading.Lock()
        self._added: list[Component] = []
        self._changed = threading.Condition()
        self._is_starting = False
        self._is_started = False
        self._is_ending = False
        self._why_over = ""
        self._lost = threading.Event()
        self._ended = threading.Event()
        self.result: str | None = None
        """What is to be printed when everything has ended."""

    def connect(self, host: Host, places: Mapping[str, ClusterPlace], post: Post) -> None:
        """Belong to a run from now on."""
        self._host = host
        self._places = places
        self._post = post

    # --- from the engine's thread ---------------------------------------------------------------

    @property
    def starts(self) -> Starts:
        """The nodes, and what lives there."""
        return {
            StepKind.NODE: self._start_node,
            StepKind.ASSEMBLE: lambda _: self._work("assembling", self._assemble),
        }

    def _start_node(self, step: Step) -> None:
        place = self._places[self._clusters[step.place]]
        place.orders.start_node(step.about)

    def has_nodes_at(self, cluster: str) -> bool:
        """Tell whether components of it live behind the front-end of a cluster."""
        return cluster in self._clusters.values()

    def node_up(self, name: str, *facts: Any) -> None:
        """Record that a node process serves; its front-end says so, and of no other one."""
        place = self._places[self._clusters[name]]
        if place.channel is None or name in self._nodes:
            return
        home = node_path(name)
        self._host.routes.add(home, place.channel)
        found = self._facts[name] = NodeFacts(*facts)
        self._nodes[name] = NodeProcess(home, place.channel, found.address)
        self._post(StepUp(StepName(StepKind.NODE, name)))

    def node_lost(self, name: str, words: str) -> None:
        """Record that a node process has gone, and with it its components."""
        here = sorted(path for path, node in tuple(self._where.items()) if node == name)
        what = "the process of this node has ended"
        if self._outlives_nodes and (self._is_started or self._is_ending):
            _log.warning(
                "%s: %s%s: %s. The run goes on", name, what,
                f", and with it {', '.join(here)}" if here else "", words,
            )  # fmt: skip
            self._post(NodeLost(StepName(StepKind.NODE, name), words, goes_on=True))
            self._work(f"without {name}", partial(self._go_on_without, name))
            return
        fault = GridError(
            f"{what}, and with it {', '.join(here)}" if here else what,
            place=name,
            cause=words,
            cure="Everything else was ended; its last lines are below",
        )
        self._post(NodeLost(StepName(StepKind.NODE, name), str(fault)))
        self.over(f"{name}: {fault.what}. {words}")
        self._lost.set()

    def _go_on_without(self, name: str) -> None:
        """Let nobody wait for the components of a node that is lost."""
        lost = self._nodes.pop(name, None)
        if lost is None or self._factory is None:
            return
        paths = self._factory.lost(lost)
        self._host.exports.forget_clients(paths)
        for node in tuple(self._nodes.values()):
            with suppress(TransportError):  # it is lost as well
                ask_node(self._host, node.home, "lost", paths)
        self._lost.set()

    def go(self) -> None:
        """Start the components, and let them run."""
        self._is_starting = True
        self._work("the assembly", self._live)

    def end(self) -> None:
        """Stop and terminate the components; waits, but not for long. Twice is once."""
        if self._root is None:
            return
        with self._changed:  # what is half started can be stopped only once it is started
            self._changed.wait_for(lambda: not self._is_starting, STOP_SECONDS)
        if self._claim_end():
            self._root.membrane.lifecycle.stop_timeout = STOP_SECONDS
            self._work("ending the assembly", self._end_anyway)
        self._ended.wait(END_SECONDS)

    def over(self, why: str) -> None:
        """Record why the machine ends: nobody waits for the assembly then. The first why holds."""
        with self._changed:
            self._why_over = self._why_over or why
            self._changed.notify_all()

    def reports(self) -> tuple[ComponentReport, ...]:
        """Return which components lived on nodes, and where that was."""
        return tuple(
            ComponentReport(path, node, self._facts[node].host, self._facts[node].pid)
            for path, node in tuple(self._where.items())
        )

    # --- for the program that holds the machine -------------------------------------------------

    def started(self, timeout: float | None = None) -> Component:
        """Return the root once everything is started.

        Raises:
            TimeoutError: it takes longer than that.
            GridError: the machine has ended.
        """
        with self._changed:
            known = self._changed.wait_for(lambda: self._is_started or self._why_over, timeout)
        if not known:
            raise TimeoutError(f"the assembly was not started after {timeout:g} s")
        if self._why_over or self._root is None:
            raise GridError("there is no assembly any more", cause=self._why_over)
        return self._root

    def nodes(self, timeout: float | None = None) -> dict[str, MachineNode]:
        """Return the nodes that have a process, by name; waits and raises as `started` does."""
        self.started(timeout)
        return {
            name: MachineNode(name, self._facts[name].host, self._make_on)
            for name in sorted(self._nodes)
        }

    def taking_turns(self, timeout: float | None = None) -> NodesInTurn:
        """Return all nodes as one place; waits and raises as `started` does."""
        nodes = tuple(self.nodes(timeout).values())
        if not nodes:
            raise GridError(
                "no node of this machine can take components",
                cure='Map a virtual node: <virtual-node name="workers" nodes="SITE/CLUSTER"/>',
            )
        return NodesInTurn(nodes, self._make_on)

    def add(self, addition: Addition) -> str:
        """Add a component on a node; return its path. Waits and raises as `started` does."""
        root = self.started(LOSS_SECONDS)
        node = self._nodes.get(addition.node)
        if node is None or self._factory is None:
            raise GridError(
                f"there is no node '{addition.node}' that components can live on",
                cure=did_you_mean(addition.node, self._nodes)
                or f"There is: {', '.join(sorted(self._nodes)) or 'none'}",
            )
        if not self._adding.acquire(blocking=False):
            raise GridError(
                "another component is being added just now",
                cure="Add this one once that is started",
            )
        try:
            beside = {one.name: one for one in (root, *self._added)}
            made = added(addition, beside, self._factory.making_all_on(node))
            self._added.append(made)
        except (TransportError, IllegalLifeCycleError) as error:
            if self._is_ending or self._why_over:
                raise self._ends(error) from error
            raise
        finally:
            self._adding.release()
        if self._is_ending:  # it came too late to be ended with the others
            made.stop()
            made.terminate()
            raise self._ends()
        return made.path

    def _ends(self, cause: Exception | None = None) -> GridError:
        why = self._why_over or (str(cause) if cause else "")
        return GridError("the run is ending, so nothing is added", cause=why)

    def _make_on(self, node: str, name: str, *what: Any) -> Component:
        if self._why_over or self._factory is None:
            raise GridError(
                f"the component {name} cannot be made any more",
                cause=self._why_over,
                place=node,
            )
        return self._factory.make_on(self._nodes[node] if node else None, name, *what)

    # --- nodes ----------------------------------------------------------------------------------

    def _lead(self, path: str, node: NodeProcess) -> None:
        """Let the front-end before a node know what is behind it, or has moved there."""
        if path in self._where or path.startswith(f"{MADE}/"):
            self._where[path] = next(name for name, one in self._nodes.items() if one is node)
        for place in self._places.values():
            if place.channel is node.channel:
                place.orders.lead(path, node.home)

    # --- the life of the assembly, in threads of its own ----------------------------------------

    def _assemble(self) -> None:
        try:
            plan = self._plan()
            where = self._where = dict(
                spread_components(outline_of_plan(plan.root), self._deployment)
            )
            for virtual, names in idle_nodes(where, self._deployment).items():
                _log.warning(
                    "%s of the virtual node '%s' %s no component: there are fewer than nodes",
                    ", ".join(names),
                    virtual,
                    "has" if len(names) == 1 else "have",
                )

            def node_of(one: ComponentPlan) -> NodeProcess | None:
                return self._nodes[where[one.path]] if one.path in where else None

            idle = {
                f"{cluster.path}/{node.name}"
                for site in self._deployment.sites
                for cluster in site.clusters
                for node in cluster.nodes
            } - self._clusters.keys()
            factory = NodeFactory(self._host, node_of, self._lead, self._nodes, idle)
            self._factory = factory
            root = assemble(plan, make=factory.make, find_remote=find_remote)
            self._host.publish(root.path, root)
        except Exception as error:  # constructors of the user's may raise anything
            self._wait_for_loss(error)
            why = f"the assembly cannot be made: {words_of(error)}"
            self._post(StepFailed(_ASSEMBLE, why))
            self.over(why)
        else:
            self._root = root
            self._post(StepUp(_ASSEMBLE))

    def _plan(self) -> AssemblyPlan:
        folder = str(Path(self._file).parent)
        if folder not in sys.path:  # the user's code may import at any time
            sys.path.insert(0, folder)
        found = Diagnostics()
        plan = self._made_in_python or plan_document(
            self._file, arguments=self._arguments, diagnostics=found
        )
        if plan is not None and has_run(plan.root) and not self._steered:
            self._operation = run_operation(plan.root, found)
        if plan is None or found.errors:
            raise GridError(
                "the document has faults",
                place=self._file,
                cause="\n".join(map(str, found.by_location())),
            )
        return plan

    def _live(self) -> None:
        code, why = 0, ""
        try:
            self._start()
            if self._operation:
                code, why = self._run()
        except Exception as error:  # whatever the user's code raises is told the same way
            self._wait_for_loss(error)
            code, why = 1, f"the assembly failed: {words_of(error)}"
            if not self._is_started:
                self.over(why)
        if self._operation or code:
            later, more = self._finish()
            self._post(AssemblyEnded(code or later, why or more))
        elif self._deployment.applications and not self._steered:
            self._post(AssemblyEnded(0))  # it serves the applications, and ends when they do

    def _start(self) -> None:
        assert self._root is not None
        try:
            self._root.start()
            self._is_started = True
        finally:
            with self._changed:
                self._is_starting = False
                self._changed.notify_all()

    def _run(self) -> tuple[int, str]:
        assert self._root is not None
        result = result_of(getattr(self._root.server(RUN).stub, self._operation)())
        self.result = result.text
        return result.code, result.complaint

    def _finish(self) -> tuple[int, str]:
        """Stop and terminate in good order; return 1 and why if that fails."""
        if not self._claim_end():
            return 0, ""
        errors = self._stop_and_terminate()
        for error in errors:
            self._wait_for_loss(error)
        if self._outlives_nodes and self._lost.is_set():
            errors = _but_losses(errors)  # what could not be told to end has gone
        self._ended.set()
        return (
            (1, f"the assembly could not be ended: {_words_of_all(errors)}") if errors else (0, "")
        )

    def _end_anyway(self) -> None:
        """End what can be ended: the run is over, and what is left ends with its process."""
        if errors := _but_losses(self._stop_and_terminate()):
            why = f"the assembly did not stop in order: {_words_of_all(errors)}"
            self._post(AssemblyEnded(1, why))
        self._ended.set()

    def _stop_and_terminate(self) -> list[Exception]:
        """End all components; return what they raise, each by itself.

        Those that did not stop in order are terminated too: a call of a stopped component waits for
        its next start, one of a terminated component is refused.
        """
        assert self._root is not None
        errors: list[Exception] = []
        for root in (*reversed(self._added), self._root):  # what was added calls what was there
            try:
                root.stop()
            except Exception as error:  # hooks of the user's may raise anything
                errors += _each_of(error)
            try:
                root.terminate()
            except IllegalLifeCycleError as error:
                if not errors:  # else it follows from what is told
                    errors.append(error)
            except Exception as error:
                errors += _each_of(error)
        return errors

    def _claim_end(self) -> bool:
        with self._changed:
            first, self._is_ending = not self._is_ending, True
            self._is_started = False
        return first

    def _wait_for_loss(self, error: Exception) -> None:
        """Let a lost node be told first, when that may be why a connection has ended."""
        if isinstance(error, TransportError):
            self._lost.wait(LOSS_SECONDS)

    @staticmethod
    def _work(name: str, work: Callable[[], None]) -> None:
        # Nobody joins these threads: the user's code may never return from a call.
        threading.Thread(target=work, name=name, daemon=True).start()


def _each_of(error: Exception) -> Iterator[Exception]:
    """Yield an error, or those of a group: several components may fail in one stop."""
    if isinstance(error, ExceptionGroup):
        for one in error.exceptions:
            yield from _each_of(one)
    else:
        yield error


def _but_losses(errors: Iterable[Exception]) -> list[Exception]:
    return [one for one in errors if not isinstance(one, TransportError)]


def _words_of_all(errors: Iterable[Exception]) -> str:
    return "\n".join(map(words_of, errors))


def words_of(error: BaseException) -> str:
    """Return the traceback of the user's own code where it is at fault, else the message."""
    words = told_to_user(error, also_ours=_OURS)
    own_fault = isinstance(error, GridError) and "  File " not in words
    return str(error) if own_fault else words
