"""The objects that ordinary Pyro5 clients may call, by name, and the daemon object of Pyro5."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from Pyro5.core import DAEMON_NAME
from Pyro5.errors import DaemonError

from gcm.interfaces.future import Future
from gcm.suggestion import did_you_mean

Serve = Callable[[str, tuple[Any, ...], dict[str, Any]], Future[Any]]


class ExposedObject:
    """One object that clients may call: the names of its methods, and the function behind them."""

    def __init__(self, methods: Iterable[str], serve: Serve, oneway: Iterable[str] = ()) -> None:
        self.methods = tuple(methods)
        self.oneway = tuple(oneway)
        self.serve = serve


class ExposedObjects:
    """The exposed objects of one server; any thread may use it."""

    def __init__(self) -> None:
        self._exposed: dict[str, ExposedObject] = {}
        self._lock = threading.Lock()

    def __contains__(self, name: object) -> bool:
        """Return whether clients may connect to the object of that name."""
        return name == DAEMON_NAME or name in self._exposed

    def expose(self, name: str, exposed: ExposedObject) -> None:
        """Let clients call an object under a name, from now on."""
        with self._lock:
            self._exposed[name] = exposed

    def names(self) -> list[str]:
        """Return the names under which objects are exposed."""
        with self._lock:
            return sorted(self._exposed)

    def metadata(self, name: str) -> dict[str, list[str]]:
        """Return the methods of an object as Pyro5 describes them to its proxies."""
        served = self._exposed.get(name)
        if served is None:
            return {"methods": ["get_metadata", "ping", "registered"], "oneway": [], "attrs": []}
        return {"methods": list(served.methods), "oneway": list(served.oneway), "attrs": []}

    def call(self, name: str, method: str, args: tuple[Any, ...], kwargs: Any) -> Future[Any]:
        """Return the future of one call; an unknown object or method fails it."""
        served = self._exposed.get(name)
        try:
            if served is not None:
                if method not in served.methods:
                    raise AttributeError(
                        f"'{name}' exposes no method '{method}'. "
                        + (did_you_mean(method, served.methods) or f"It has: {served.methods}")
                    )
                return served.serve(method, args, kwargs)
            return _done(self._of_daemon(name, method, args))
        except Exception as error:  # the client gets it
            failed: Future[Any] = Future(f"{name}.{method}")
            failed.set_exception(error)
            return failed

    def _of_daemon(self, name: str, method: str, args: tuple[Any, ...]) -> Any:
        if name == DAEMON_NAME and method == "get_metadata" and len(args) == 1:
            return self.metadata(str(args[0]))
        if name == DAEMON_NAME and method == "registered":
            return self.names()
        if name == DAEMON_NAME and method == "ping":
            return None
        raise DaemonError(f"unknown object '{name}' or method '{method}'")


def _done(value: Any) -> Future[Any]:
    future: Future[Any] = Future("an answer")
    future.set_result(value)
    return future
