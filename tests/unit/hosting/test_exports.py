"""Exports: what others ask for is found, or refused with a hint at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from gcm import Cardinality, ComponentType, InterfaceType, Role, composite, primitive, provides
from gcm.errors import NoSuchComponentError, NoSuchInterfaceError
from gcm.interfaces.interface import ClientInterface, ServerInterface
from gcm.interfaces.stub import Stub
from gcm.membranes.content import ContentController
from runtime.hosting.exports import Exports
from runtime.transport.channel import Channel
from runtime.transport.errors import ChannelClosed
from runtime.transport.messages import Target
from runtime.transport.queued import MemoryStream
from runtime.transport.reactor import Reactor

A_MOMENT = 0.2
"""Seconds in which another thread gets through, if it does not have to wait."""


class Ping(Protocol):
    def ping(self, number: int) -> int: ...


@provides("ping", Ping)
class Pinger:
    def ping(self, number: int) -> int:
        return number + 1


@provides("sum", Ping, cardinality=Cardinality.GATHERCAST)
class Gatherer:
    def ping(self, number: list[int]) -> list[int]:
        return [sum(number)] * len(number)


@pytest.fixture
def exports() -> Exports:
    made = Exports("/home")
    made.publish("/app/pinger", primitive(Pinger))
    return made


def call(exports: Exports, target: Target, *args: Any) -> Any:
    return exports.operation(target, "somebody")(*args)


def test_a_published_component_is_called_by_path(exports: Exports) -> None:
    exports.component("/app/pinger").start()
    assert call(exports, Target("/app/pinger", "ping", "ping"), 1) == 2


def test_parts_of_a_published_composite_are_found_by_their_own_names() -> None:
    root, part = composite("root"), primitive(Pinger, "part")
    root.controller(ContentController).add(part)
    exports = Exports("/home")
    exports.publish("/grid/site0", root)
    assert exports.component("/grid/site0/part") is part
    assert exports.name_of(part) == "/grid/site0/part"
    assert exports.name_of(root) == "/grid/site0"
    with pytest.raises(NoSuchComponentError, match="did you mean 'part'"):
        exports.component("/grid/site0/prat")


def test_control_interfaces_are_found_like_the_others(exports: Exports) -> None:
    target = Target("/app/pinger", "lifecycle-controller", "state")
    assert call(exports, target) == "stopped"


@pytest.mark.parametrize(
    ("target", "error", "hint"),
    [
        (Target("/app/pingre", "ping", "ping"), NoSuchComponentError, "mean '/app/pinger'"),
        (Target("/x", "ping", "ping"), NoSuchComponentError, "Published here: /app/pinger"),
        (Target("", "ping", "ping"), NoSuchComponentError, "Published here: /app/pinger"),
        (Target("/app/pinger", "pign", "ping"), NoSuchInterfaceError, "mean 'ping'"),
        (Target("/app/pinger", "ping", "pnig"), NoSuchInterfaceError, "mean 'ping'"),
        (Target("/app/pinger", "ping", "_end"), NoSuchInterfaceError, "It has: ping"),
        (Target("/home/#1", "ping", "ping"), NoSuchComponentError, "no such component"),
    ],
)
def test_what_is_not_there_is_refused_with_a_hint(
    exports: Exports, target: Target, error: type[Exception], hint: str
) -> None:
    with pytest.raises(error, match=hint):
        exports.operation(target, "somebody")


def test_what_was_withdrawn_is_gone(exports: Exports) -> None:
    component = exports.component("/app/pinger")
    exports.withdraw("/app/pinger")
    exports.withdraw("/app/pinger")
    assert exports.name_of(component) == ""
    with pytest.raises(NoSuchComponentError, match="Published here: nothing"):
        exports.component("/app/pinger")


def test_a_lent_stub_has_one_name_and_comes_home_as_itself(exports: Exports) -> None:
    component = primitive(Pinger)
    component.start()
    stub: Any = component.stub("ping", Ping)
    path, interface, type = exports.lend(stub)
    assert (path, interface, type) == ("/home/#1", "ping", component.server("ping").type)
    assert exports.lend(stub)[0] == "/home/#1"
    assert exports.stub(path, interface) is stub
    assert exports.type_of(path, interface) == type
    assert call(exports, Target(path, interface, "ping"), 4) == 5


def test_a_lent_client_looks_like_a_server_to_others(exports: Exports) -> None:
    kind = InterfaceType("out", Ping, Role.CLIENT, cardinality=Cardinality.SINGLETON)

    class Holder:
        out: Any

    holder, server = primitive(Holder, type=ComponentType((kind,))), primitive(Pinger)
    holder.bind("out", server.server("ping"))
    _, _, type = exports.lend(holder.content.out)
    assert type.role is Role.SERVER


def test_a_gathercast_server_knows_its_remote_clients_by_name() -> None:
    exports = Exports("/home")
    gatherer = primitive(Gatherer)
    exports.publish("/g", gatherer)
    gatherer.start()
    server = gatherer.server("sum")
    exports.admit("/g", "sum", "/one.out", "first")
    exports.admit("/g", "sum", "/one.out", "first")
    exports.admit("/g", "sum", "/two.out", "second")
    assert [str(client) for client in server.clients] == ["/one.out", "/two.out"]

    from gcm.interfaces.submission import submit

    one = submit(exports.operation(Target("/g", "sum", "ping", "/one.out"), "first"), 1)
    assert not one.done()
    two = submit(exports.operation(Target("/g", "sum", "ping", "/two.out"), "second"), 2)
    assert (one.result(5), two.result(5)) == (3, 3)

    exports.dismiss("/g", "sum", "/one.out", "first")
    exports.dismiss("/g", "sum", "/one.out", "first")
    exports.forget("second")
    assert server.clients == ()


@dataclass
class Far:
    """A gathercast server that is published here, and a process elsewhere that has a client."""

    exports: Exports
    server: ServerInterface
    channel: Channel

    def admit(self) -> None:
        self.exports.admit("/g", "sum", "/far.out", self.channel)

    def hang_up(self) -> threading.Event:
        """End the channel, and do what a host does about it; return what tells that it is done."""
        forgotten = threading.Event()

        def forget(_: ChannelClosed) -> None:
            self.exports.forget(self.channel)
            forgotten.set()

        self.channel.when_closed(forget)
        self.channel.close()
        forgotten.wait(A_MOMENT)
        return forgotten


@pytest.fixture
def far() -> Iterator[Far]:
    with Reactor() as reactor:
        exports, gatherer = Exports("/home"), primitive(Gatherer)
        exports.publish("/g", gatherer)
        channel = Channel(reactor, MemoryStream.pair()[0], "far").open()
        yield Far(exports, gatherer.server("sum"), channel)


def test_a_client_of_a_process_that_is_gone_is_not_bound_any_more(far: Far) -> None:
    assert far.hang_up().wait(10)
    with pytest.raises(ChannelClosed, match=r"/g: /far\.out is gone, and is not bound any more"):
        far.admit()
    assert far.server.clients == ()


def test_a_client_whose_process_ends_just_while_it_is_bound_is_dismissed(
    far: Far, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = ServerInterface.connect
    forgotten: list[threading.Event] = []

    def too_late(server: ServerInterface, client: ClientInterface) -> Stub:
        forgotten.append(far.hang_up())
        return connect(server, client)

    monkeypatch.setattr(ServerInterface, "connect", too_late)
    far.admit()
    assert forgotten[0].wait(10)
    assert far.server.clients == ()


class Interrupted(dict[Any, Any]):
    """A table whose readers are interrupted once they have read the first entry."""

    def __init__(self, entries: dict[Any, Any], interrupt: Callable[[], None]) -> None:
        super().__init__(entries)
        self._interrupt = interrupt

    def __iter__(self) -> Iterator[Any]:
        for number, key in enumerate(super().__iter__()):
            yield key
            if number == 0:
                self._interrupt()


def test_a_client_can_be_bound_while_those_of_another_process_are_dismissed(far: Far) -> None:
    far.exports.admit("/g", "sum", "/gone.out", "gone")
    other = threading.Thread(target=far.admit)

    def interrupt() -> None:
        other.start()
        other.join(A_MOMENT)

    far.exports._bound = Interrupted(far.exports._bound, interrupt)
    far.exports.forget("gone")
    other.join(10)
    assert [str(client) for client in far.server.clients] == ["/far.out"]
