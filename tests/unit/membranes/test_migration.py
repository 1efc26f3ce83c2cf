"""A component moves to another host of the same process; its references stay good."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Caller,
    Component,
    Future,
    Invocation,
    active,
    composite,
    primitive,
    provides,
    requires,
    submit,
)
from gcm.errors import CopyError, IllegalContentError
from gcm.membranes.migration import MigrationController
from tests.unit.parts import WAIT


class Count(Protocol):
    def count(self, step: int = 1) -> int: ...


@provides("count", Count)
class Counter:
    def __init__(self) -> None:
        self.total = 0
        self.started = 0
        self.stopped = 0

    def count(self, step: int = 1) -> int:
        self.total += step
        return self.total

    def on_start(self) -> None:
        self.started += 1

    def on_stop(self) -> None:
        self.stopped += 1


class Host:
    """A destination in this process: the copy lives in a component of its own there."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.guest: Component | None = None
        self.calls: list[str] = []

    def adopt(self, component: Component, content: Any) -> Caller:
        if self.refuses:
            raise RuntimeError("no room")
        self.guest = primitive(lambda: content, f"{component.name}-there", type=component.type)
        self.guest.start()
        return self

    def call(self, invocation: Invocation) -> Future[Any]:
        assert self.guest is not None
        self.calls.append(str(invocation))
        stub = self.guest.server(invocation.interface).stub
        return submit(getattr(stub, invocation.operation), *invocation.args, **invocation.kwargs)


def move(component: Component, host: Host) -> None:
    component.controller(MigrationController).migrate(host)


@pytest.mark.parametrize("make", [primitive, active])
def test_whoever_holds_a_reference_keeps_it(
    make: Callable[..., Component], ended: Callable[[Any], Any]
) -> None:
    component, host = ended(make(Counter)), Host()
    component.start()
    stub = component.stub("count", Count)
    assert stub.count() == 1
    assert not component.controller(MigrationController).has_moved()
    move(component, host)
    assert component.controller(MigrationController).has_moved()
    assert component.state == "started"
    assert stub.count(step=2) == 3
    assert host.calls == ["/counter.count.count"]
    assert host.guest is not None
    assert host.guest.content.total == 3
    assert component.content.total == 1


def test_clients_that_are_bound_do_not_notice() -> None:
    class Calling:
        next: Annotated[Count, requires()]

    client, server, host = primitive(Calling), primitive(Counter), Host()
    client.bind("next", server.server("count"))
    server.start()
    client.start()
    move(server, host)
    assert client.content.next.count() == 1
    assert host.calls == ["/counter.count.count"]


def test_the_content_that_stays_behind_is_started_no_more() -> None:
    component, host = primitive(Counter), Host()
    component.start()
    move(component, host)
    component.stop()
    component.start()
    assert host.guest is not None
    assert (component.content.started, component.content.stopped) == (1, 1)
    assert (host.guest.content.started, host.guest.content.stopped) == (2, 1)


def test_a_stopped_component_stays_stopped_when_it_has_moved() -> None:
    component, host = primitive(Counter), Host()
    move(component, host)
    assert component.state == "stopped"
    component.start()
    assert component.stub("count", Count).count() == 1


def test_a_refused_component_goes_on_here_as_if_nothing_had_happened() -> None:
    component = primitive(Counter)
    component.start()
    stub = component.stub("count", Count)
    stub.count()
    with pytest.raises(RuntimeError, match="no room"):
        move(component, Host(refuses=True))
    assert component.state == "started"
    assert stub.count() == 2
    assert not component.controller(MigrationController).has_moved()
    move(component, Host())
    assert stub.count() == 3


def test_requests_that_come_during_the_move_are_served_at_the_destination(
    ended: Callable[[Any], Any],
) -> None:
    component = ended(active(Counter))
    component.start()
    futures: list[Future[int]] = []

    class Late(Host):
        def adopt(self, component: Component, content: Any) -> Caller:
            futures.append(submit(component.stub("count", Count).count, 5))
            return super().adopt(component, content)

    host = Late()
    move(component, host)
    assert futures[0].result(WAIT) == 5
    assert host.calls == ["/counter.count.count"]
    assert component.content.total == 0


def test_what_has_moved_cannot_move_again_from_here() -> None:
    component = primitive(Counter)
    move(component, Host())
    with pytest.raises(IllegalContentError) as caught:
        move(component, Host())
    assert str(caught.value) == (
        "the content has moved already, and what is here only forwards calls "
        "[component /counter]. Move it on from where it is now"
    )


def test_what_calls_others_cannot_move() -> None:
    class Calling:
        next: Annotated[Count, requires(optional=True)]

    client, server = primitive(Calling), primitive(Counter)
    client.bind("next", server.server("count"))
    with pytest.raises(IllegalContentError) as caught:
        move(client, Host())
    assert str(caught.value) == (
        "cannot migrate while next is bound [component /calling]. "
        "Only primitives without bound client interfaces can move"
    )
    client.unbind("next")
    host = Host()
    move(client, host)
    assert host.guest is not None


def test_a_composite_cannot_move() -> None:
    box = composite("box")
    with pytest.raises(IllegalContentError, match="no primitive"):
        MigrationController(box).migrate(Host())


def test_the_copy_shares_nothing_with_the_original() -> None:
    component, host = primitive(Counter), Host()
    component.content.extra = [[1]]
    move(component, host)
    assert host.guest is not None
    assert host.guest.content.extra == [[1]]
    assert host.guest.content.extra[0] is not component.content.extra[0]


def test_a_content_that_cannot_be_copied_stays() -> None:
    component = primitive(Counter)
    component.content.lock = threading.Lock()
    component.start()
    with pytest.raises(CopyError, match="the content of /counter cannot be copied: TypeError"):
        move(component, Host())
    assert component.stub("count", Count).count() == 1


def test_a_component_of_one_process_does_not_move_to_a_node_by_name() -> None:
    with pytest.raises(IllegalContentError, match="'lab/rack/n1' cannot take it in"):
        primitive(Counter).controller(MigrationController).migrate("lab/rack/n1")
