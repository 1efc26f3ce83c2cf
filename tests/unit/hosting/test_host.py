"""Two hosts of one process, joined in memory: references, bindings, refusals."""

from __future__ import annotations

import gc
import queue
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import pytest

from gcm import Cardinality, InterceptorController, primitive, provides, requires, submit
from gcm.errors import IllegalBindingError, NoSuchComponentError, NoSuchInterfaceError
from gcm.interfaces.interface import ServerInterface
from gcm.invocation import Invocation
from runtime.hosting.channels import MOST_OF_ONE
from runtime.hosting.host import Host
from runtime.hosting.remote import BINDING, RemoteInterface
from runtime.testing.joined_hosts import joined_hosts
from runtime.transport.channel import Channel
from runtime.transport.credentials import Credentials
from runtime.transport.errors import (
    ChannelClosed,
    NotSendable,
    RemoteError,
    TransportError,
    Unreachable,
)
from runtime.transport.reactor import Reactor

LONG = 10.0
SECRET = b"a secret of a test"


class Ping(Protocol):
    def ping(self, number: int) -> int: ...


class Keep(Protocol):
    def keep(self, thing: Any) -> Any: ...
    def quit(self) -> None: ...


@provides("ping", Ping)
class Pinger:
    def ping(self, number: int) -> int:
        return number + 1


@provides("sum", Ping, cardinality=Cardinality.GATHERCAST)
class Gatherer:
    def ping(self, number: list[int]) -> list[int]:
        return [sum(number)] * len(number)


@provides("keep", Keep)
class Keeper:
    kept: Any = None

    def keep(self, thing: Any) -> Any:
        self.kept = thing
        return thing

    def quit(self) -> None:
        raise SystemExit(7)


class Caller:
    out: Annotated[Ping, requires()]


class Wrong(Protocol):
    def pong(self) -> None: ...


class WrongCaller:
    out: Annotated[Wrong, requires()]


@dataclass
class Two:
    left: Host
    right: Host
    left_channel: Channel


@pytest.fixture
def two() -> Iterator[Two]:
    with joined_hosts("/left", "/right") as (left, right):
        channel = left.routes.find("/right")
        assert isinstance(channel, Channel)
        left.routes.add("/app", channel)
        for name, content in (("pinger", Pinger), ("keeper", Keeper), ("gatherer", Gatherer)):
            component = primitive(content)
            component.start()
            right.publish(f"/app/{name}", component)
        yield Two(left, right, channel)


def keeper(two: Two) -> tuple[Any, Keeper]:
    end: Any = two.left.find("/app/keeper", "keep")
    content: Keeper = two.right.exports.component("/app/keeper").content
    return end.stub, content


def test_a_remote_interface_is_a_server_end_like_any_other(two: Two) -> None:
    caller = primitive(Caller)
    end = two.left.find("/app/pinger", "ping")
    assert isinstance(end, RemoteInterface)
    assert (str(end), end.path, end.type.signature) == ("/app/pinger.ping",) * 2 + (Ping,)
    caller.bind("out", end)
    caller.start()
    assert caller.content.out.ping(1) == 2
    assert caller.client("out").servers == (end,)
    caller.stop()
    caller.unbind("out", two.left.find("/app/pinger", "ping"))
    assert not caller.client("out").is_bound


def test_what_is_here_is_found_without_a_detour(two: Two) -> None:
    end = two.right.find("/app/pinger", "ping")
    assert isinstance(end, ServerInterface)
    call = Invocation("/app/pinger", "ping", "ping", (1,))
    assert two.right.call(call).result(LONG) == 2


def test_an_incompatible_remote_server_cannot_be_bound(two: Two) -> None:
    with pytest.raises(IllegalBindingError, match=r"cannot be bound to /app/pinger\.ping"):
        primitive(WrongCaller).bind("out", two.left.find("/app/pinger", "ping"))


def test_a_gathercast_server_waits_for_clients_of_both_processes(two: Two) -> None:
    near, far = primitive(Caller, "near"), primitive(Caller, "far")
    far.bind("out", two.left.find("/app/gatherer", "sum"))
    near.bind("out", two.right.find("/app/gatherer", "sum"))
    far.start()
    near.start()
    waiting = submit(far.content.out.ping, 1)
    assert near.content.out.ping(2) == 3
    assert waiting.result(LONG) == 3
    gatherer = two.right.exports.component("/app/gatherer").server("sum")
    assert [str(client) for client in gatherer.clients] == ["/left/far.out", "/near.out"]
    far.stop()
    far.unbind("out")
    assert [str(client) for client in gatherer.clients] == ["/near.out"]


