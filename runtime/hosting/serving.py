"""Carries out the calls that come in from other processes: off the reactor's thread, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

from gcm.components.composite import Composite
from gcm.errors import NoSuchInterfaceError
from gcm.interfaces.call_chain import of_header, work_on
from gcm.interfaces.distribution import is_redistributing, redistributes
from gcm.interfaces.future import Future
from gcm.interfaces.interface import Interface, ServerInterface
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.stub import Stub, port_name
from gcm.interfaces.submission import is_asynchronous, submit_to
from gcm.invocation import Invocation
from gcm.suggestion import did_you_mean
from gcm.tracebacks import users_part
from runtime.hosting.awaited_calls import ASKED, AwaitedCalls
from runtime.hosting.exports import Exports
from runtime.hosting.lent_blocks import BLOCKS, LentBlocks, arrived, of_blocks
from runtime.hosting.remote import ADMIT, BINDING, DISMISS, TYPE_OF
from runtime.hosting.workers import SerialQueue, Work, Workers
from runtime.machine.contracts import CONTRACTS
from runtime.transport.channel import IncomingCall
from runtime.transport.errors import ChannelClosed
from runtime.transport.messages import Target
from runtime.transport.reactor import Reactor

Opened = Callable[[], Invocation]
Run = Callable[[Work], bool]

SLOW_SECONDS = 0.001
"""What took longer the last time is carried out by a worker."""

_OURS = (str(Path(__file__).parents[1]) + "/",)


class Serving:
    """Resolves each call against the exports at once, and carries it out in a worker.

    A passive component works in the threads of its callers, all at once. The calls of an active
    object, and those of one client to one gathered operation, are handed over in the order in
    which they came.
    """

    def __init__(
        self,
        exports: Exports,
        blocks: LentBlocks,
        awaited: AwaitedCalls,
        name: str,
        reactor: Reactor,
    ) -> None:
        self._exports = exports
        self._awaited = awaited
        self.blocks = blocks
        self._reactor = reactor
        self.name = name
        self._workers = Workers(name)
        # A thread that has stopped a component may not wait for it to be started again, so the
        # threads of functional calls never stop anything.
        self._controllers = Workers(f"{name} control")
        self._lanes: dict[object, dict[object, SerialQueue]] = {}
        self._ways: dict[Callable[..., Any], _Way] = {}
        self._lock = threading.Lock()

    def takes(self, request: IncomingCall) -> bool:
        """Carry out and answer a call of a passive component; False: `serve` has to see to it.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: it leads nowhere.
        """
        target = request.target
        if target.interface in (BINDING, BLOCKS):
            return False
        operation = self._exports.operation(target, request.channel)
        way = self._way(operation)
        if not way.is_usual:
            return False
        if not self._run_usual(way, _UsualCall(request, operation, way, self.name)):
            request.answer(self._closed(target), None)
        return True

    def serve(self, target: Target, opened: Opened, whose: object) -> Future[Any]:
        """Return the future of a call; `opened` opens its arguments, `whose` says who sent it.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: it leads nowhere.
        """
        if target.interface == BINDING:
            call = _Service(self, opened, target, self._binding(target, whose))
            run: Run = self._workers.run
        elif target.interface == BLOCKS:
            call = _Service(self, opened, target, self.blocks.take)
            run = self._workers.run
        else:
            operation = self._exports.operation(target, whose)
            call = _Service(self, opened, target, operation)
            run = self._in_order(call, operation, target, whose)
        if not run(call):
            call.set_exception(self._closed(target))
        return call

    def work(self, work: Callable[[], object]) -> bool:
        """Do something in a worker; return whether: after `close` it is not done."""
        return self._workers.run(work)

    def close(self) -> None:
        """Let the workers end; what is called from now on fails."""
        self._controllers.close()
        self._workers.close()

    def forget(self, whose: object) -> None:
        """Dismiss the clients of a process that is gone."""
        self.forget_ways()
        with self._lock:
            self._lanes.pop(whose, None)
        # Not in the caller's thread: a round that no longer waits for them may fire.
        self._workers.run(lambda: self._exports.forget(whose))

    def forget_ways(self) -> None:
        """Hold on to no component that was called: it may have been withdrawn."""
        self._ways = {}

    def _closed(self, target: Target) -> ChannelClosed:
        gone = f"{target} is not called any more: the process {self.name} ends"
        return ChannelClosed(gone, place=target.component)

    def _binding(self, target: Target, whose: object) -> Callable[..., Any]:
        """Return one of the operations through which processes bind."""
        path = target.component
        known: dict[str, Callable[..., Any]] = {
            TYPE_OF: lambda interface: self._exports.type_of(path, interface),
            ADMIT: lambda interface, client: self._exports.admit(path, interface, client, whose),
            ASKED: self._awaited.answer,
            DISMISS: lambda interface, client: self._exports.dismiss(
                path, interface, client, whose
            ),
        }
        if target.operation not in known:
            raise NoSuchInterfaceError(
                f"the interface has no operation '{target.operation}'",
                component=path,
                interface=BINDING,
                cure=did_you_mean(target.operation, known),
            )
        return known[target.operation]

    def _in_order(
        self, call: _Service, operation: Callable[..., Any], target: Target, whose: object
    ) -> Run:
        """Return what runs calls of `operation`: in order where that means something."""
        way = self._way(operation)
        if way.is_usual:
            call.way = way
            return partial(self._run_usual, way)
        end = _end_of(operation)
        exchanges = redistributes(end.type.signature)
        if exchanges:
            call.exchanges_blocks_of(end, target.operation)
        call.waits_for_others = is_asynchronous(operation)
        if not isinstance(end, ServerInterface):
            return self._workers.run
        if end.gathering is not None:
            return self._lane(whose, (end, target.client, target.operation)).run
        if not end.is_functional:
            return self._controllers.run
        admits_calls = end.owner.membrane.admits_calls
        if admits_calls and end.type.signature in CONTRACTS:
            return _at_once
        if call.waits_for_others or not admits_calls:
            return self._lane(whose, end).run
        return self._workers.run  # it may wait for rows that lie elsewhere

    def _way(self, operation: Callable[..., Any]) -> _Way:
        """Return how calls of an operation are served, which changes with its port only."""
        way = self._ways.get(operation)
        if way is None or not way.holds():
            was_slow = way is not None and way.is_slow
            way = self._ways[operation] = _Way(operation, is_slow=was_slow)
        return way

    def _run_usual(self, way: _Way, work: Work) -> bool:
        """Let the thread that received a call carry it out if no other one has to be woken."""
        if way.is_slow or not self._reactor.is_own_thread():
            return self._workers.run(work)
        if self._workers.are_closed:
            return False
        self._reactor.task(work, self._workers.run)
        return True

    def _lane(self, whose: object, key: object) -> SerialQueue:
        with self._lock:
            lanes = self._lanes.setdefault(whose, {})
            if key not in lanes:
                lanes[key] = SerialQueue(self._workers)
            return lanes[key]


class _Way:
    """How calls of one operation are served, for as long as it leads where it led.

    A *usual* one is carried out by any thread, in no order.
    """

    __slots__ = ("_links", "is_slow", "is_usual")

    def __init__(self, operation: Callable[..., Any], *, is_slow: bool) -> None:
        self._links = _links_of(operation)
        self.is_slow = is_slow
        """Whether it took long the last time: it would hold up other calls."""
        end = _end_of(operation)
        signature = end.type.signature
        self.is_usual = (
            isinstance(end, ServerInterface)
            and end.is_functional
            and end.gathering is None
            and end.owner.membrane.admits_calls
            and signature not in CONTRACTS
            and not redistributes(signature)
            and not is_asynchronous(operation)
        )

    def holds(self) -> bool:
        """Tell whether nothing has changed: controllers and life cycles exchange ports."""
        if self._links is None:
            return False
        for stub, slot, port in self._links:  # noqa: SIM110 - this is faster
            if getattr(stub, slot) is not port:
                return False
        return True

    def took(self, seconds: float) -> None:
        """Note how long a call took, which decides about the next one."""
        self.is_slow = seconds > SLOW_SECONDS


class _UsualCall:
    """A call that any thread may carry out, by calling this, and that is answered then."""

    __slots__ = ("_operation", "_place", "_request", "_way")

    def __init__(
        self, request: IncomingCall, operation: Callable[..., Any], way: _Way, place: str
    ) -> None:
        self._request = request
        self._operation = operation
        self._way = way
        self._place = place

    def __call__(self) -> None:
        """Open the arguments, call, and answer."""
        begun = time.perf_counter()
        request = self._request
        try:
            args, kwargs = request.arguments()
            if chain := request.target.chain:
                before = work_on(of_header(chain))
                try:
                    result = self._operation(*args, **kwargs)
                finally:
                    work_on(before)
            else:
                result = self._operation(*args, **kwargs)
        except BaseException as error:  # the caller gets it; the thread serves on
            request.answer(_for_travel(error, request.target, self._place), None)
        else:
            request.answer(None, result)
        self._way.took(time.perf_counter() - begun)


class _Service(Future[Any]):
    """A call that is carried out, by whatever thread calls this: the future of its result."""

    _state = "RUNNING"  # it cannot be cancelled
    _exchange: Operation | None = None
    _passes_on = False
    way: _Way | None = None
    waits_for_others = False
    """Whether others than the thread that calls do the work."""

    def __init__(
        self, serving: Serving, opened: Opened, target: Target, operation: Callable[..., Any]
    ) -> None:
        super().__init__(target)
        self._serving = serving
        self._opened = opened
        self._target = target
        self._operation = operation

    def exchanges_blocks_of(self, end: Interface, name: str) -> None:
        """Let the blocks of arrays that an operation exchanges stay where they are."""
        described = signature_of(end.type.signature).operations[name]
        if is_redistributing(described):
            self._exchange = described
            self._passes_on = isinstance(end.owner, Composite)

    def __call__(self) -> None:
        """Open the arguments and call."""
        begun = time.perf_counter()
        chain = self._target.chain
        try:
            call = self._opened()
            args, kwargs = call.args, call.kwargs
            if self._exchange is not None and not self._passes_on:
                args, kwargs = of_blocks(self._exchange, arrived, args, kwargs)
            before = work_on(of_header(chain, is_arriving=self.waits_for_others) if chain else None)
            try:
                if self.waits_for_others:
                    result = submit_to(self._operation, args, kwargs)
                else:
                    result = self._operation(*args, **kwargs)
            finally:
                work_on(before)
            if self.waits_for_others:
                result.add_done_callback(self._take)
            else:
                self._finish(result)
        except BaseException as error:  # the caller gets it; the thread serves on
            self._fail(error)
        if self.way is not None:
            self.way.took(time.perf_counter() - begun)

    def _take(self, done: Future[Any]) -> None:
        error = done.exception()
        if error is not None:
            self._fail(error)
            return
        try:
            self._finish(Future.result(done))  # pieces of arrays as they are
        except Exception as fault:  # the caller gets it
            self._fail(fault)

    def _finish(self, result: Any) -> None:
        if self._exchange is not None and self._exchange.reduction is None:
            result = self._serving.blocks.outgoing(result, None)
        self.set_result(result)

    def _fail(self, error: BaseException) -> None:
        self.set_exception(_for_travel(error, self._target, self._serving.name))


def _end_of(operation: Any) -> Any:
    """Return the interface of whose stub an operation is the method."""
    return operation.__self__._end


def _links_of(operation: Any) -> list[tuple[Stub, str, Any]] | None:
    """Return the stubs that calls run through, each with its port; None: who knows what follows."""
    links = []
    port = operation
    while isinstance(port, MethodType) and isinstance(stub := port.__self__, Stub):
        slot = port_name(port.__name__)
        port = getattr(stub, slot)
        links.append((stub, slot, port))
    return links if isinstance(port, MethodType | FunctionType) else None


def _at_once(work: Work) -> bool:
    """Carry out here and now what never waits, so that it stays in the order in which it came."""
    work()
    return True


def _for_travel(error: BaseException, target: Target, process: str) -> BaseException:
    """Return an exception whose traceback begins in the user's code and that says where it was."""
    if not getattr(error, "__notes__", ()):  # only where it began: it may pass through many
        error.add_note(f"raised in {target.component}, in the process {process}")
    return error.with_traceback(users_part(error.__traceback__, also_ours=_OURS))
