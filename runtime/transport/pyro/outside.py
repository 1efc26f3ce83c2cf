"""Calls to ordinary Pyro5 objects, which live outside of the run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from Pyro5.client import Proxy
from Pyro5.core import URI
from Pyro5.errors import CommunicationError, PyroError

from gcm.interfaces.future import Future
from gcm.invocation import Invocation
from runtime.transport.errors import TransportError, Unreachable

_THREADS = 4


class PyroCaller:
    """A `Caller` whose component is an object of a Pyro5 daemon.

    The operation of an invocation is the method that is called; component and interface only say
    where it was called from. What the object raises is raised here, with the traceback of the other
    end as a note. Calls run at the same time, in a few threads, each with a connection of its own.

    >>> caller = PyroCaller("PYRO:weather@station:7766")               # doctest: +SKIP
    >>> caller.call(Invocation("/app/model", "weather", "now")).result()   # doctest: +SKIP
    """

    def __init__(self, uri: str, *, timeout: float | None = None) -> None:
        try:
            URI(uri)
        except PyroError as error:
            raise TransportError(
                f"'{uri}' is not the address of a Pyro5 object: {error}",
                cure="Write PYRO:name@host:port",
            ) from error
        self.uri = uri
        self._timeout = timeout
        self._own = threading.local()
        self._proxies: list[Any] = []
        self._threads = ThreadPoolExecutor(_THREADS, f"calls to {uri}")

    def call(self, invocation: Invocation) -> Future[Any]:
        """Send `invocation` off and return the future of its result."""
        future: Future[Any] = Future(f"{invocation} at {self.uri}")
        future.set_running_or_notify_cancel()
        self._threads.submit(self._run, invocation, future)
        return future

    def close(self) -> None:
        """Wait for what was called, and hang up."""
        self._threads.shutdown()
        for proxy in self._proxies:
            proxy._pyroClaimOwnership()
            proxy._pyroRelease()

    def _run(self, invocation: Invocation, future: Future[Any]) -> None:
        try:
            method = getattr(self._proxy(), invocation.operation)
            result = method(*invocation.args, **invocation.kwargs)
        except BaseException as error:  # the future's readers get it
            future.set_exception(self._explained(error))
        else:
            future.set_result(result)

    def _proxy(self) -> Any:
        if not hasattr(self._own, "proxy"):
            self._own.proxy = Proxy(self.uri)
            self._own.proxy._pyroTimeout = self._timeout
            self._proxies.append(self._own.proxy)
        return self._own.proxy

    def _explained(self, error: BaseException) -> BaseException:
        trace = getattr(error, "_pyroTraceback", None)
        if trace:
            error.add_note(f"Remote traceback of {self.uri}:\n" + "".join(trace))
            return error
        if isinstance(error, CommunicationError):
            told: TransportError = Unreachable(
                f"the Pyro5 object does not answer: {error}",
                place=self.uri,
                cure="Is its daemon running, and is the address right?",
            )
        elif isinstance(error, PyroError):
            told = TransportError(f"Pyro5: {type(error).__name__}: {error}", place=self.uri)
        else:
            return error
        told.__cause__ = error
        return told
