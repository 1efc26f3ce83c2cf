"""What may be bound to what, and when; every reason of a refusal is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from gcm import (
    Cardinality,
    Component,
    ComponentType,
    Composite,
    Contingency,
    InterfaceType,
    Role,
    composite,
    primitive,
    provides,
    requires,
)
from gcm.errors import (
    IllegalBindingError,
    IllegalContentError,
    IllegalLifeCycleError,
    NoSuchInterfaceError,
)
from gcm.interfaces.interface import Referenced
from gcm.membranes.binding import BindingController
from gcm.membranes.content import ContentController
from gcm.membranes.lifecycle import LifeCycleController
from tests.unit.parts import Asking, Casting, Echo, Shouter, Speaker


class Number(Protocol):
    def count(self, size: int) -> int: ...


@provides("echo", Echo, optional=True)
class Shy(Speaker):
    pass


class Wanting:
    next: Annotated[Echo, requires(optional=True)]


class Many:
    workers: Annotated[dict[str, Echo], requires(cardinality=Cardinality.COLLECTION, name="worker")]


@provides("number", Number)
class Counter:
    def count(self, size: int) -> int:
        return size


class Strange(Protocol):
    def hear(self) -> None: ...


@provides("strange", Strange, optional=True)
class Hearing:
    def hear(self) -> None: ...


def leaves(client: str, server: str) -> str:
    return (
        f"the two are not in the same composite ({client}; {server}); a binding that leaves a "
        "composite goes through an interface of that composite"
    )


def box_of(*parts: Component, name: str = "box") -> Composite:
    made = composite(
        name,
        ComponentType((InterfaceType("in", Echo), InterfaceType("out", Echo, Role.CLIENT))),
    )
    for part in parts:
        made.controller(ContentController).add(part)
    return made


def names_of(component: Component) -> list[str]:
    return component.controller(BindingController).names()


def lookup(component: Component, name: str) -> list[str]:
    return [end.path for end in component.controller(BindingController).lookup(name)]


def test_a_binding_is_found_again_and_its_stub_is_in_the_content() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    assert lookup(client, "next") == []
    client.bind("next", server.server("echo"))
    assert lookup(client, "next") == ["/speaker.echo"]
    assert server.server("echo").clients == (client.client("next"),)
    server.start()
    client.start()
    assert client.content.next.say("a") == "a"


def test_a_subtype_of_the_clients_signature_may_serve() -> None:
    client = primitive(Asking)
    client.bind("next", primitive(Shouter).server("louder"))
    assert lookup(client, "next") == ["/shouter.louder"]


def test_every_reason_of_a_refusal_is_told_and_nothing_is_bound() -> None:
    client, server = primitive(Asking), primitive(Hearing)
    left, right = box_of(client, name="left"), box_of(server, name="right")
    box_of(left, right, name="root")
    with pytest.raises(IllegalBindingError) as caught:
        client.bind("next", server.server("strange"))
    assert str(caught.value) == (
        "cannot be bound to /root/right/hearing.strange: "
        "a mandatory client needs a mandatory server, and this one is optional; "
        + leaves(
            "/root/left/asking.next is in /root/left",
            "/root/right/hearing.strange is in /root/right",
        )
        + "; Strange has no operation 'say' "
        "[component /root/left/asking, interface 'next', state stopped]. "
        "Fix this, or choose another server"
    )
    assert lookup(client, "next") == []
    assert server.server("strange").clients == ()


def test_a_server_of_another_signature_is_refused() -> None:
    with pytest.raises(IllegalBindingError, match="say"):
        primitive(Asking).bind("next", primitive(Counter).server("number"))


def test_a_second_binding_of_a_singleton_is_refused() -> None:
    client, first, second = primitive(Asking), primitive(Speaker), primitive(Speaker, "second")
    client.bind("next", first.server("echo"))
    with pytest.raises(IllegalBindingError) as caught:
        client.bind("next", second.server("echo"))
    assert str(caught.value) == (
        "cannot be bound to /second.echo: a singleton interface has one server, and "
        "/speaker.echo is bound to it [component /asking, interface 'next', state stopped]. "
        "Unbind it first"
    )
    assert lookup(client, "next") == ["/speaker.echo"]


@pytest.mark.parametrize(("content", "name"), [(Asking, "next"), (Casting, "all")])
def test_the_same_binding_twice_is_refused(content: type[Any], name: str) -> None:
    client, server = primitive(content), primitive(Speaker)
    client.bind(name, server.server("echo"))
    with pytest.raises(IllegalBindingError) as caught:
        client.bind(name, server.server("echo"))
    assert caught.value.what.startswith("cannot be bound to /speaker.echo: ")
    assert "the binding is there" in caught.value.cure


def test_unbinding_is_no_cure_when_there_is_more_to_mend() -> None:
    client = primitive(Asking)
    client.bind("next", primitive(Speaker).server("echo"))
    with pytest.raises(IllegalBindingError, match="is bound to it; ") as caught:
        client.bind("next", primitive(Shy).server("echo"))
    assert caught.value.cure == "Fix this, or choose another server"


def test_a_mandatory_client_is_not_bound_to_an_optional_server() -> None:
    with pytest.raises(IllegalBindingError) as caught:
        primitive(Asking).bind("next", primitive(Shy).server("echo"))
    assert caught.value.what == (
        "cannot be bound to /shy.echo: a mandatory client needs a mandatory server, and this one "
        "is optional"
    )


def test_an_optional_client_may_be_bound_to_any_server() -> None:
    for content, path in ((Shy, "/shy.echo"), (Speaker, "/speaker.echo")):
        client, server = primitive(Wanting), primitive(content)
        client.bind("next", server.server("echo"))
        assert lookup(client, "next") == [path]


def test_nothing_is_bound_to_a_client_interface() -> None:
    target: Any = primitive(Wanting).client("next")
    with pytest.raises(IllegalBindingError) as caught:
        primitive(Asking).bind("next", target)
    assert caught.value.what == (
        "cannot be bound to /wanting.next: 'next' is a client interface, so nothing can be bound "
        "to it"
    )


def test_a_binding_starts_at_a_client_interface_that_exists() -> None:
    server = primitive(Speaker)
    with pytest.raises(NoSuchInterfaceError) as caught:
        primitive(Asking).bind("nxt", server.server("echo"))
    assert str(caught.value) == (
        "there is no interface 'nxt' [component /asking]. did you mean 'next'?"
    )
    with pytest.raises(NoSuchInterfaceError) as caught:
        server.bind("echo", server.server("echo"))
    assert str(caught.value) == (
        "there is no client interface 'echo' [component /speaker]. There is: none"
    )


def test_parts_of_different_composites_are_not_bound_directly() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    box_of(client, name="left")
    box_of(server, name="right")
    with pytest.raises(IllegalBindingError) as caught:
        client.bind("next", server.server("echo"))
    assert caught.value.what == "cannot be bound to /right/speaker.echo: " + leaves(
        "/left/asking.next is in /left", "/right/speaker.echo is in /right"
    )


def test_siblings_and_the_two_ways_through_a_composite_are_local() -> None:
    client, server, relay = primitive(Asking), primitive(Speaker), primitive(Asking, "relay")
    box = box_of(client, server, relay)
    client.bind("next", server.server("echo"))
    relay.bind("next", box.inner_server("out"))
    box.bind("in", server.server("echo"))
    outside = primitive(Speaker, "outside")
    box.bind("out", outside.server("echo"))
    assert lookup(box, "in") == ["/box/speaker.echo"]
    assert lookup(box, "out") == ["/outside.echo"]
    assert lookup(relay, "next") == ["/box.out"]


def test_a_composite_may_lead_straight_through() -> None:
    box = box_of()
    box.bind("in", box.inner_server("out"))
    box.bind("out", primitive(Speaker).server("echo"))
    box.bindable("out").servers[0].owner.start()  # type: ignore[attr-defined]  # a local end has an owner
    box.start()
    assert box.stub("in", Echo).say("x") == "x"


def test_a_part_is_not_bound_to_the_outer_face_of_its_own_composite() -> None:
    client = primitive(Asking)
    box = box_of(client)
    with pytest.raises(IllegalBindingError) as caught:
        client.bind("next", box.server("in"))
    assert caught.value.what == "cannot be bound to /box.in: " + leaves(
        "/box/asking.next is in /box", "/box.in is in no composite"
    )


def test_the_outer_face_of_a_composite_is_not_bound_to_its_own_part() -> None:
    server = primitive(Speaker)
    box = box_of(server)
    with pytest.raises(IllegalBindingError) as caught:
        box.bind("out", server.server("echo"))
    assert caught.value.what == "cannot be bound to /box/speaker.echo: " + leaves(
        "/box.out is in no composite", "/box/speaker.echo is in /box"
    )


def test_the_inner_face_of_a_composite_is_not_bound_to_its_own_outer_face() -> None:
    box = box_of()
    with pytest.raises(IllegalBindingError, match="the two are not in the same composite"):
        box.bind("in", box.server("in"))


def test_a_shared_part_sees_the_siblings_in_each_of_its_composites() -> None:
    shared, left, right = (primitive(Casting), primitive(Speaker, "l"), primitive(Speaker, "r"))
    box_of(shared, left, name="left")
    box_of(shared, right, name="right")
    shared.bind("all", left.server("echo"))
    shared.bind("all", right.server("echo"))
    assert lookup(shared, "all") == ["/left/l.echo", "/right/r.echo"]


def test_parts_that_were_bound_early_must_come_into_the_same_composite() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    box_of(client, name="left")
    right = box_of(name="right")
    with pytest.raises(IllegalContentError) as caught:
        right.controller(ContentController).add(server)
    assert str(caught.value) == (
        "'speaker' is bound to parts that are not in the same composite: "
        "/left/asking.next -> /right/speaker.echo [component /right, state stopped]. "
        "Unbind these, and bind through interfaces of the composites"
    )
    assert right.children == ()
    assert server.parents == ()


def test_parts_that_were_bound_early_may_come_into_one_composite() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    box = box_of(client, server)
    assert [part.name for part in box.children] == ["asking", "speaker"]


@pytest.mark.parametrize("inside", ["client", "server", "export", "import"])
def test_a_part_is_not_bound_to_what_is_in_no_composite(inside: str) -> None:
    client, server = primitive(Asking), primitive(Speaker)
    box = box_of(*{"client": [client], "server": [server]}.get(inside, []))
    bind: dict[str, Callable[[], None]] = {
        "client": lambda: client.bind("next", server.server("echo")),
        "server": lambda: client.bind("next", server.server("echo")),
        "export": lambda: box.bind("in", server.server("echo")),
        "import": lambda: client.bind("next", box.inner_server("out")),
    }
    with pytest.raises(IllegalBindingError, match="is in no composite") as caught:
        bind[inside]()
    assert caught.value.cure == (
        "Add the other one to the composite first, or bind through the composite's interface"
    )


def test_a_start_looks_for_bindings_that_leave_the_composite() -> None:
    client, server = primitive(Asking), primitive(Speaker, "outside")
    client.bind("next", server.server("echo"))
    box = composite("box")
    box.controller(ContentController).add(client)
    with pytest.raises(IllegalLifeCycleError) as caught:
        box.start()
    assert caught.value.what == (
        "cannot start, 1 reason(s): /box/asking: /box/asking.next is bound to /outside.echo, and "
        "the two are not in the same composite (/box/asking.next is in /box; /outside.echo is in "
        "no composite)"
    )
    assert box.state == client.state == "stopped"
    box.controller(ContentController).add(server)
    box.start()
    assert client.content.next.say("a") == "a"


def test_a_part_is_not_added_while_a_binding_that_would_leave_the_composite_is_in_use() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    server.start()
    client.start()
    box = composite("box")
    for part in (client, server):
        with pytest.raises(IllegalContentError, match="not in the same composite"):
            box.controller(ContentController).add(part)
    assert box.children == client.parents == server.parents == ()
    client.stop()
    box.controller(ContentController).add(server)
    box.start()
    with pytest.raises(IllegalLifeCycleError, match=r"/asking: /asking\.next is bound to /box/"):
        client.start()


def test_a_reference_and_a_control_interface_may_be_bound_from_any_composite() -> None:
    class Steering:
        life: Annotated[LifeCycleController, requires()]

    client, steering, server = primitive(Asking), primitive(Steering), primitive(Speaker)
    box = box_of(client, steering)
    client.bind("next", Referenced(server.server("echo")))
    steering.bind("life", server.server("lifecycle-controller"))
    box.bind("in", Referenced(server.server("echo")))
    box.bind("out", server.server("echo"))
    server.start()
    box.start()
    assert client.content.next.say("a") == "a"
    assert steering.content.life.is_started()
    box.stop()
    with pytest.raises(IllegalBindingError, match=r"/speaker\.echo: .* already"):
        client.bind("next", Referenced(server.server("echo")))
    client.unbind("next", Referenced(server.server("echo")))
    assert lookup(client, "next") == []


def bound() -> tuple[Component, Component]:
    client, server = primitive(Asking), primitive(Speaker)
    client.bind("next", server.server("echo"))
    server.start()
    return client, server


def test_bindings_change_only_while_the_client_is_stopped() -> None:
    client, server = bound()
    client.start()
    changes: list[Callable[[], None]] = [
        lambda: client.bind("next", server.server("echo")),
        lambda: client.unbind("next"),
    ]
    for change in changes:
        with pytest.raises(IllegalLifeCycleError) as caught:
            change()
        assert str(caught.value) == (
            "bindings change only while the component is stopped "
            "[component /asking, interface 'next', state started]. "
            "Stop it, bind, and start it again: no request is lost"
        )
    assert lookup(client, "next") == ["/speaker.echo"]
    client.stop()
    client.unbind("next")
    assert lookup(client, "next") == []


def test_an_ended_component_is_not_told_to_be_started_again() -> None:
    client, _ = bound()
    client.terminate()
    with pytest.raises(IllegalLifeCycleError) as caught:
        client.unbind("next")
    assert "make a new one" in caught.value.cure


def test_an_unbound_content_has_none_and_its_server_forgets_it() -> None:
    client, server = bound()
    client.unbind("next", server.server("echo"))
    assert client.content.next is None
    assert server.server("echo").clients == ()


def test_what_is_not_bound_cannot_be_unbound() -> None:
    client, server = primitive(Asking), primitive(Speaker)
    with pytest.raises(IllegalBindingError) as caught:
        client.unbind("next")
    assert str(caught.value) == (
        "is not bound [component /asking, interface 'next']. It is bound to: nothing"
    )
    client.bind("next", server.server("echo"))
    other = primitive(Speaker, "other")
    with pytest.raises(IllegalBindingError) as caught:
        client.unbind("next", other.server("echo"))
    assert str(caught.value) == (
        "is not bound to /other.echo [component /asking, interface 'next']. "
        "It is bound to: /speaker.echo"
    )


def test_a_member_of_a_client_collection_is_made_at_its_first_use() -> None:
    client = primitive(Many)
    assert names_of(client) == []
    assert client.content.workers == {}
    for number in (1, 2):
        client.bind(f"worker{number}", primitive(Speaker, f"s{number}").server("echo"))
    assert names_of(client) == ["worker1", "worker2"]
    assert list(client.content.workers) == ["1", "2"]
    assert client.client("worker1").type == InterfaceType(
        "worker1", Echo, Role.CLIENT, cardinality=Cardinality.COLLECTION
    )


@pytest.mark.parametrize("name", ["worker", "workr1"])
def test_a_member_of_a_collection_needs_the_prefix_and_a_suffix(name: str) -> None:
    with pytest.raises(NoSuchInterfaceError, match=f"there is no interface '{name}'"):
        primitive(Many).bind(name, primitive(Speaker).server("echo"))


def test_a_member_of_a_collection_can_be_unbound_and_the_component_starts_without_it() -> None:
    client, server = primitive(Many), primitive(Speaker)
    client.bind("worker1", server.server("echo"))
    client.bind("worker2", server.server("echo"))
    client.unbind("worker1")
    assert list(client.content.workers) == ["2"]
    assert lookup(client, "worker1") == []
    client.start()
    assert client.state == "started"


def test_a_refused_binding_of_a_new_member_does_not_hinder_the_start() -> None:
    client, server = primitive(Many), primitive(Speaker)
    client.bind("worker1", server.server("echo"))
    with pytest.raises(IllegalBindingError):
        client.bind("worker2", primitive(Counter).server("number"))
    client.start()
    assert list(client.content.workers) == ["1"]


def test_a_member_of_a_collection_takes_one_server() -> None:
    client, server = primitive(Many), primitive(Speaker)
    client.bind("worker1", server.server("echo"))
    with pytest.raises(IllegalBindingError, match="a collection interface has one server"):
        client.bind("worker1", primitive(Speaker, "other").server("echo"))


def test_a_server_collection_makes_members_for_its_clients() -> None:
    @provides("ports", Echo, cardinality=Cardinality.COLLECTION)
    class Serving:
        def say(self, text: str) -> str:
            return text

    server = primitive(Serving)
    server.start()
    client = primitive(Asking)
    client.bind("next", server.server("ports-a"))
    client.start()
    assert client.content.next.say("x") == "x"
    assert [one.name for one in server.servers] == ["ports-a"]
    assert server.server("ports-a") is server.server("ports-a")


def test_a_multicast_interface_keeps_its_servers_in_binding_order() -> None:
    client = primitive(Casting)
    servers = [primitive(Speaker, name).server("echo") for name in "cab"]
    for server in servers:
        client.bind("all", server)
    assert lookup(client, "all") == ["/c.echo", "/a.echo", "/b.echo"]
    client.unbind("all", servers[1])
    assert lookup(client, "all") == ["/c.echo", "/b.echo"]
    client.unbind("all")
    assert lookup(client, "all") == []


def test_the_names_that_can_be_bound_include_the_inner_faces() -> None:
    assert names_of(box_of()) == ["out", "in"]
    assert names_of(primitive(Speaker)) == []


def test_a_call_of_an_unbound_inner_face_says_what_is_missing() -> None:
    box = composite(
        "box", ComponentType((InterfaceType("in", Echo, contingency=Contingency.OPTIONAL),))
    )
    box.start()
    with pytest.raises(IllegalBindingError) as caught:
        box.stub("in", Echo).say("x")
    assert "is bound to the interface [component /box, interface 'in']" in str(caught.value)


class Counted(Protocol):
    def count(self, size: int) -> list[int]: ...


@pytest.mark.parametrize(
    ("cardinality", "cure"),
    [
        (Cardinality.SINGLETON, "Counted has the lists: give the server a signature with their"),
        (Cardinality.MULTICAST, "The server shares out the lists of Counted itself: let the"),
    ],
)
def test_a_multicast_client_is_not_told_to_share_a_signature_that_it_shares(
    cardinality: Cardinality, cure: str
) -> None:
    ends = [
        composite(name, type=ComponentType((InterfaceType("to", Counted, role, cardinality=many),)))
        for name, role, many in (
            ("client", Role.CLIENT, Cardinality.MULTICAST),
            ("server", Role.SERVER, cardinality),
        )
    ]
    with pytest.raises(IllegalBindingError) as caught:
        ends[0].bind("to", ends[1].server("to"))
    assert caught.value.cure.startswith(cure)
