"""Requests: calls in the queue of an active object, the ports that make them, and priorities."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from gcm.components.controller import Controller
from gcm.components.model import Component
from gcm.errors import CircularCallError, GcmError, NoSuchInterfaceError
from gcm.interfaces.call_chain import (
    Link,
    LinkElsewhere,
    current,
    is_arriving,
    new_number,
    waiting_for,
    waiting_in,
)
from gcm.interfaces.future import Future, finished
from gcm.interfaces.going_on import outside
from gcm.interfaces.value import by_value, no_copy
from gcm.suggestion import did_you_mean

if TYPE_CHECKING:
    from gcm.membranes.requests.request_queue import RequestQueueController


class Priority(IntEnum):
    """Which request overtakes which: NF3 all, NF2 functional ones, the others wait their turn."""

    FUNCTIONAL = 0
    NF1 = 1
    NF2 = 2
    NF3 = 3


_FUNCTIONAL = Priority.FUNCTIONAL  # found faster than through the enumeration


@dataclass(slots=True, eq=False)
class Request:
    """One call in the queue of an active object."""

    interface: str
    operation: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    priority: Priority = _FUNCTIONAL
    queue: RequestQueueController | None = None
    is_awaited: bool = False
    """Whether its caller waits for it; see `call_chain`."""
    caller: Link | None = field(init=False)
    future: Future[Any] = field(init=False)
    refusal: GcmError | None = None
    waits_for: Request | None = None
    """The request whose result the serving thread waits for."""
    _number: str = ""

    def __post_init__(self) -> None:
        """Make the future for the caller."""
        self.caller = current()
        self.future = RequestFuture(self)

    @property
    def number(self) -> str:
        """Its number, unique among all processes."""
        if not self._number:
            self._number = new_number()
        return self._number

    @property
    def where(self) -> str:
        """The path of the component, the interface and the operation."""
        return f"{self.queue.component.path}.{self}" if self.queue else str(self)

    def __str__(self) -> str:
        return f"{self.interface}.{self.operation}"


class RequestFuture(Future[Any]):
    """The result of a request; waiting also ends when nothing is served any more."""

    about: Request

    def _passed(self, gate: threading.Lock, timeout: float | None) -> bool:
        queue = self.about.queue
        if timeout is not None or queue is None:
            return super()._passed(gate, timeout)
        waiting = current()
        if waiting is None:
            return self._looked_after(gate, queue)
        self.about.is_awaited = True
        # Not those of other processes, in components without queues.
        held_up = [one for one in waiting_in(waiting) if isinstance(one, Request)]
        if not held_up:
            return self._looked_after(gate, queue)
        for one in held_up:
            one.waits_for = self.about
        try:
            if gate.acquire(timeout=CIRCLE_SECONDS):
                return True
            for one in held_up:
                refuse_circle(one, self.about)
            return self._looked_after(gate, queue)
        finally:
            for one in held_up:
                one.waits_for = None

    def _looked_after(self, gate: threading.Lock, queue: RequestQueueController) -> bool:
        first = rest = queue.component.membrane.lifecycle.hold_timeout
        begin = 0.0
        while not gate.acquire(timeout=rest):
            begin = begin or time.monotonic() - first  # when it was not needed, not asked for
            rest = queue.look_after(self.about, begin)
        return True


CIRCLE_SECONDS = 1.0
"""Seconds that an active object waits before it checks for a cycle."""


def check_chain(request: Request) -> None:
    """Refuse a call that could be served only after itself.

    Raises:
        CircularCallError: the component serves a request that waits for the call.
    """
    serving = request.queue.serving if request.queue else None
    if serving is None or not request.is_awaited:
        return
    chain = [request.where]
    for link in waiting_for(request.caller):
        chain.append(link.where)
        if link is serving or (isinstance(link, LinkElsewhere) and link.number == serving.number):
            raise _circular(request, chain[::-1])


def refuse_circle(waiting: Request, awaited: Request) -> None:
    """Refuse a call if `waiting`, which is being served, would wait for itself."""
    circle = [awaited]
    while (queue := circle[-1].queue) is not None and queue.serving is not waiting:
        onward = queue.serving.waits_for if queue.serving else None
        if onward is None or onward in circle:
            return
        circle.append(onward)
    refuse(circle, [waiting.where, *(one.where for one in circle)])


def refuse(circle: Sequence[Request], chain: Sequence[str]) -> bool:
    """Refuse the first request of a circle that still waits in a queue; tell if there was one."""
    for request in circle:
        if request.queue is not None and request.queue.withdraw(request):
            request.queue.fail(request, _circular(request, chain))
            return True
    return False


def _circular(request: Request, chain: Sequence[str]) -> CircularCallError:
    first, *others = chain
    return CircularCallError(
        f"the call would wait for itself: {first} waits for " + ", which waits for ".join(others),
        component=request.queue.component.path if request.queue else "",
        interface=request.interface,
        cure="Let one of them go on without the result (submit), or declare the operation that "
        "comes back @immediate, which is served in the thread of its caller",
    )


def insert(waiting: deque[Request], request: Request) -> None:
    """Queue `request` according to its priority.

    NF3 passes everything but earlier NF3; NF2 passes the functional requests at the end of the
    queue; NF1 and functional requests go to the end.
    """
    place = len(waiting)
    if request.priority is Priority.NF3:
        place = sum(1 for other in waiting if other.priority is Priority.NF3)
    elif request.priority is Priority.NF2:
        while place and waiting[place - 1].priority is _FUNCTIONAL:
            place -= 1
    waiting.insert(place, request)


class QueuePort:
    """The port of one operation of an active object: a call becomes a request in its queue."""

    __slots__ = ("_interface", "_operation", "_queue")

    def __init__(self, queue: RequestQueueController, interface: str, operation: str) -> None:
        self._queue = queue
        self._interface = interface
        self._operation = operation

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Queue the call and wait for its result; a call to oneself is served at once."""
        queue = self._queue
        if queue.is_own_thread() or (not queue.is_serving and self._is_for_oneself()):
            return queue.serve_now(self._interface, self._operation, args, kwargs)
        return outside(self._queued(args, kwargs, is_awaited=True).result)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue the call and return at once with the future of its result.

        Raises:
            CopyError: an argument cannot be copied.
        """
        # A call from another process or of a round arrives here last: its callers may wait for it.
        arrives = is_arriving(current())
        if arrives and self._is_in_start():
            call = self._interface, self._operation, args, kwargs
            return finished(self._queue.serve_now, call, {})
        return self._queued(args, kwargs, is_awaited=arrives)

    def _queued(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], *, is_awaited: bool
    ) -> Future[Any]:
        """Queue the call.

        Raises:
            CopyError: an argument cannot be copied.
            CircularCallError: the component waits for the call.
        """
        queue = self._queue
        if not queue.is_serving:
            queue.component.membrane.lifecycle.bring_up()
        try:
            args, kwargs = by_value(args), by_value(kwargs) if kwargs else kwargs
        except Exception as error:  # classes define their own copying
            what = f"an argument of '{self._operation}'"
            raise no_copy(what, error, queue.component.path, self._interface) from error
        request = Request(
            self._interface, self._operation, args, kwargs, self._priority(), queue, is_awaited
        )
        if request.caller is not None:
            check_chain(request)
        queue.enqueue(request)
        return request.future

    def _priority(self) -> Priority:
        return _FUNCTIONAL

    def _is_for_oneself(self) -> bool:
        """Return whether the caller is in the `on_start` of this very component.

        Raises:
            IllegalLifeCycleError: nothing is served, so waiting would never end.
        """
        if self._is_in_start():
            return True
        lifecycle = self._queue.component.membrane.lifecycle
        lifecycle.refuse_if_hopeless(self._interface, self._operation)
        return False

    def _is_in_start(self) -> bool:
        """Return whether `on_start` of the component is under way, and led to this call."""
        queue = self._queue
        if queue.is_serving or not queue.component.membrane.lifecycle.bring_up():
            return False
        return not queue.is_serving


class ControlPort(QueuePort):
    """The port of one control operation: its priority is looked up, and no state refuses it."""

    __slots__ = ()

    def _priority(self) -> Priority:
        priorities = self._queue.component.membrane.get(PriorityController)
        return priorities.get(self._interface, self._operation)

    def _is_for_oneself(self) -> bool:
        """Serve control calls in every state."""
        return False


_DEFAULTS = {"lifecycle": Priority.NF2, "monitor": Priority.NF3, "component": Priority.NF3}


class PriorityController(Controller):
    """Gives every operation of every control interface its priority.

    Functional operations are always `FUNCTIONAL`. Unless set otherwise, the life-cycle has NF2,
    introspection and monitoring NF3, and everything else NF1.
    """

    __slots__ = ("_chosen",)
    name = "priority"

    def __init__(self, component: Component) -> None:
        super().__init__(component)
        self._chosen: dict[tuple[str, str], Priority] = {}

    def get(self, controller: str, operation: str) -> Priority:
        """Return the priority of an operation of a controller."""
        return self._chosen.get((controller, operation), _DEFAULTS.get(controller, Priority.NF1))

    def set(self, controller: str, operation: str, priority: Priority) -> None:
        """Give an operation of a controller another priority.

        Raises:
            NoSuchControllerError: there is no such controller.
            NoSuchInterfaceError: the controller has no such operation, or the priority is
                `FUNCTIONAL`, which no control call can have.
        """
        known = self.component.membrane[controller].operations()
        if operation not in known:
            raise NoSuchInterfaceError(
                f"the controller '{controller}' has no operation '{operation}'",
                component=self.component.path,
                cure=did_you_mean(operation, known) or f"It has: {', '.join(known)}",
            )
        if priority is Priority.FUNCTIONAL:
            raise NoSuchInterfaceError(
                f"'{controller}.{operation}' is not functional",
                component=self.component.path,
                cure="Choose NF1, which waits its turn like a functional request",
            )
        self._chosen[controller, operation] = priority
