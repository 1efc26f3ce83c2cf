"""Futures: the result of a call that somebody else is still working on."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(concurrent.futures.Future[T], Generic[T]):
    """A standard future that can also say what it is waiting for.

    It works wherever the standard library's futures do: `concurrent.futures.wait`,
    `asyncio.wrap_future`, `add_done_callback`.
    """

    def __init__(self, about: object = "a result") -> None:
        super().__init__()
        self.about = about

    def result(self, timeout: float | None = None) -> T:
        """Wait for the value and return it, or raise what the call raised.

        Raises:
            TimeoutError: it did not come within `timeout` seconds; the message names the call.
        """
        try:
            return super().result(timeout)
        except TimeoutError as error:
            if self.done():  # the call itself raised a TimeoutError: that is its result
                raise
            raise TimeoutError(f"no result from {self.about} within {timeout} s") from error

    def __repr__(self) -> str:
        """Return what is awaited, and whether it has come."""
        state = "done" if self.done() else "waiting"
        return f"<Future of {self.about}: {state}>"


def finished(
    function: Callable[..., T], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Future[T]:
    """Call `function` now and return the future that already holds what it returned or raised."""
    future: Future[T] = Future(getattr(function, "__qualname__", function))
    fulfil(future, function, args, kwargs)
    return future


def fulfil(
    future: Future[T],
    function: Callable[..., T],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> None:
    """Call `function` and put what it returned or raised into `future`."""
    try:
        result = function(*args, **kwargs)
    except BaseException as error:  # whoever asks the future gets it, also SystemExit
        future.set_exception(error)
        if not isinstance(error, Exception):
            raise
    else:
        future.set_result(result)
