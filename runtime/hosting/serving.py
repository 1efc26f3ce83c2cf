"""Carries out the calls that come in from other processes: off the reactor's thread, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gcm.components.composite import Composite
from gcm.errors import NoSuchInterfaceError
from gcm.interfaces.call_chain import of_header, work_on
from gcm.interfaces.distribution import is_redistributing, redistributes
from gcm.interfaces.future import Future
from gcm.interfaces.interface import Interface, ServerInterface
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.submission import is_asynchronous, submit_to
from gcm.invocation import Invocation
from gcm.suggestion import did_you_mean
from gcm.tracebacks import users_part
from runtime.hosting.exports import Exports
from runtime.hosting.lent_blocks import BLOCKS, LentBlocks, arrived, of_blocks
from runtime.hosting.remote import ADMIT, BINDING, DISMISS, TYPE_OF
from runtime.hosting.workers import SerialQueue, Work, Workers
from runtime.machine.contracts import CONTRACTS
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

    def __init__(self, exports: Exports, blocks: LentBlocks, name: str, reactor: Reactor) -> None:
        self._exports = exports
        self.blocks = blocks
        self._reactor = reactor
        self.name = name
        self._workers = Workers(name)
        # A thread that has stopped a component may not wait for it to be started again, so the
        # threads of functional calls never stop anything.
        self._controllers = Workers(f"{name} control")
        self._lanes: dict[object, dict[object, SerialQueue]] = {}
        self._slow: set[tuple[ServerInterface, str]] = set()
        self._lock = threading.Lock()

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
            gone = f"{target} is not called any more: the process {self.name} ends"
            call.set_exception(ChannelClosed(gone, place=target.component))
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
        with self._lock:
            self._lanes.pop(whose, None)
        # Not in the caller's thread: a round that no longer waits for them may fire.
        self._workers.run(lambda: self._exports.forget(whose))

    def _binding(self, target: Target, whose: object) -> Callable[..., Any]:
        """Return one of the operations through which processes bind."""
        path = target.component
        known: dict[str, Callable[..., Any]] = {
            TYPE_OF: lambda interface: self._exports.type_of(path, interface),
            ADMIT: lambda interface, client: self._exports.admit(path, interface, client, whose),
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
        if exchanges:  # it may wait for rows that lie elsewhere
            return self._workers.run
        called = end, target.operation
        at_once = called not in self._slow and self._reactor.is_own_thread()
        return partial(self._run_timed, called, at_once)

    def _run_timed(self, called: tuple[ServerInterface, str], at_once: bool, work: Work) -> bool:
        """Let the thread that received a call carry it out if no other one has to be woken."""
        timed = partial(self._timed, called, work)
        if not at_once:
            return self._workers.run(timed)
        if self._workers.are_closed:
            return False
        self._reactor.task(timed, self._workers.run)
        return True

    def _timed(self, called: tuple[ServerInterface, str], work: Work) -> None:
        """Remember what takes long: it would hold up other calls, and does not notice a wake-up."""
        begun = time.perf_counter()
        work()
        if time.perf_counter() - begun > SLOW_SECONDS:
            self._slow.add(called)
        else:
            self._slow.discard(called)

    def _lane(self, whose: object, key: object) -> SerialQueue:
        with self._lock:
            lanes = self._lanes.setdefault(whose, {})
            if key not in lanes:
                lanes[key] = SerialQueue(self._workers)
            return lanes[key]


class _Service(Future[Any]):
    """A call that is carried out, by whatever thread calls this: the future of its result."""

    _state = "RUNNING"  # it cannot be cancelled
    _exchange: Operation | None = None
    _passes_on = False
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
        here = f"raised in {self._target.component}, in the process {self._serving.name}"
        self.set_exception(_for_travel(error, here))


def _end_of(operation: Any) -> Any:
    """Return the interface of whose stub an operation is the method."""
    return operation.__self__._end


def _at_once(work: Work) -> bool:
    """Carry out here and now what never waits, so that it stays in the order in which it came."""
    work()
    return True


def _for_travel(error: BaseException, here: str) -> BaseException:
    """Return an exception whose traceback begins in the user's code and that says where it was."""
    if not getattr(error, "__notes__", ()):
        error.add_note(here)  # only the place where it began: it may pass through many
    return error.with_traceback(users_part(error.__traceback__, also_ours=_OURS))
