"""Remote interfaces: server ends whose component lives in another process."""

from __future__ import annotations

import weakref
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from gcm.components.composite import Composite
from gcm.interfaces.call_chain import (
    as_header,
    current,
    header_of_submitted,
    is_arriving,
    new_number,
)
from gcm.interfaces.distribution import is_redistributing, redistributes
from gcm.interfaces.future import Future, fulfil
from gcm.interfaces.interface import ClientInterface, ServerEnd
from gcm.interfaces.signature import Operation, signature_of
from gcm.interfaces.stub import Stub, stub_class
from gcm.interfaces.types import InterfaceType
from gcm.invocation import Invocation, RemotePort
from runtime.hosting.awaited_calls import AwaitedCalls
from runtime.hosting.channels import HERE, HostChannels
from runtime.hosting.exports import INNER, Exports
from runtime.hosting.lent_blocks import LentBlocks, arrived, of_blocks
from runtime.machine.contracts import CONTRACTS
from runtime.transport.errors import ChannelClosed, TransportError
from runtime.transport.pending_calls import CallFuture
from runtime.transport.reactor import Reactor

BINDING = "@binding"
"""The interface, on every path, through which processes bind: no component can have that name."""

TYPE_OF, ADMIT, DISMISS = "type_of", "admit", "dismiss"


class RemoteEnds(HostChannels):
    """Makes the ends to which client interfaces of this process are bound in other processes.

    What is bound to a component of this process gets the component's own end.
    """

    def __init__(self, home: str, reactor: Reactor) -> None:
        super().__init__(home, reactor)
        self.exports = Exports(home)
        self.blocks = LentBlocks(self)
        self.awaited = AwaitedCalls(BINDING, self.note, reactor)
        self._remotes: weakref.WeakValueDictionary[str, RemoteInterface] = (
            weakref.WeakValueDictionary()
        )

    @abstractmethod
    def work(self, work: Callable[[], object]) -> bool:
        """Do something in a thread that may wait; return False once the host is closed."""

    def name_of_client(self, client: ClientInterface) -> str:
        """Return what others call a client interface of this process."""
        path = self.exports.name_of(client.owner) or f"{self.home}{client.owner.path}"
        return f"{path}.{client.name}"

    def find(self, component: str, interface: str) -> ServerEnd:
        """Return the server end of that path, here or elsewhere; its owner is asked.

        Raises:
            NoSuchComponentError, NoSuchInterfaceError: there is none.
            Unreachable, ChannelClosed: there is no such component, or no route to it.
        """
        if self.routes.find(component) is HERE:
            return self.exports.server(component, interface)
        asked = self.call(Invocation(component, BINDING, TYPE_OF, (interface,)))
        return self.end(component, interface, asked.result())

    def end(self, component: str, interface: str, type: InterfaceType) -> ServerEnd:
        """Return the server end that a reference means; its type is known."""
        if self.routes.find(component) is HERE:
            return self.exports.server(component, interface)
        return self._remote(component, interface, type)

    def stub(self, component: str, interface: str, type: InterfaceType) -> Stub:
        """Return the stub that a reference means: the very one that was sent, if it is home."""
        if self.routes.find(component) is HERE:
            return self.exports.stub(component, interface)
        return self._remote(component, interface, type).stub

    def _remote(self, component: str, interface: str, type: InterfaceType) -> RemoteInterface:
        path = f"{component}.{interface}"
        known = self._remotes.get(path)
        if known is None or known.type != type:
            known = self._remotes[path] = RemoteInterface(self, component, interface, type)
        return known


