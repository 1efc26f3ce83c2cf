"""A call as a value, and the port that sends it to another process."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from gcm.interfaces.call_chain import as_header
from gcm.interfaces.future import Future


class Invocation(NamedTuple):
    """One call as a value, so that it can be queued, shown and sent to another process.

    `client` names the calling client interface, where the server has to know; `chain` has the
    requests that wait for the call (see `call_chain`).
    """

    component: str
    interface: str
    operation: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    client: str = ""
    chain: str = ""

    def __str__(self) -> str:
        return f"{self.component}.{self.interface}.{self.operation}"


_made = Invocation._make


class Caller(Protocol):
    """The interface of a transport: it carries an invocation to where the component is."""

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send `invocation` and return at once with the future of its result."""


class RemotePort:
    """The port of one operation whose component is behind a `Caller`."""

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
        return self.send(args, kwargs, as_header()).result()

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call and return at once with the future of the result."""
        return self.send(args, kwargs, "")

    def send(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], chain: str) -> Future[Any]:
        """Send a call that `chain` waits for."""
        return self._caller.call(self._invocation(args, kwargs, chain))

    def _invocation(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], chain: str
    ) -> Invocation:
        # As a tuple: the named one is made by a function of its own, which takes twice as long.
        return _made(
            (
                self._component,
                self._interface,
                self._operation,
                args,
                kwargs,
                self._client,
                chain,
            )
        )
