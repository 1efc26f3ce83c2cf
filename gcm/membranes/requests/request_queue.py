"""The `request-queue` controller: makes a component an active object with a thread of its own.

Requests wait in one queue and one thread serves them, so the content needs no locks. Arguments and
results are passed by value, as between processes.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gcm.components.controller import Controller, Port
from gcm.errors import GcmError, IllegalLifeCycleError
from gcm.interfaces.call_chain import work_on
from gcm.interfaces.future import as_ours
from gcm.interfaces.stacks import inside
from gcm.interfaces.value import by_value, no_copy
from gcm.membranes.requests.request import ControlPort, Priority, QueuePort, Request, insert

if TYPE_CHECKING:
    from gcm.components.model import Component
    from gcm.interfaces.interface import Interface


__all__ = ["Policy", "Priority", "Request", "RequestQueueController", "insert"]

_FUNCTIONAL = Priority.FUNCTIONAL  # found faster than through the enumeration

Policy = Callable[[Sequence[Request]], int | None]
"""Chooses the index of the next functional request; None: serve none now."""


class ServingThread(threading.Thread):
    """The thread that serves the queue of an active object."""

    def __init__(self, queue: RequestQueueController, serve: Callable[[], None]) -> None:
        super().__init__(target=serve, name=f"serving {queue.component.path}", daemon=True)
        self.queue = queue


class RequestQueueController(Controller):
    """Owns the queue and the serving thread of an active object."""

    name = "request-queue"
    __not_operations__ = Controller.__not_operations__ | {
        "allow",
        "enqueue",
        "fail",
        "is_own_thread",
        "look_after",
        "observe",
        "port",
        "refuse",
        "requests",
        "resume",
        "serve_now",
        "withdraw",
    }

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._waiting: deque[Request] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Lock()  # locked but for the moment of waking; a lock is the fastest
        self._wake.acquire()
        self._idle = False
        self._ended = False
        self.is_serving = False
        self._policy: Policy | None = None
        self._ports: dict[tuple[str, str], Port] = {}
        self._thread: threading.Thread | None = None
        self._serving_thread = 0
        self._observer: Callable[[Request, int], None] | None = None
        self.serving: Request | None = None

    def length(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    def pending(self) -> list[str]:
        """Return the waiting requests in order, each as interface and operation."""
        with self._lock:
            return [str(request) for request in self._waiting]

    def set_policy(self, policy: Policy | None) -> None:
        """Make `policy` choose the next functional request; None is first in, first out."""
        with self._lock:
            self._policy = policy
            self._rouse()

    def cancel_all(self, why: str) -> int:
        """Refuse every waiting functional request with `why`; return how many there were."""
        with self._lock:
            refused = [r for r in self._waiting if r.priority is _FUNCTIONAL]
            self._waiting = deque(r for r in self._waiting if r.priority is not _FUNCTIONAL)
        self.refuse(refused, why)
        return len(refused)

    def wrap(self, interface: Interface, operation: str, proceed: Port) -> Port:
        """Queue incoming calls, except for operations that are served at once."""
        if interface.type.is_client or self.component.serves_at_once(operation):
            return proceed
        return self.port(interface.name, operation, proceed)

    def port(self, interface: str, operation: str, proceed: Port) -> QueuePort:
        """Return the port that queues calls of a functional operation which `proceed` serves.

        The newest `proceed` also serves requests that were queued earlier: they meet a reconfigured
        component as it is then.
        """
        self._ports[interface, operation] = proceed
        return QueuePort(self, interface, operation)

    def wrap_control(self, controller: Controller, operation: str, proceed: Port) -> Port:
        """Queue control calls by their priority, except those on the queue itself.

        These would come too late in the queue.
        """
        if controller.name == "priority":
            return proceed
        self._ports[controller.name, operation] = proceed
        return ControlPort(self, controller.name, operation)

    def terminated(self) -> None:
        """Refuse waiting requests and end the thread."""
        with self._lock:
            self._ended = True
            refused, self._waiting = list(self._waiting), deque()
            self._rouse()
        self.refuse(refused, "the component has ended while requests were waiting")
        thread = self._thread
        if thread is not None and thread is not threading.current_thread() and not self.serving:
            thread.join()  # unless it waits in a round of another component, and ends after that

    def resume(self) -> None:
        """Serve functional requests again."""
        self.allow(True)

    def allow(self, functional: bool) -> None:
        """Allow or forbid that functional requests are taken from the queue."""
        if functional is not self.is_serving:
            with self._lock:
                self.is_serving = functional
                self._rouse()

    def is_own_thread(self) -> bool:
        """Return whether the caller is the thread that serves this queue."""
        return threading.get_ident() == self._serving_thread

    def look_after(self, request: Request, begin: float) -> float:
        """Refuse `request` if it was held too long; return how long to wait for it yet.

        Its caller has waited since `begin`. A refused request is not served later.
        """
        life = self.component.membrane.lifecycle
        if self.is_serving or request.priority is not _FUNCTIONAL:
            return life.hold_timeout
        rest = max(begin, life.closed_since) + life.hold_timeout - time.monotonic()
        if rest > 0:
            return rest
        with self._lock:
            held = request in self._waiting and not self.is_serving
            if held:
                self._waiting.remove(request)
        if held:
            self.fail(request, life.not_started_again(request.interface, request.operation))
        return life.hold_timeout

    def observe(self, observer: Callable[[Request, int], None] | None) -> None:
        """Call `observer` for every incoming request, with the number of those before it."""
        self._observer = observer

    def serve_now(
        self, interface: str, operation: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Serve a call that the component makes to itself: queued it would wait for ever."""
        return self._ports[interface, operation](*args, **kwargs)

    def withdraw(self, request: Request) -> bool:
        """Take a request out of the queue; return whether it was still there."""
        with self._lock:
            if request not in self._waiting:
                return False
            self._waiting.remove(request)
        return True

    @staticmethod
    def fail(request: Request, error: GcmError) -> None:
        """Give an error to the caller of a request that was taken out of the queue."""
        if request.future.set_running_or_notify_cancel():
            request.future.set_exception(error)

    def enqueue(self, request: Request) -> None:
        """Queue `request`; the first one starts the serving thread."""
        if self._observer is not None:
            self._observer(request, len(self._waiting))
        with self._lock:  # also while this is read: behind the end nobody would serve it
            if not self._ended:
                self._admit(request)
                return
        self.refuse([request], "the component has ended")

    def _admit(self, request: Request) -> None:
        if request.priority is _FUNCTIONAL:
            self._waiting.append(request)
        else:
            insert(self._waiting, request)
        if self._idle:
            self._idle = False
            self._wake.release()
        elif self._thread is None:
            self._thread = ServingThread(self, self._serve)
            self._thread.start()

    def _rouse(self) -> None:
        """Make the serving thread look at the queue again; called with the lock held."""
        if self._idle:
            self._idle = False
            self._wake.release()

    def requests(self) -> list[Request]:
        """Return the functional request that is served, and those that wait."""
        with self._lock:
            return [*filter(None, [self.serving]), *self._waiting]

    def _serve(self) -> None:
        self._serving_thread = threading.get_ident()
        while True:
            with self._lock:
                request = self._next()
                self.serving = request if request and request.priority is _FUNCTIONAL else None
                if request is None:
                    if self._ended:
                        self._serving_thread = 0  # another thread may get this number
                        return
                    self._idle = True
            if request is None:
                work_on(None)
                self._wake.acquire()
            elif request.future.set_running_or_notify_cancel():
                self._serve_one(request)

    def _serve_one(self, request: Request) -> None:
        work_on(request)
        try:
            if request.refusal is not None:
                raise request.refusal
            port = self._ports[request.interface, request.operation]
            if request.priority is _FUNCTIONAL:
                result = inside(self.component, request, port, request.args, request.kwargs)
            else:
                result = port(*request.args, **request.kwargs)
            result = self._copied(as_ours(result), request)
        except BaseException as error:  # the caller gets it; the thread continues
            request.future.set_exception(error)
        else:
            request.future.set_result(result)

    def _copied(self, result: Any, request: Request) -> Any:
        try:
            return by_value(result)
        except Exception as error:  # classes define their own copying
            what = f"the result of '{request.operation}'"
            raise no_copy(what, error, self.component.path, request.interface) from error

    def _next(self) -> Request | None:
        """Take the next request that may be served now out of the queue; the lock is held."""
        if not self.is_serving:
            return self._first_control()
        if not self._waiting or self._policy is None:
            return self._waiting.popleft() if self._waiting else None
        if self._waiting[0].priority is not _FUNCTIONAL:
            return self._waiting.popleft()
        return self._chosen(self._policy) or self._first_control()

    def _first_control(self) -> Request | None:
        """Take out the first control request; functional ones before it may not be served now."""
        for place, request in enumerate(self._waiting):
            if request.priority is not _FUNCTIONAL:
                del self._waiting[place]
                return request
        return None

    def _chosen(self, policy: Policy) -> Request | None:
        """Take out the request that `policy` chooses; if that fails, the oldest gets the error."""
        functional = [r for r in self._waiting if r.priority is _FUNCTIONAL]
        try:
            choice = policy(functional)
            chosen = None if choice is None else functional[choice]
        except Exception as error:  # the thread must not end, and a caller has to see the error
            chosen = functional[0]
            chosen.refusal = self._policy_failure(chosen, error)
        if chosen is not None:
            self._waiting.remove(chosen)
        return chosen

    def _policy_failure(self, request: Request, error: Exception) -> GcmError:
        failure = IllegalLifeCycleError(
            f"the serving policy failed: {type(error).__name__}: {error}",
            component=self.component.path,
            interface=request.interface,
            state=self.component.membrane.lifecycle.state(),
            cure="Fix the policy, or take it away with set_policy(None)",
        )
        failure.__cause__ = error
        return failure

    def refuse(self, requests: Sequence[Request], why: str) -> None:
        """Give the callers of `requests` an error that says `why`."""
        for request in requests:
            self.fail(
                request,
                IllegalLifeCycleError(
                    why,
                    component=self.component.path,
                    interface=request.interface,
                    state=self.component.membrane.lifecycle.state(),
                ),
            )