class RemoteInterface:
    """What a client interface is bound to when the server is in another process.

    Two of them are equal when they mean the same interface. Where the server gathers its clients,
    each client calls under its own name.
    """

    def __init__(
        self, ends: RemoteEnds, component: str, interface: str, type: InterfaceType
    ) -> None:
        self._ends = ends
        self.component = component
        self.interface = interface
        self.type = type
        self._stub: Stub | None = None

    @property
    def path(self) -> str:
        """The path of the component and the name of the interface."""
        return f"{self.component}.{self.interface}"

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<remote interface {self.path}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteInterface) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return this very interface: a reference has no copies."""
        return self

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
        lazy = isinstance(client.owner, Composite) and redistributes(self.type.signature)
        if self.type.signature in CONTRACTS:  # whose calls say who makes them
            return self._made(self._ends.name_of_client(client))
        if not self._gathers:
            return self._made("", lazy=True) if lazy else self.stub
        name = self._ends.name_of_client(client)
        self._bind(ADMIT, name)
        return self._made(name, lazy=lazy)

    def disconnect(self, client: ClientInterface) -> None:
        """Forget `client`; a server whose process is gone has done so already."""
        if self._gathers and self._ends.reaches(self.component):
            self._bind(DISMISS, self._ends.name_of_client(client))

    def _bind(self, action: str, client: str) -> None:
        self._ends.call(
            Invocation(self.component, BINDING, action, (self.interface, client))
        ).result()

    @property
    def _gathers(self) -> bool:
        inner = self.interface.startswith(INNER)
        return self.type.is_gathercast or (inner and redistributes(self.type.signature))

    def _made(self, client: str, *, lazy: bool = False) -> Stub:
        stub = stub_class(self.type.signature)(self)
        for name in stub._operations:
            if self.type.signature in CONTRACTS:
                where = self._ends, self.component, self.interface, name
                stub._set_port(name, _Notification(*where, client=client))
            else:
                stub._set_port(name, self.port(name, client, lazy=lazy))
        return stub

    def port(self, operation: str, client: str = "", *, lazy: bool = False) -> RemotePort:
        """Return the port of one operation, for a client that the server has to know.

        A `lazy` one returns blocks of arrays as they are named, for others to take.
        """
        described = signature_of(self.type.signature).operations[operation]
        where = self._ends, self.component, self.interface, operation
        if not is_redistributing(described):
            return _Port(*where, client=client)
        return _BlockPort(*where, client=client, described=described, lazy=lazy)


class _Notification:
    """The port of an operation that nobody waits for: that of a contract of the machine."""

    __slots__ = ("_call", "_ends")

    def __init__(
        self, ends: RemoteEnds, component: str, interface: str, operation: str, *, client: str
    ) -> None:
        self._ends = ends
        self._call = Invocation(component, interface, operation, client=client)

    def __call__(self, *args: Any) -> None:
        """Send the call off; nothing happens once the other process has gone."""
        with suppress(ChannelClosed):
            self._ends.note(self._call._replace(args=args))


class _Port(RemotePort):
    """A port that refuses to wait where waiting would stop everything."""

    __slots__ = ("_ends",)

    def __init__(
        self, ends: RemoteEnds, component: str, interface: str, operation: str, *, client: str
    ) -> None:
        super().__init__(ends, component, interface, operation, client=client)
        self._ends = ends

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call and wait for the result; not on the thread that would receive it."""
        self._check_thread()
        link = current()
        if link is None:
            return self._ends.ask(self._invocation(args, kwargs, ""))
        awaited = self._ends.awaited
        key = awaited.begin(link, self._component, link.number)
        try:
            return self._ends.ask(self._invocation(args, kwargs, as_header()))
        finally:
            awaited.end(key)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call and return at once with the future; who waits for that one is known from then on."""
        link = current()
        if link is None:
            return self.send(args, kwargs, "")
        awaited, component = self._ends.awaited, self._component
        if is_arriving(link):  # its caller waits, not this one
            key = awaited.begin(link, component, link.number)
            passed = self.send(args, kwargs, as_header())
            passed.add_done_callback(lambda _: awaited.end(key))
            return passed
        number = new_number()
        where = f"{component}.{self._interface}.{self._operation}"
        sent = self.send(args, kwargs, header_of_submitted(number, where))
        if isinstance(sent, CallFuture):
            sent.waits = lambda link: awaited.wait(link, component, number)
        return sent

    def _check_thread(self) -> None:
        if self._ends.reactor.is_own_thread():
            raise TransportError(
                f"a call of '{self._operation}' cannot wait on the thread that receives its result",
                place=self._component,
                cure="Use submit(), or make the call in a thread of your own",
            )


class _BlockPort(_Port):
    """The port of an operation whose arguments are blocks of arrays that are spread over members.

    The blocks stay here until those who want them take them, or the call is over.
    """

    __slots__ = ("_described", "_lazy")

    def __init__(self, *where: Any, client: str, described: Operation, lazy: bool) -> None:
        super().__init__(*where, client=client)
        self._described = described
        self._lazy = lazy

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call and wait for the result, and for the rows of an array that it is."""
        self._check_thread()
        link = current()
        if link is None:
            result = self.send(args, kwargs, "").result()
        else:
            with self._ends.awaited.wait(link, self._component, link.number):
                result = self.send(args, kwargs, as_header()).result()
        return result if self._lazy else arrived(result)

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call and return at once with the future of the result, all rows of it here."""
        sent = super().submit(*args, **kwargs)
        if self._lazy:
            return sent
        whole: Future[Any] = Future(sent.about)
        whole.comes_of(sent)
        whole.set_running_or_notify_cancel()

        def take() -> None:
            fulfil(whole, lambda: arrived(sent.result()), (), {})

        def taken(_: Any) -> None:
            # Not in the thread that brings the result: it brings the rows too.
            if not self._ends.work(take):
                whole.set_exception(ChannelClosed("this process ends", place=self._component))

        sent.add_done_callback(taken)
        return whole

    def send(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], chain: str) -> Future[Any]:
        """Send a call off that names the blocks."""
        tokens: list[int] = []
        blocks = self._ends.blocks
        args, kwargs = of_blocks(
            self._described, lambda value: blocks.outgoing(value, tokens), args, kwargs
        )
        future = super().send(args, kwargs, chain)
        if tokens:
            future.add_done_callback(lambda _: blocks.take_back(tokens))
        return future
