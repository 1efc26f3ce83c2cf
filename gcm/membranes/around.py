"""Runs code before and after calls, such that asynchronous calls stay asynchronous."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, NoReturn

from gcm.components.controller import Port
from gcm.interfaces.future import Future
from gcm.interfaces.submission import is_asynchronous, submit_to

End = Callable[[BaseException | None], BaseException | None]
"""Called after the call with its exception, or None; returns what the call raises in the end."""

Begin = Callable[[tuple[Any, ...], dict[str, Any]], End]
"""Called before the call with its arguments; an exception refuses the call."""


def around(proceed: Port, begin: Begin) -> Port:
    """Return a port that runs `begin` before each call of `proceed` and its `End` after it.

    It is what the `wrap` of a controller is to return: a plain function around `proceed` makes
    every caller wait, also one that submits to an active object. Here the `End` of a submitted
    call runs when its result has come, in the thread that brings it.

    >>> def wrap(self, interface, operation, proceed):    # doctest: +SKIP
    ...     def begin(args, kwargs):
    ...         self.inside += 1
    ...         return end
    ...     def end(error):
    ...         self.inside -= 1
    ...         return error
    ...     return around(proceed, begin)
    """
    if is_asynchronous(proceed):
        return _AsynchronousAround(proceed, begin)

    def call(*args: Any, **kwargs: Any) -> Any:
        return _called(proceed, begin, args, kwargs)

    return call


def _called(proceed: Port, begin: Begin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    end = begin(args, kwargs)
    try:
        result = proceed(*args, **kwargs)
    except BaseException as error:
        raise_end(end, error)
    failure = end(None)
    if failure is not None:
        raise failure
    return result


def raise_end(end: End, error: BaseException) -> NoReturn:
    """End a call that raised `error`; what `end` returns replaces it."""
    failure = end(error)
    if failure is None or failure is error:
        raise error
    raise failure


class _AsynchronousAround:
    """Code around a call whose result comes later."""

    __slots__ = ("_begin", "_proceed")

    def __init__(self, proceed: Port, begin: Begin) -> None:
        self._proceed = proceed
        self._begin = begin

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _called(self._proceed, self._begin, args, kwargs)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        end = self._begin(args, kwargs)
        try:
            inner = submit_to(self._proceed, args, kwargs)
        except BaseException as error:  # it could not even be sent
            raise_end(end, error)
        outer: Future[Any] = Future(inner.about)
        outer.comes_of(inner)

        def pass_on(done: Any) -> None:
            cancelled = done.cancelled()
            error = end(CancelledError() if cancelled else done.exception())
            if cancelled:
                outer.cancel()
            if not outer.set_running_or_notify_cancel():
                return
            if error is None:
                outer.set_result(done.result())
            else:
                outer.set_exception(error)

        inner.add_done_callback(pass_on)
        return outer