def test_a_gathercast_server_refuses_calls_without_a_binding(two: Two) -> None:
    end: Any = two.left.find("/app/gatherer", "sum")
    with pytest.raises(Exception, match="was called without a binding"):
        end.stub.ping(1)


def test_stubs_cross_as_references_and_come_home_as_themselves(two: Two) -> None:
    stub, content = keeper(two)
    own = primitive(Pinger)
    own.start()
    mine: Any = own.stub("ping", Ping)
    assert stub.keep(mine) is mine
    assert content.kept is not mine
    assert content.kept.ping(5) == 6
    assert stub.keep(stub) is stub
    assert content.kept is two.right.exports.component("/app/keeper").server("keep").stub


@pytest.mark.parametrize(
    "value",
    [
        1,
        2.5,
        True,
        None,
        "\x93 “quoted”",
        b"\x93",
        (),
        (1, ("two", {})),
        [1],
        {"a": 1},
        "x" * 100_000,
    ],
)
def test_plain_values_arrive_as_they_were(two: Two, value: Any) -> None:
    stub, _ = keeper(two)
    assert stub.keep(value) == value


def test_a_reference_among_plain_values_is_one(two: Two) -> None:
    stub, _ = keeper(two)
    assert stub.keep((1, (stub,))) == (1, (stub,))


def test_deeply_nested_values_cross(two: Two) -> None:
    stub, _ = keeper(two)
    nested: Any = ()
    for _ in range(400):
        nested = (1, nested)
    assert stub.keep(nested) == nested


def test_what_is_nested_too_deeply_is_refused(two: Two) -> None:
    stub, _ = keeper(two)
    nested: Any = ()
    for _ in range(100_000):
        nested = (1, nested)
    with pytest.raises(NotSendable):
        stub.keep(nested)
    while nested:  # or its end would need as much of the stack
        _, nested = nested


def test_references_cross_in_large_values(two: Two) -> None:
    stub, content = keeper(two)
    own = primitive(Pinger)
    own.start()
    mine: Any = own.stub("ping", Ping)
    text, same = stub.keep(["x" * (17 << 20), mine])
    assert (len(text), same) == (17 << 20, mine)
    assert content.kept[1].ping(5) == 6


def test_server_ends_cross_as_references_too(two: Two) -> None:
    stub, content = keeper(two)
    end = two.left.find("/app/pinger", "ping")
    assert stub.keep(end) == end
    assert content.kept is two.right.exports.component("/app/pinger").server("ping")
    own = primitive(Pinger)
    two.left.publish("/left/own", own)
    assert stub.keep(own.server("ping")) is own.server("ping")
    assert isinstance(content.kept, RemoteInterface)


def test_a_reference_says_which_interface_it_means(two: Two) -> None:
    end = two.left.find("/app/pinger", "ping")
    assert repr(end) == "<remote interface /app/pinger.ping>"
    assert end == RemoteInterface(two.left, "/app/pinger", "ping", end.type)
    assert end != RemoteInterface(two.left, "/app/pinger", "pong", end.type)
    assert end != object()


@pytest.mark.parametrize(
    ("path", "interface", "error", "hint"),
    [
        ("/app/pingre", "ping", NoSuchComponentError, "did you mean '/app/pinger'"),
        ("/app/pinger", "pign", NoSuchInterfaceError, "did you mean 'ping'"),
        ("/nobody", "ping", Unreachable, "nothing leads to /nobody"),
    ],
)
def test_what_is_not_there_is_refused_at_once(
    two: Two, path: str, interface: str, error: type[Exception], hint: str
) -> None:
    with pytest.raises(error, match=hint):
        two.left.find(path, interface)


def test_the_interface_for_binding_has_no_other_operations(two: Two) -> None:
    call = Invocation("/app/pinger", BINDING, "type_on", ("ping",))
    with pytest.raises(NoSuchInterfaceError, match="did you mean 'type_of'"):
        two.left.call(call).result(LONG)


def test_a_withdrawn_component_is_gone(two: Two) -> None:
    end: Any = two.left.find("/app/pinger", "ping")
    two.right.withdraw("/app/pinger")
    with pytest.raises(NoSuchComponentError, match="no such component in this process"):
        end.stub.ping(1)


def test_a_withdrawn_component_that_was_called_is_let_go(two: Two) -> None:
    component = primitive(Pinger, "leaving")
    component.start()
    two.right.publish("/app/leaving", component)
    end: Any = two.left.find("/app/leaving", "ping")
    assert end.stub.ping(1) == 2
    is_there = weakref.ref(component.content)
    two.right.withdraw("/app/leaving")
    component.stop()
    component.terminate()
    del component
    for _ in range(100):
        gc.collect()
        if is_there() is None:
            break
        time.sleep(0.01)  # a thread of the host may still be about to end the call
    assert is_there() is None


