"""Asynchronous calls: the result arrives in a future."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MethodType
from typing import Any, ParamSpec, TypeVar

from gcm.interfaces.future import Future, finished
from gcm.interfaces.stacks import through
from gcm.interfaces.stub import Stub

P = ParamSpec("P")
R = TypeVar("R")


def submit(operation: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
    """Call `operation` without waiting for it: the result comes in the future.

    Where the component serves requests on its own (an active object, another process) this returns
    at once. A passive component works in the thread of its caller; then the future is already done
    when it is returned, with the result or the exception.

    >>> future = submit(greeter.greet, "world")      # doctest: +SKIP
    >>> future.result()                              # doctest: +SKIP
    'hello world'
    """
    return submit_to(operation, args, kwargs)


def is_asynchronous(port: Callable[..., Any]) -> bool:
    """Return whether `port` works asynchronously, and not in the caller's thread."""
    owner = getattr(port, "__self__", None)
    if isinstance(owner, Stub):
        return is_asynchronous(owner._port(port.__name__))
    when_open = getattr(port, "when_open", None)
    if when_open is not None:  # a component that does not run: what counts is who will work then
        return is_asynchronous(when_open())
    return hasattr(port, "submit")


def submit_to(
    port: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Future[Any]:
    """Send a call to `port`: asynchronously where possible, otherwise here and now."""
    if isinstance(port, MethodType) and isinstance(port.__self__, Stub):
        return through(port.__self__, port.__name__, submit_to, args, kwargs)
    send = getattr(port, "submit", None)
    if send is not None:
        future: Future[Any] = send(*args, **kwargs)
        return future
    return finished(port, args, kwargs)
