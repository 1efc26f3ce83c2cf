"""Futures: the results of calls that are still being worked on."""

from __future__ import annotations

import concurrent.futures
import copy
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_log = logging.getLogger("concurrent.futures")  # where errors of callbacks are logged

_PENDING, _RUNNING, _FINISHED = "PENDING", "RUNNING", "FINISHED"
_UNDONE = (_PENDING, _RUNNING)
"""Three of the five states of a standard future, and those in which something is to come."""


class Future(concurrent.futures.Future[T], Generic[T]):
    """A standard future that can also tell what it waits for.

    It works wherever the standard library's futures do: `concurrent.futures.wait`,
    `asyncio.wrap_future`, `add_done_callback`.

    Every call of an active object makes one, and most of the cost of a standard future is its
    condition variable. Here it is only made for functions of the standard library that need one.
    """

    # The initial state; the lists are made together with what needs them.
    _made: threading.Condition | None = None
    _state = _PENDING
    _result: T | None = None
    _exception: BaseException | None = None
    _waiters: Any = ()
    _done_callbacks: Any = ()
    _sources: Sequence[concurrent.futures.Future[Any]] = ()

    def __init__(self, about: object = "a result") -> None:
        # Instead of the inherited one, which would make the condition variable.
        self.about = about
        self._mutex = threading.RLock()

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]  # an attribute there
        """The condition variable that inherited methods and functions use."""
        with self._mutex:
            if self._made is None:
                self._made = threading.Condition(self._mutex)
                self._waiters = []
            return self._made

    def done(self) -> bool:
        """Return whether it has a result or an exception, or was cancelled."""
        return self._state not in _UNDONE

    def add_done_callback(self, fn: Callable[[Any], object]) -> None:
        """Call `fn` with this future when it is done, at once if it already is."""
        with self._mutex:
            if self._state in _UNDONE:
                self._done_callbacks = [*self._done_callbacks, fn]
                return
            quiet = self._made is None
        if not quiet:
            super().add_done_callback(fn)
            return
        try:  # as the inherited method does, which would make the condition variable
            fn(self)
        except Exception:
            _log.exception("exception calling callback for %r", self)

    def set_running_or_notify_cancel(self) -> bool:
        """Record that the work begins; return False if it was cancelled."""
        with self._mutex:
            if self._state == _PENDING:
                self._state = _RUNNING
                return True
        return super().set_running_or_notify_cancel()

    def set_result(self, result: T) -> None:
        """Set the result and wake waiting threads."""
        with self._mutex:
            if quiet := self._made is None and self._state in _UNDONE:  # nobody to notify
                self._result = result
                self._state = _FINISHED
        if not quiet:
            super().set_result(result)
        elif self._done_callbacks:
            self._invoke_callbacks()  # type: ignore[attr-defined]  # inherited, not in the stubs

    def set_exception(self, exception: BaseException | None) -> None:
        """Set the exception and wake waiting threads."""
        with self._mutex:
            if quiet := self._made is None and self._state in _UNDONE:  # nobody to notify
                self._exception = exception
                self._state = _FINISHED
        if not quiet:
            super().set_exception(exception)
        elif self._done_callbacks:
            self._invoke_callbacks()  # type: ignore[attr-defined]  # inherited, not in the stubs

    def result(self, timeout: float | None = None) -> T:
        """Wait for the value and return it, or raise what the call raised.

        Raises:
            TimeoutError: there was no result within `timeout` seconds; the message names the call.
        """
        if self._state in _UNDONE:
            self._wait(timeout)
        if self._state == _FINISHED and self._exception is None:
            return self._result  # type: ignore[return-value]  # it has been set
        return super().result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end of the call and return what it raised, or None.

        Raises:
            TimeoutError: it did not end within `timeout` seconds; the message names the call.
        """
        if self._state in _UNDONE:
            self._wait(timeout)
        if self._state == _FINISHED:
            return self._exception
        return super().exception()

    def comes_of(self, *sources: concurrent.futures.Future[Any]) -> None:
        """Make waiting for this future and cancelling it reach the futures it comes of."""
        self._sources = sources
        self.add_done_callback(lambda done: done.cancelled() and [s.cancel() for s in sources])

    def _wait(self, timeout: float | None) -> None:
        if self._sources and timeout is None:  # as they are awaited themselves, with their limits
            for source in self._sources:
                if isinstance(source, Future) and source._state in _UNDONE:
                    source._wait(None)
        gate = threading.Lock()
        gate.acquire()

        def open_gate(_: Any) -> None:
            gate.release()

        self.add_done_callback(open_gate)
        if not self._passed(gate, timeout):
            raise TimeoutError(f"no result from {self.about} within {timeout} s")

    def _passed(self, gate: threading.Lock, timeout: float | None) -> bool:
        """Wait for `gate`; return whether it opened in time."""
        return gate.acquire(timeout=-1 if timeout is None else max(0.0, timeout))

    def __deepcopy__(self, memo: dict[int, Any]) -> Future[T]:
        """Return a future of a copy of the result, for calls by value."""
        return after([self], lambda: copy.deepcopy(self.result(), memo), self.about)

    def __repr__(self) -> str:
        state = "done" if self.done() else "waiting"
        return f"<Future of {self.about}: {state}>"


def finished(
    function: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Future[T]:
    """Call `function` now and return a future with its result or exception."""
    future: Future[T] = Future(getattr(function, "__qualname__", function))
    fulfil(future, function, args, kwargs)
    return future


def fulfil(
    future: Future[T],
    function: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Call `function` and set its result or exception in `future`."""
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # whoever reads the future gets it, also SystemExit
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        future.set_result(result)


def after(
    sources: Sequence[concurrent.futures.Future[Any]], finish: Callable[[], T], about: object
) -> Future[T]:
    """Return the future of what `finish` returns or raises, called once all `sources` are done.

    Cancelling it cancels them.
    """
    made: Future[T] = Future(about)
    made.comes_of(*sources)
    lock = threading.Lock()
    left = len(sources) + 1

    def one_done(_: Any = None) -> None:
        nonlocal left
        with lock:
            left -= 1
            if left:
                return
        if made.set_running_or_notify_cancel():
            _answer(made, finish)

    for source in sources:
        source.add_done_callback(one_done)
    one_done()
    return made


def _answer(future: Future[T], function: Callable[[], T]) -> None:
    """Set the result of `function`, or any exception, in `future`."""
    try:
        result = function()
    except (
        BaseException
    ) as error:  # whoever reads the future gets it; this thread belongs to another caller
        future.set_exception(error)
    else:
        future.set_result(result)


def as_ours(value: Any) -> Any:
    """Return a Future for a standard one, which cannot be copied; all else unchanged."""
    if isinstance(value, concurrent.futures.Future) and not isinstance(value, Future):
        return after([value], value.result, "a result")
    return value
