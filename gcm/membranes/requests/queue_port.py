"""The ports of active objects: a call becomes a request in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gcm.interfaces.call_chain import LinkElsewhere, current
from gcm.interfaces.future import Future
from gcm.interfaces.going_on import outside
from gcm.interfaces.value import by_value, no_copy
from gcm.membranes.requests.request import Priority, Request, check_chain

if TYPE_CHECKING:
    from gcm.membranes.requests.request_queue import RequestQueueController

_FUNCTIONAL = Priority.FUNCTIONAL  # found faster than through the enumeration


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
        caller = current()
        # A call from another process arrives here last: its caller may wait for it.
        arrives = isinstance(caller, LinkElsewhere) and caller.is_arriving
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
        lifecycle = self._queue.component.membrane.lifecycle
        if lifecycle.bring_up():
            return not self._queue.is_serving
        lifecycle.refuse_if_hopeless(self._interface, self._operation)
        return False


class ControlPort(QueuePort):
    """The port of one control operation: its priority is looked up, and no state refuses it."""

    __slots__ = ()

    def _priority(self) -> Priority:
        priorities = self._queue.component.membrane["priority"]
        chosen: Priority = priorities.get(self._interface, self._operation)  # type: ignore[attr-defined]  # the priority controller imports this module
        return chosen

    def _is_for_oneself(self) -> bool:
        """Serve control calls in every state."""
        return False
