"""Components for ordinary Pyro5 clients, and ordinary Pyro5 objects for components."""

from __future__ import annotations

import os
from typing import Any, Self

from gcm.components.model import Component
from gcm.interfaces.future import Future
from gcm.interfaces.interface import ClientInterface
from gcm.interfaces.signature import signature_of
from gcm.interfaces.stub import Stub, stub_class
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation, RemotePort
from runtime.hosting.host import Host
from runtime.transport.credentials import Credentials
from runtime.transport.listening import Listener
from runtime.transport.pyro import ExposedObject, PyroCaller, PyroServer
from runtime.transport.reactor import Reactor

_HERE = "/exposed"


class Exposed:
    """A server interface that ordinary Pyro5 clients can call; made by `expose`."""

    def __init__(self, component: Component, interface: str, name: str, address: str) -> None:
        self._reactor = Reactor("exposed")
        self._reactor.start()
        try:
            self._host = Host(_HERE, self._reactor)
            self._host.publish(_HERE, component)
            self._server = PyroServer(self._reactor)
            operations = signature_of(component.server(interface).type.signature).operations
            self._server.objects.expose(name, ExposedObject(operations, self._serving(interface)))
            nobody = Credentials(
                os.urandom(32), _HERE
            )  # no process has it: all clients are untrusted
            self._listener = Listener(
                self._reactor, address, nobody, _refuse, untrusted=self._server.receive
            )
        except BaseException:
            self._reactor.close()
            raise
        self.uri = f"PYRO:{name}@{_as_pyro_says(self._listener.address)}"
        """What clients give to `Pyro5.api.Proxy`."""

    def _serving(self, interface: str) -> Any:
        def serve(method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future[Any]:
            return self._host.call(Invocation(_HERE, interface, method, args, kwargs))

        return serve

    def close(self) -> None:
        """Hang up on all clients and listen no more; twice is once."""
        self._listener.close()
        self._server.close()
        self._host.close()
        self._reactor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def expose(
    component: Component, interface: str, *, name: str = "", address: str = "127.0.0.1:0"
) -> Exposed:
    """Let ordinary Pyro5 clients call a server interface of a component of this process.

    Anybody who reaches the address may call, so it is this machine's own unless another is given.
    Values travel in serializers that cannot execute code: plain values, no objects of own classes.
    What strangers can take of this process is bounded: messages have at most 8 MiB (4 MiB in
    msgpack), the unfinished ones of all clients together 64 MiB, and where 256 clients are
    connected the one that was idle for longest makes room. They are told what an operation raises,
    and its traceback is in the log of this process only.

    Raises:
        NoSuchInterfaceError: the component has no such server interface.
        Unreachable: nobody can listen at the address.

    >>> with expose(component, "greeter") as exposed:        # doctest: +SKIP
    ...     print(exposed.uri)                               # doctest: +SKIP
    PYRO:greeter@127.0.0.1:40123
    """
    return Exposed(component, interface, name or interface, address)


class PyroObject:
    """An object of a Pyro5 daemon, as something that a client interface can be bound to.

    >>> weather = PyroObject("PYRO:weather@station:7766", Weather)      # doctest: +SKIP
    >>> model.bind("weather", weather)                                  # doctest: +SKIP
    """

    def __init__(self, uri: str, signature: Any, *, timeout: float | None = None) -> None:
        self._timeout = timeout
        self._caller = PyroCaller(uri, timeout=timeout)
        self.type = InterfaceType(uri.partition(":")[2].partition("@")[0], signature)
        self._stub: Stub | None = None

    @property
    def path(self) -> str:
        """Where the object is."""
        return self._caller.uri

    def __str__(self) -> str:
        return self.path

    @property
    def stub(self) -> Stub:
        """The stub for callers that have no binding."""
        if self._stub is None:
            self._stub = stub_class(self.type.signature)(self)
            for name in self._stub._operations:
                port = RemotePort(self._caller, self.path, self.type.name, name)
                self._stub._set_port(name, port)
        return self._stub

    def connect(self, client: ClientInterface) -> Stub:  # noqa: ARG002 - all clients are the same
        """Return the stub through which a client calls."""
        return self.stub

    def disconnect(self, client: ClientInterface) -> None:
        """Do nothing: the object does not know its clients."""

    def close(self) -> None:
        """Wait for the calls that were made, and hang up."""
        self._caller.close()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PyroObject) and other.path == self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let another process call the object by itself."""
        return _pyro_object, (self.path, self.type.signature, self._timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _pyro_object(uri: str, signature: Any, timeout: float | None) -> PyroObject:
    return PyroObject(uri, signature, timeout=timeout)


def _refuse(came: Any, peer: str, received: bytes) -> None:  # noqa: ARG001
    came.close()


def _as_pyro_says(address: str) -> str:
    return f"./u:{address.removeprefix('unix:')}" if address.startswith("unix:") else address
