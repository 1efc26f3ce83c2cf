"""How a call is handed on: as a port inside one process, as an invocation between processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MethodType
from typing import Any, ParamSpec, Protocol, TypeVar

from gcm.interfaces.future import Future, finished
from gcm.interfaces.stacks import through
from gcm.interfaces.stub import Stub

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call as a value, so that it can be queued, shown and sent to another process.

    `client` names the client interface that calls, where the server has to know.
    """

    component: str
    interface: str
    operation: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    client: str = ""

    def __str__(self) -> str:
        """Return where the call goes, without its arguments."""
        return f"{self.component}.{self.interface}.{self.operation}"


class Caller(Protocol):
    """What a transport implements: it carries an invocation to where the component lives."""

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send `invocation` off and return at once with the future of its result."""
        ...


class RemotePort:
    """The port of one operation whose component lives behind a `Caller`."""

    __slots__ = ("_caller", "_client", "_component", "_interface", "_operation")

    def __init__(
        self, caller: Caller, component: str, interface: str, operation: str, *, client: str = ""
    ) -> None:
        self._caller = caller
        self._component = component
        self._interface = interface
        self._operation = operation
        self._client = client

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call and wait for the result."""
        return self.submit(*args, **kwargs).result()

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call and return at once with the future of the result."""
        return self._caller.call(
            Invocation(
                self._component, self._interface, self._operation, args, kwargs, self._client
            )
        )


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
    """Tell whether somebody else than the caller does the work behind `port`."""
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
    """Send a call to `port`: asynchronously where it can be, else here and now."""
    if isinstance(port, MethodType) and isinstance(port.__self__, Stub):
        return through(port.__self__, port.__name__, submit_to, args, kwargs)
    send = getattr(port, "submit", None)
    if send is not None:
        future: Future[Any] = send(*args, **kwargs)
        return future
    return finished(port, args, kwargs)