def test_content_that_exits_does_not_take_its_caller_along(two: Two) -> None:
    stub, _ = keeper(two)
    with pytest.raises(RemoteError, match="SystemExit: 7"):
        stub.quit()


def test_a_call_waits_for_a_component_that_was_stopped_since_the_last_one(two: Two) -> None:
    stub: Any = two.left.find("/app/pinger", "ping")
    ping = stub.stub.ping
    assert [ping(1), ping(2)] == [2, 3]
    pinger = two.right.exports.component("/app/pinger")
    pinger.stop()
    waiting = submit(ping, 3)
    with pytest.raises(TimeoutError):
        waiting.result(0.05)
    pinger.start()
    assert waiting.result(LONG) == 4
    assert ping(4) == 5


def test_an_interceptor_meets_the_calls_after_it_was_added(two: Two) -> None:
    seen: list[Any] = []

    class Noting:
        def before(self, call: Invocation) -> None:
            seen.append(call.args)

        def after(self, call: Invocation, error: BaseException | None) -> None:
            seen.append(error)

    end: Any = two.left.find("/app/pinger", "ping")
    assert end.stub.ping(1) == 2
    pinger = two.right.exports.component("/app/pinger")
    interceptors = pinger.controller(InterceptorController)
    noting = Noting()
    interceptors.add(noting, "ping")
    assert end.stub.ping(2) == 3
    interceptors.remove(noting)
    assert end.stub.ping(3) == 4
    assert seen == [(2,), None]


def test_an_error_says_where_it_was_raised_and_how_it_came_to_that(two: Two) -> None:
    end: Any = two.left.find("/app/pinger", "ping")
    with pytest.raises(TypeError) as caught:
        end.stub.ping("one")
    assert caught.value.__notes__ == ["raised in /app/pinger, in the process /right"]
    trace = str(caught.value.__cause__)
    assert "return number + 1" in trace
    assert "serving.py" not in trace


def test_nobody_waits_on_the_thread_that_receives(two: Two) -> None:
    end: Any = two.left.find("/app/pinger", "ping")
    refused: queue.Queue[BaseException] = queue.Queue()

    def call() -> None:
        try:
            end.stub.ping(1)
        except TransportError as error:
            refused.put(error)

    two.left.reactor.soon(call)
    assert "cannot wait on the thread" in str(refused.get(timeout=LONG))


def test_a_host_that_has_ended_refuses_what_it_is_asked_to_do(two: Two) -> None:
    two.right.close()
    answer = two.right.call(Invocation("/app/pinger", "ping", "ping", (1,)))
    with pytest.raises(ChannelClosed, match="is not called any more"):
        answer.result(LONG)


def test_after_the_end_of_a_channel_its_clients_are_dismissed_and_calls_fail(two: Two) -> None:
    near, far = primitive(Caller, "near"), primitive(Caller, "far")
    far.bind("out", two.left.find("/app/gatherer", "sum"))
    near.bind("out", two.right.find("/app/gatherer", "sum"))
    near.start()
    alone = submit(near.content.out.ping, 2)
    ended = threading.Event()
    two.left_channel.when_closed(lambda _: ended.set())
    two.left_channel.close()
    assert ended.wait(LONG)
    assert alone.result(LONG) == 2
    with pytest.raises(ChannelClosed, match=r"nothing leads to /app/pinger\.ping\.ping any more"):
        two.left.call(Invocation("/app/pinger", "ping", "ping", (1,))).result(LONG)
    far.unbind("out")


def test_one_process_cannot_take_all_connections_of_another() -> None:
    with Reactor() as reactor:
        here, there, third = (Host(f"/nodes/a/{one}", reactor) for one in ("n0", "n1", "n2"))
        listener = here.listen("127.0.0.1:0", Credentials(SECRET, here.home))
        known = Credentials(SECRET, there.home)
        made = [there.dial(listener.address, known) for _ in range(MOST_OF_ONE + 1)]
        ended = threading.Event()
        made[-1].when_closed(lambda _: ended.set())
        assert ended.wait(LONG)
        assert not any(one.is_closed for one in made[:-1])
        other = third.dial(listener.address, Credentials(SECRET, third.home))
        with pytest.raises(NoSuchComponentError):
            other.call(Invocation(here.home, "x", "y")).result(LONG)
        for host in (here, there, third):
            host.close()
        listener.close()
