"""Remote interfaces: server ends whose component lives in another process."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gcm.interfaces.interface import ClientInterface
from gcm.interfaces.stub import Stub, stub_class
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation, RemotePort
from runtime.machine.contracts import CONTRACTS
from runtime.transport.errors import ChannelClosed, TransportError

if TYPE_CHECKING:
    from runtime.hosting.host import Host

BINDING = "@binding"
"""The interface, on every path, through which processes bind: no component can have that name."""

TYPE_OF, ADMIT, DISMISS = "type_of", "admit", "dismiss"


class RemoteInterface:
    """What a client interface is bound to when the server is in another process.

    Two of them are equal when they mean the same interface. Where the server gathers its clients,
    each client calls under its own name.
    """

    def __init__(self, host: Host, component: str, interface: str, type: InterfaceType) -> None:
        self._host = host
        self.component = component
        self.interface = interface
        self.type = type
        self._stub: Stub | None = None

    @property
    def path(self) -> str:
        """The path of the component and the name of the interface."""
        return f"{self.component}.{self.interface}"

    def __str__(self) -> str:
        """Return the path."""
        return self.path

    def __repr__(self) -> str:
        """Return the path and that it is elsewhere."""
        return f"<remote interface {self.path}>"

    def __eq__(self, other: object) -> bool:
        """Tell whether both mean the same interface."""
        return isinstance(other, RemoteInterface) and self.path == other.path

    def __hash__(self) -> int:
        """Return the hash of the path."""
        return hash(self.path)

    @property
    def stub(self) -> Stub:
        """The stub for callers that have no binding."""
        if self._stub is None:
            self._stub = self._made("")
        return self._stub

    def connect(self, client: ClientInterface) -> Stub:
        """Admit `client` and return the stub through which it calls.

        Raises:
            ChannelClosed: the process of the server is gone.
            NoSuchComponentError, NoSuchInterfaceError: there is no such server any more.
        """
        if not self.type.is_gathercast:
            return self.stub
        name = self._host.name_of_client(client)
        self._bind(ADMIT, name)
        return self._made(name)

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`; a server whose process is gone has done so already."""
        if self.type.is_gathercast and self._host.reaches(self.component):
            self._bind(DISMISS, self._host.name_of_client(client))

    def _bind(self, action: str, client: str) -> None:
        self._host.call(
            Invocation(self.component, BINDING, action, (self.interface, client))
        ).result()

    def _made(self, client: str) -> Stub:
        stub = stub_class(self.type.signature)(self)
        port = _Notification if self.type.signature in CONTRACTS else _Port
        for name in stub._operations:
            stub._set_port(
                name, port(self._host, self.component, self.interface, name, client=client)
            )
        return stub


class _Notification:
    """The port of an operation that nobody waits for: that of a contract of the machine."""

    __slots__ = ("_call", "_host")

    def __init__(
        self, host: Host, component: str, interface: str, operation: str, *, client: str
    ) -> None:
        self._host = host
        self._call = Invocation(component, interface, operation, client=client)

    def __call__(self, *args: Any) -> None:
        """Send the call off; nothing happens once the other process has gone."""
        with suppress(ChannelClosed):
            self._host.note(replace(self._call, args=args))


class _Port(RemotePort):
    """A port that refuses to wait where waiting would stop everything."""

    __slots__ = ("_host",)

    def __init__(
        self, host: Host, component: str, interface: str, operation: str, *, client: str
    ) -> None:
        super().__init__(host, component, interface, operation, client=client)
        self._host = host

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call and wait for the result; not on the thread that would receive it."""
        if self._host.reactor.is_own_thread():
            raise TransportError(
                f"a call of '{self._operation}' cannot wait on the thread that receives its result",
                place=self._component,
                cure="Use submit(), or make the call in a thread of your own",
            )
        return super().__call__(*args, **kwargs)
