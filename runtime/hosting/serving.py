"""Carries out the calls that come in from other processes: off the reactor's thread, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gcm.components.composite import Composite
from gcm.errors import NoSuchInterfaceError
from gcm.interfaces.call_chain import of_header, working_on
from gcm.interfaces.distribution import is_redistributing, redistributes
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ServerInterface
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.stub import Stub
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
        self._blocks = blocks
        self._reactor = reactor
        self._name = name
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
            return self._carry_out(self._workers.run, opened, target, self._binding(target, whose))
        if target.interface == BLOCKS:
            return self._carry_out(self._workers.run, opened, target, self._blocks.take)
        operation = self._exports.operation(target, whose)
        run = self._in_order(operation, target, whose)
        return self._carry_out(run, opened, target, operation)

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

    def _in_order(self, operation: Callable[..., Any], target: Target, whose: object) -> Run:
        """Return what runs calls of `operation`: in order where that means something."""
        stub: Stub = operation.__self__  # type: ignore[attr-defined]  # a method of a stub
        end = stub._end
        if not isinstance(end, ServerInterface):
            return self._workers.run
        if end.gathering is not None:
            return self._lane(whose, (end, target.client, target.operation)).run
        if not end.is_functional:
            return self._controllers.run
        if end.type.signature in CONTRACTS and end.owner.membrane.admits_calls:
            return _at_once
        if is_asynchronous(operation) or not end.owner.membrane.admits_calls:
            return self._lane(whose, end).run
        called = end, target.operation
        if redistributes(end.type.signature):  # it may wait for rows that lie elsewhere
            return self._workers.run
        if called in self._slow or not self._reactor.is_own_thread():
            return lambda work: self._workers.run(lambda: self._timed(called, work))
        return lambda work: self._run_at_once(lambda: self._timed(called, work))

    def _run_at_once(self, work: Work) -> bool:
        """Let the thread that received a call carry it out: no other one has to be woken."""
        if self._workers.are_closed:
            return False
        self._reactor.task(work, self._workers.run)
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

    def _carry_out(
        self, run: Run, opened: Opened, target: Target, operation: Callable[..., Any]
    ) -> Future[Any]:
        future: Future[Any] = Future(target)
        future.set_running_or_notify_cancel()
        here = f"raised in {target.component}, in the process {self._name}"

        described = _exchange_of(operation)
        passes_on = described is not None and isinstance(_end_of(operation).owner, Composite)

        def work() -> None:
            try:
                call = opened()
                args, kwargs = call.args, call.kwargs
                if described is not None and not passes_on:
                    args, kwargs = of_blocks(described, arrived, args, kwargs)
                arrives = bool(target.chain) and is_asynchronous(operation)
                with working_on(of_header(target.chain, is_arriving=arrives)):
                    done = submit_to(operation, args, kwargs)
            except BaseException as error:  # the caller gets it; the thread serves on
                future.set_exception(_for_travel(error, here))
            else:
                done.add_done_callback(lambda _: pass_on(done))

        def pass_on(done: Future[Any]) -> None:
            error = done.exception()
            if error is not None:
                future.set_exception(_for_travel(error, here))
                return
            try:
                result = Future.result(done)  # pieces of arrays as they are
                if described is not None and described.reduction is None:
                    result = self._blocks.outgoing(result, None)
            except Exception as fault:  # the caller gets it
                future.set_exception(_for_travel(fault, here))
            else:
                future.set_result(result)

        if not run(work):
            gone = f"{target} is not called any more: the process {self._name} ends"
            future.set_exception(ChannelClosed(gone, place=target.component))
        return future


def _exchange_of(operation: Callable[..., Any]) -> Operation | None:
    """Return the description of an operation that exchanges blocks of arrays, else None."""
    if not isinstance(getattr(operation, "__self__", None), Stub):
        return None
    signature = _end_of(operation).type.signature
    if not redistributes(signature):
        return None
    described = signature_of(signature).operations[operation.__name__]
    return described if is_redistributing(described) else None


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
