"""Ordinary Pyro5 clients and daemons, of Pyro5 itself, talk with components."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Protocol, cast

import pytest
from Pyro5.api import BatchProxy, Daemon, Proxy
from Pyro5.errors import CommunicationError, PyroError, get_pyro_traceback
from Pyro5.server import expose as pyro_exposed

from gcm import active, primitive, provides, requires, running
from gcm.errors import NoSuchInterfaceError
from runtime.hosting.exposing import Exposed, PyroObject, expose
from runtime.transport.errors import Unreachable
from runtime.transport.pyro_messages import (
    COMPRESSED,
    CONNECT,
    INVOKE,
    JSON,
    MARSHAL,
    PING,
    MessageReader,
    PyroMessage,
)

LONG = 20.0


class Book(Protocol):
    def add(self, name: str, amount: float = 1.0) -> float: ...
    def total(self) -> dict[str, float]: ...
    def fail(self, why: str) -> None: ...
    def odd(self) -> object: ...


class NotInStock(Exception):
    """Of a class that a client outside has never heard of."""


@provides("book", Book)
class Keeper:
    def __init__(self) -> None:
        self.kept: dict[str, float] = {}

    def add(self, name: str, amount: float = 1.0) -> float:
        self.kept[name] = self.kept.get(name, 0.0) + amount
        return self.kept[name]

    def total(self) -> dict[str, float]:
        return self.kept

    def fail(self, why: str) -> None:
        if why == "tea":
            raise NotInStock("no tea")
        raise LookupError(why)

    def odd(self) -> object:
        return threading.Lock()


@pytest.fixture
def exposed() -> Iterator[Exposed]:
    keeper = primitive(Keeper, name="keeper")
    with running(keeper), expose(keeper, "book") as made:
        yield made


@pytest.fixture(params=["serpent", "json", "msgpack"])
def proxy(exposed: Exposed, request: pytest.FixtureRequest) -> Iterator[Any]:
    with Proxy(exposed.uri) as made:
        made._pyroSerializer = request.param
        made._pyroTimeout = LONG
        yield made


def address_of(exposed: Exposed) -> tuple[str, int]:
    host, _, port = exposed.uri.partition("@")[2].rpartition(":")
    return host, int(port)


def test_an_ordinary_client_calls_a_component(proxy: Any) -> None:
    assert proxy.add("tea", 2.5) == 2.5
    assert proxy.add(name="tea") == 3.5
    assert proxy.total() == {"tea": 3.5}
    proxy._pyroGetMetadata()
    assert proxy._pyroMethods == {"add", "total", "fail", "odd"}


def test_an_exception_reaches_the_client_and_its_traceback_the_log(
    proxy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "runtime.transport.pyro")
    with pytest.raises(LookupError, match="no such page") as caught:
        proxy.fail("no such page")
    trace = "".join(get_pyro_traceback(type(caught.value), caught.value, None))
    assert "The traceback is in the log" in trace
    assert "in fail" not in trace
    assert __file__ not in trace.partition("Remote traceback")[2]
    assert "raise LookupError(why)" in caplog.text
    assert proxy.add("still", 1) == 1


def test_a_result_that_cannot_travel_is_told(proxy: Any) -> None:
    with pytest.raises(PyroError, match="NotSendable: cannot be sent to a Pyro5 client"):
        proxy.odd()


def test_an_exception_of_a_class_that_clients_do_not_know_comes_as_its_words(proxy: Any) -> None:
    with pytest.raises(PyroError, match="NotInStock: no tea"):
        proxy.fail("tea")


def test_wrong_arguments_and_methods_are_told(proxy: Any) -> None:
    with pytest.raises(TypeError, match="unexpected keyword|got an unexpected|amounts"):
        proxy.add("tea", amounts=3)
    with pytest.raises(AttributeError, match="remote object .* has no exposed attribute"):
        proxy.substract("tea")
    with pytest.raises(AttributeError, match="exposes no method 'ad'. did you mean 'add'"):
        proxy._pyroInvoke("ad", ("tea",), {})


def test_a_batch_is_carried_out_in_order_up_to_the_first_failure(proxy: Any) -> None:
    batch = BatchProxy(proxy)
    batch.add("tea", 1)
    batch.add("tea", 2)
    batch.fail("here")
    batch.add("tea", 4)
    results = batch()
    assert [next(results), next(results)] == [1, 3]
    with pytest.raises(LookupError, match="here"):
        next(results)
    assert proxy.total() == {"tea": 3.0}


def test_calls_of_many_clients_all_arrive(exposed: Exposed) -> None:
    def work(name: str) -> None:
        with Proxy(exposed.uri) as proxy:
            for _ in range(20):
                proxy.add(name)

    threads = [threading.Thread(target=work, args=(f"n{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    with Proxy(exposed.uri) as proxy:
        assert proxy.total() == {f"n{n}": 20.0 for n in range(8)}


def test_a_large_argument_and_result_pass(exposed: Exposed) -> None:
    with Proxy(exposed.uri) as proxy:
        name = "x" * 3_000_000
        assert proxy.add(name) == 1.0
        assert list(proxy.total()) == [name]


def test_an_unknown_object_is_refused_by_name(exposed: Exposed) -> None:
    uri = exposed.uri.replace("book", "bok")
    with Proxy(uri) as proxy, pytest.raises(CommunicationError, match="did you mean 'book'"):
        proxy.add("tea")


def test_the_daemon_object_lists_what_is_exposed(exposed: Exposed) -> None:
    with Proxy(exposed.uri.replace("book", "Pyro.Daemon")) as daemon:
        assert daemon.registered() == ["book"]
        assert daemon.get_metadata("book")["methods"] == ["add", "total", "fail", "odd"]
        assert daemon.ping() is None


@pytest.mark.parametrize(
    "message",
    [
        PyroMessage(INVOKE, b"{}"),
        PyroMessage(CONNECT, b"not json"),
        PyroMessage(CONNECT, b"{}", serializer=MARSHAL),
        PyroMessage(CONNECT, b"{}", serializer=99),
        PyroMessage(CONNECT, b"x", flags=COMPRESSED),
        PyroMessage(7, b""),
    ],
    ids=["a call first", "no value", "marshal", "unknown", "compressed", "no kind"],
)
def test_who_speaks_otherwise_is_sent_away(exposed: Exposed, message: PyroMessage) -> None:
    with socket.create_connection(address_of(exposed), LONG) as stranger:
        stranger.sendall(message.joined())
        with contextlib.suppress(ConnectionResetError):
            assert stranger.recv(100) == b""
    with Proxy(exposed.uri) as proxy:
        assert proxy.total() == {}


def test_a_client_that_says_nothing_holds_up_nobody(exposed: Exposed) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(50):
            silent = stack.enter_context(socket.create_connection(address_of(exposed), LONG))
            hello = b'{"handshake": "hello", "object": "book"}'
            silent.sendall(PyroMessage(CONNECT, hello, serializer=JSON).joined())
        with Proxy(exposed.uri) as proxy:
            assert proxy.add("tea") == 1.0


def test_a_ping_is_answered(exposed: Exposed) -> None:
    with socket.create_connection(address_of(exposed), LONG) as client:
        hello = b'{"handshake": "hello", "object": "book"}'
        client.sendall(PyroMessage(CONNECT, hello).joined() + PyroMessage(PING, b"ping").joined())
        reader = MessageReader(10_000)
        kinds: list[int] = []
        while PING not in kinds:
            reader.feed(client.recv(4096))
            while (message := reader.take()) is not None:
                kinds.append(message.kind)


def test_an_interface_that_is_not_there_cannot_be_exposed() -> None:
    with pytest.raises(NoSuchInterfaceError, match="'bok'"):
        expose(primitive(Keeper, name="keeper"), "bok")


def test_a_unix_socket_serves_as_well(tmp_path: Path) -> None:
    keeper = primitive(Keeper, name="keeper")
    address = f"unix:{tmp_path}/book"
    with running(keeper), expose(keeper, "book", address=address) as made, Proxy(made.uri) as proxy:
        assert proxy.add("tea") == 1.0


class Asker(Protocol):
    def ask(self, name: str) -> float: ...


@provides("asker", Asker)
class Client:
    book: Annotated[Book, requires()]

    def ask(self, name: str) -> float:
        self.book.add(name, 2)
        return self.book.total()[name]


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with Daemon(host="127.0.0.1") as made:
        thread = threading.Thread(target=made.requestLoop)
        thread.start()
        yield made
        made.shutdown()
        thread.join(LONG)


def test_a_client_interface_is_bound_to_an_ordinary_pyro5_object(daemon: Daemon) -> None:
    uri = str(daemon.register(pyro_exposed(Keeper)(), "ledger"))
    client = primitive(Client, name="client")
    with PyroObject(uri, Book, timeout=LONG) as ledger:
        client.bind("book", ledger)
        with running(client):
            assert client.stub("asker", Asker).ask("tea") == 2.0
            with pytest.raises(LookupError, match="away") as caught:
                client.content.book.fail("away")
        notes = "".join(caught.value.__notes__)
        assert f"Remote traceback of {uri}" in notes
        assert "raise LookupError(why)" in notes


def test_an_object_that_does_not_answer_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        uri = f"PYRO:ledger@127.0.0.1:{unused.getsockname()[1]}"
        with PyroObject(uri, Book) as ledger, pytest.raises(Unreachable) as caught:
            cast(Book, ledger.stub).total()
    assert uri in str(caught.value)


def test_an_active_object_serves_its_clients_one_after_another() -> None:
    keeper = active(Keeper, name="keeper")
    with running(keeper), expose(keeper, "book", name="ledger") as made:
        assert made.uri.startswith("PYRO:ledger@127.0.0.1:")
        with Proxy(made.uri) as proxy:
            assert [proxy.add("tea") for _ in range(3)] == [1.0, 2.0, 3.0]
