"""Each rule about bindings has a document that breaks it and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

Check = Any  # the fixture of conftest, which tests cannot import

SERVER = '<component name="server"><content class="lib.Server"/></component>'
CLIENT = '<component name="client"><content class="lib.Client"/></component>'
WIRE = '<binding client="client.greeter" server="server.greeter"/>'


def app(*lines: str) -> str:
    return "\n".join(['<definition name="app">', *lines, "</definition>"])


def interface(name: str, role: str, more: str = "", signature: str = "lib.Greeter") -> str:
    return f'<interface name="{name}" role="{role}" signature="{signature}" {more}/>'


def client_with(more: str, signature: str = "lib.Greeter") -> str:
    itf = interface("out", "client", more, signature)
    return f'<component name="c">{itf}<content class="lib.Watch"/></component>'


def server_with(more: str, content: str = "lib.Loud") -> str:
    itf = interface("in", "server", more)
    return f'<component name="s">{itf}<content class="{content}"/></component>'


def test_a_clean_assembly_becomes_a_plan(check: Check) -> None:
    done = check(
        app(
            interface("run", "server", signature="lib.Runnable"),
            CLIENT,
            SERVER,
            '<binding client="this.run" server="client.run"/>',
            WIRE,
        )
    )
    assert done.codes == []
    assert done.plan.count == 3
    assert done.root.path == "/app"
    assert [one.path for one in done.root.components] == ["/app/client", "/app/server"]
    assert [(one.client, one.server, one.location.line) for one in done.root.bindings] == [
        (("this", "run"), ("client", "run"), 5),
        (("client", "greeter"), ("server", "greeter"), 6),
    ]


@pytest.mark.parametrize("end", ["client", "client.", ".greeter", ""])
def test_an_end_names_a_component_and_an_interface(check: Check, end: str) -> None:
    done = check(app(SERVER, f'<binding client="{end or "."}" server="server.greeter"/>'))
    assert done.codes == ["3 malformed-binding"]


def test_unknown_components_are_told_with_the_nearest_name(check: Check) -> None:
    done = check(app(SERVER, CLIENT, '<binding client="clent.greeter" server="servr.greeter"/>'))
    assert [(one.message, one.hint, one.path) for one in done.found] == [
        (
            "the client end 'clent.greeter' names no component 'clent'",
            "did you mean 'client'?",
            "/app",
        ),
        (
            "the server end 'servr.greeter' names no component 'servr'",
            "did you mean 'server'?",
            "/app",
        ),
    ]


def test_unknown_interfaces_are_told_with_the_nearest_name(check: Check) -> None:
    done = check(app(SERVER, CLIENT, '<binding client="client.greter" server="server.greetr"/>'))
    assert [(one.message, one.hint) for one in done.found] == [
        (
            "component 'client' has no interface 'greter' to be the client end",
            "did you mean 'greeter'?",
        ),
        (
            "component 'server' has no interface 'greetr' to be the server end",
            "did you mean 'greeter'?",
        ),
    ]


def test_an_unlike_name_leaves_the_interface_unbound(check: Check) -> None:
    done = check(app(SERVER, CLIENT, '<binding client="client.xyz" server="server.greeter"/>'))
    assert done.codes == ["3 unbound-interface", "4 unknown-interface"]
    assert done.found[1].hint == "it has: run, greeter"


def test_exchanged_ends_are_told_once(check: Check) -> None:
    done = check(app(SERVER, CLIENT, '<binding client="server.greeter" server="client.greeter"/>'))
    assert done.only.message == "the ends 'server.greeter' and 'client.greeter' are exchanged"
    assert done.only.hint == 'write client="client.greeter" server="server.greeter"'


def test_two_servers_cannot_be_bound(check: Check) -> None:
    done = check(
        app(
            interface("run", "server", "", "lib.Runnable"),
            CLIENT,
            SERVER,
            WIRE,
            '<binding client="client.run" server="server.greeter"/>',
            '<binding client="this.run" server="client.run"/>',
        )
    )
    assert done.only.code == "wrong-role"
    assert done.only.message == "'client.run' is a server interface, not a client"


def test_this_is_seen_from_inside(check: Check) -> None:
    done = check(
        app(
            interface("up", "client"),
            SERVER,
            CLIENT,
            '<binding client="client.greeter" server="this.up"/>',
        )
    )
    assert done.codes == []
    done = check(
        app(
            interface("up", "client"),
            CLIENT,
            WIRE.replace("server.greeter", "this.up"),
            '<binding client="this.up" server="client.run"/>',
        )
    )
    assert done.only.message == "'this.up' is a server interface seen from inside, not a client"


def test_internal_interfaces_are_seen_as_they_are(check: Check) -> None:
    done = check(
        app(
            interface("inner", "internal-server"),
            CLIENT,
            '<binding client="client.greeter" server="this.inner"/>',
        )
    )
    assert done.codes == []


def test_internal_interfaces_of_others_cannot_be_bound(check: Check) -> None:
    inside = interface("inner", "internal-server")
    done = check(
        app(
            f'<component name="box">{inside}{SERVER}</component>',
            CLIENT,
            '<binding client="client.greeter" server="box.inner"/>',
        )
    )
    assert done.only.code == "internal-interface"


def test_signatures_must_fit(check: Check) -> None:
    done = check(
        app(
            client_with("", "lib.LoudGreeter"),
            server_with(""),
            '<binding client="c.out" server="s.in"/>',
        )
    )
    assert done.only.code == "incompatible-binding"
    assert done.only.message == (
        "'c.out' cannot be bound to 's.in': Greeter has no operation 'shout'"
    )
    assert done.only.location.line == 4


def test_a_subtype_serves_its_base(check: Check) -> None:
    loud = interface("in", "server", "", "lib.LoudGreeter")
    done = check(
        app(
            client_with(""),
            f'<component name="s">{loud}<content class="lib.Loud"/></component>',
            '<binding client="c.out" server="s.in"/>',
        )
    )
    assert done.codes == []


def test_a_mandatory_client_needs_a_mandatory_server(check: Check) -> None:
    optional = 'contingency="optional"'
    binding = '<binding client="c.out" server="s.in"/>'
    done = check(app(client_with(""), server_with(optional), binding))
    assert done.codes == ["4 optional-server"]
    assert check(app(client_with(optional), server_with(optional), binding)).codes == []


def test_a_singleton_is_bound_once(check: Check) -> None:
    done = check(app(CLIENT, SERVER, WIRE, WIRE))
    assert done.codes == ["5 duplicate-binding"]
    assert done.only.message == "'client.greeter' is bound twice"


def test_a_multicast_is_bound_many_times_but_once_to_each(check: Check) -> None:
    several = [
        client_with('cardinality="multicast"', "lib.AllGreeters"),
        server_with(""),
        SERVER,
        '<binding client="c.out" server="s.in"/>',
        '<binding client="c.out" server="server.greeter"/>',
    ]
    done = check(app(*several))
    assert not [code for code in done.codes if "duplicate" in code]
    done = check(app(*several, '<binding client="c.out" server="s.in"/>'))
    assert [one.message for one in done.found if one.code == "duplicate-binding"] == [
        "'c.out' is bound to 's.in' twice"
    ]


def test_members_of_a_collection_are_named_or_numbered(check: Check) -> None:
    done = check(
        app(
            client_with('cardinality="collection"'),
            server_with(""),
            SERVER,
            '<binding client="c.out1" server="s.in"/>',
            '<binding client="c.out" server="server.greeter"/>',
        )
    )
    assert done.codes == []
    assert [one.client for one in done.root.bindings] == [("c", "out1"), ("c", "out2")]


def test_a_member_of_a_collection_is_bound_once(check: Check) -> None:
    binding = '<binding client="c.out1" server="s.in"/>'
    done = check(app(client_with('cardinality="collection"'), server_with(""), binding, binding))
    assert done.codes == ["5 duplicate-binding"]


def test_a_mandatory_client_must_be_bound(check: Check) -> None:
    done = check(app(SERVER, CLIENT))
    assert done.only.message == "mandatory interface 'greeter' has no binding"
    assert done.only.path == "/app/client"
    assert done.only.location.line == 3
    assert done.only.hint == 'add <binding client="client.greeter" .../>, or make it optional'


def test_a_mandatory_collection_without_members_is_a_warning(check: Check) -> None:
    done = check(app(client_with('cardinality="collection"'), SERVER))
    assert done.plan is not None
    assert str(done.only).partition("app.fractal:")[2] == (
        "2: warning[empty-collection]: mandatory collection 'out' has no binding (component "
        '/app/c). add <binding client="c.out1" .../>, or make it optional'
    )


def test_an_optional_client_may_stay_unbound(check: Check) -> None:
    assert check(app(client_with('contingency="optional"'))).codes == []


def test_the_clients_of_the_root_need_no_binding_but_its_servers_do_inside(check: Check) -> None:
    done = check(
        app(interface("up", "client"), interface("run", "server", "", "lib.Runnable"), SERVER)
    )
    assert done.only.message == "mandatory interface 'run' has no binding inside"
    assert done.only.location.line == 3
    assert done.only.hint == 'add <binding client="this.run" .../>, or make it optional'


def test_a_remote_reference_is_taken_as_it_is(check: Check) -> None:
    done = check(app(CLIENT, '<binding client="client.greeter" server="pyro:g@host:90"/>'))
    assert done.codes == []
    assert done.root.bindings[0].server == "pyro:g@host:90"


def test_a_client_of_the_composite_itself_is_bound_to_a_remote_reference(check: Check) -> None:
    up = interface("up", "client")
    bound = '<binding client="this.up" server="http://host:8080/services/up"/>'
    done = check(app(up, SERVER, bound))
    assert done.codes == []
    assert done.root.bindings[0].client == ("this", "up")
    inside = f'<component name="box">{up}{SERVER}{bound}</component>'
    assert check(app(inside)).codes == []
    assert check(app(up, SERVER, bound, bound)).only.code == "duplicate-binding"
    assert check(app(up, SERVER, bound.replace("http:", "server.greeter"))).codes != []


def bound_to(server: str, *more: str, signature: str = "lib.Stopping") -> str:
    return app(
        client_with("", signature),
        *more or (SERVER,),
        f'<binding client="c.out" server="{server}"/>',
    )


def test_a_control_interface_can_be_bound(check: Check) -> None:
    done = check(bound_to("server.lifecycle-controller"))
    assert done.codes == []
    assert done.root.bindings[0].server == ("server", "lifecycle-controller")


@pytest.mark.parametrize(
    "end", ["lifecyle-controller", "lifecycle-controler", "Lifecycle-Controller"]
)
def test_a_misspelled_control_interface_is_told_with_the_nearest_one(
    check: Check, end: str
) -> None:
    done = check(bound_to(f"server.{end}"))
    assert done.codes == ["4 unknown-interface"]
    assert done.only.message == f"component 'server' has no interface '{end}' to be the server end"
    assert done.only.hint == "did you mean 'lifecycle-controller'?"


def test_each_kind_of_component_has_the_controllers_of_its_membrane(check: Check) -> None:
    box = f'<component name="box">{SERVER}</component>'
    queue = "request-queue-controller"
    active = SERVER.replace("<content", '<controller desc="active"/><content')
    names = '<controller desc="lib.COUNTED"/><content'
    assert check(bound_to("box.lifecycle-controller", box)).codes == []
    assert check(bound_to("box.attribute-controller", box)).codes == ["4 unknown-interface"]
    assert check(bound_to("server.content-controller")).codes == ["4 unknown-interface"]
    assert check(bound_to(f"server.{queue}")).codes == ["4 unknown-interface"]
    assert check(bound_to(f"server.{queue}", active)).only.code == "incompatible-binding"
    own = bound_to("server.lifecycle-controller", SERVER.replace("<content", names))
    assert check(own).codes == ["4 unknown-interface"]


def test_a_control_interface_serves_what_its_controller_has(check: Check) -> None:
    done = check(bound_to("server.lifecycle-controller", signature="lib.Greeter"))
    assert done.codes == ["4 incompatible-binding"]
    assert done.only.message == (
        "'c.out' cannot be bound to 'server.lifecycle-controller': "
        "LifeCycleController has no operation 'greet'"
    )


@pytest.mark.parametrize(
    "server",
    [
        SERVER.replace("<content", '<controller desc="activ"/><content'),
        '<component name="server" definition="Missing"/>',
        '<component name="server" definition="./nowhere"/>',
    ],
)
def test_what_was_not_found_brings_on_no_fault_of_a_control_interface(
    check: Check, server: str
) -> None:
    for end in ("request-queue-controller", "anything-controller"):
        assert len(check(bound_to(f"server.{end}", server)).found) == 1


def test_the_controllers_of_a_shared_component_are_those_of_what_it_leads_to(check: Check) -> None:
    parts = (f'<component name="box">{SERVER}</component>',)
    shared = '<component name="server" definition="./box/server"/>'
    assert check(bound_to("server.attribute-controller", *parts, shared)).codes == [
        "5 incompatible-binding"
    ]
    assert check(bound_to("server.content-controller", *parts, shared)).codes == [
        "5 unknown-interface"
    ]


def test_inside_a_membrane_this_has_the_controllers_of_the_component(check: Check) -> None:
    def membrane(end: str) -> str:
        dog = client_with("", "lib.Stopping")
        inside = f'{dog}<binding client="c.out" server="this.{end}"/>'
        return app(f'<controller desc="primitive">{inside}</controller><content class="lib.Loud"/>')

    assert check(membrane("lifecycle-controller")).codes == []
    assert check(membrane("lifecycel-controller")).only.hint == (
        "did you mean 'lifecycle-controller'?"
    )
    assert check(membrane("content-controller")).codes == ["2 unknown-interface"]


def test_what_a_membrane_exports_is_bound_like_a_control_interface(check: Check) -> None:
    inside = (
        '<interface name="watch-controller" role="server" signature="lib.Greeter"/>'
        f'{SERVER}<binding client="this.watch-controller" server="server.greeter"/>'
    )
    holder = (
        f'<component name="h"><controller desc="primitive">{inside}</controller>'
        '<content class="lib.Loud"/></component>'
    )
    assert check(bound_to("h.watch-controller", holder, signature="lib.Greeter")).codes == []
    wrong = check(bound_to("h.watch-controller", holder))
    assert wrong.codes == ["4 incompatible-binding"]


def test_a_primitive_holds_no_bindings(check: Check) -> None:
    done = check(app('<content class="lib.Server"/>', '<binding client="a.b" server="c.d"/>'))
    assert done.codes == ["3 bindings-in-primitive"]


def test_a_gathercast_server_is_bound_as_a_single_one_outside(check: Check) -> None:
    box = (
        '<component name="box">'
        + interface("in", "server", 'cardinality="gathercast" contingency="optional"')
        + SERVER
        + "</component>"
    )
    client = client_with('contingency="optional"')
    done = check(app(client, box, '<binding client="c.out" server="box.in"/>'))
    assert done.codes == []


def test_a_gathercast_server_calls_with_lists_inside(check: Check) -> None:
    done = check(
        app(
            interface("in", "server", 'cardinality="gathercast"'),
            SERVER,
            '<binding client="this.in" server="server.greeter"/>',
        )
    )
    assert done.only.code == "incompatible-binding"
    assert "list[str]" in done.only.message


CHOIR = (
    '<component name="choir"><interface name="in" role="server" signature="lib.ListGreeter"/>'
    '<content class="lib.Choir"/></component>'
)


def test_a_gathercast_server_of_a_composite_is_served_by_lists(check: Check) -> None:
    done = check(
        app(
            interface("in", "server", 'cardinality="gathercast"'),
            CHOIR,
            '<binding client="this.in" server="choir.in"/>',
        )
    )
    assert done.codes == []


def test_a_gathercast_client_of_a_composite_calls_with_lists_outside_only(check: Check) -> None:
    box = "\n".join(
        [
            '<component name="box">',
            interface("out", "client", 'cardinality="gathercast"'),
            CLIENT,
            '<binding client="client.greeter" server="this.out"/>',
            "</component>",
        ]
    )
    outside = '<binding client="box.out" server="{}"/>'
    assert check(app(box, CHOIR, outside.format("choir.in"))).codes == []
    done = check(app(box, SERVER, outside.format("server.greeter")))
    assert done.codes == ["8 incompatible-binding"]


def test_a_multicast_server_of_a_composite_calls_many_inside(check: Check) -> None:
    inside = interface("in", "server", 'cardinality="multicast"', "lib.AllGreeters")
    done = check(
        app(
            inside,
            SERVER,
            server_with(""),
            '<binding client="this.in" server="server.greeter"/>',
            '<binding client="this.in" server="s.in"/>',
        )
    )
    assert done.codes == []
    single = interface("in", "server", "", "lib.AllGreeters")
    done = check(app(single, SERVER, '<binding client="this.in" server="server.greeter"/>'))
    assert done.codes == ["4 incompatible-binding"]


def test_several_planted_faults_are_as_many_findings(check: Check) -> None:
    done = check(
        app(
            '<interface name="run" role="server" signature="lib.Runnable"/>',
            '<component nme="client"><content class="lib.Client"/></component>',
            '<component name="server"><content class="lib.Server"/>',
            '<attributes><attribute name="cuont" value="5"/></attributes></component>',
            '<component name="a"><content class="lib.Nope"/></component>',
            '<component name="b"><interface name="g" role="sever" signature="lib.Greeter"/>',
            '<content class="lib.Server"/></component>',
            '<bindng client="this.run" server="client.rn"/>',
            '<binding client="clint.greeter" server="server.greeter"/>',
            '<component name="d" definition="Nowhere"/>',
        )
    )
    assert done.codes == [
        "3 unknown-xml-attribute",
        "5 unknown-attribute",
        "6 missing-class",
        "7 unknown-role",
        "9 unknown-element",
        "9 unknown-interface",
        "10 unknown-component",
        "11 missing-definition",
    ]
