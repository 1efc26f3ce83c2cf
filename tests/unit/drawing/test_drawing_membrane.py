"""The membrane is drawn around the content, with what is in it."""

from __future__ import annotations

import pytest

from gcm.drawing import Box, Scene, SceneError, SceneLink, ScenePort, draw
from gcm.drawing.geometry import PlacedBox
from gcm.drawing.placing import place
from gcm.drawing.plan import along_border
from gcm.drawing.routing import Point

METER = Box("meter", (ScenePort("stats", "server"), ScenePort("alarm", "client")))
GUARD = Box("guard", (ScenePort("alarm", "server"), ScenePort("target", "client")))
OWN = Box("controllers", (ScenePort("lifecycle-controller", "server"),), kind="controller")
MEMBRANE = Box(
    "membrane",
    (ScenePort("stats", "server"),),
    (METER, GUARD, OWN),
    (
        SceneLink(("this", "stats"), ("meter", "stats")),
        SceneLink(("meter", "alarm"), ("guard", "alarm")),
        SceneLink(("guard", "target"), ("controllers", "lifecycle-controller")),
    ),
    "composite",
)
DISK = Box("disk", (ScenePort("store", "server"),))
STORE = ScenePort("store", "server", interceptors=("meter", "Log"))
COMPOSITE = Box(
    "storage",
    (STORE,),
    (DISK,),
    (SceneLink(("this", "store"), ("disk", "store")),),
    "composite",
    membrane=MEMBRANE,
)
PRIMITIVE = Box("plain", (STORE,), note="demo.Disk", membrane=MEMBRANE)


def both() -> list[PlacedBox]:
    return [place(COMPOSITE), place(PRIMITIVE)]


def test_what_is_in_the_membrane_lies_above_the_content_and_inside_the_border() -> None:
    for placed in both():
        assert placed.membrane is not None
        bottom = placed.membrane.content_top + placed.membrane.content_height
        assert bottom < placed.height
        for part in placed.membrane.parts:
            assert 0 < part.x < part.x + part.width < placed.width
            assert 0 < part.y < part.y + part.height < placed.membrane.content_top
        for child in placed.children:
            assert placed.membrane.content_top < child.y
            assert child.y + child.height < bottom


def test_wires_in_the_membrane_end_at_their_interfaces() -> None:
    for placed in both():
        assert placed.membrane is not None
        corner = {part.box.name: (part.x, part.y) for part in placed.membrane.parts}
        at = {
            (part.box.name, found.port.name): found.outer
            for part in placed.membrane.parts
            for found in part.ports
        }
        border = {("this", found.port.name): found.inner for found in placed.ports}
        for wire in placed.membrane.wires:
            for end, point in (
                (wire.link.client, wire.points[0]),
                (wire.link.server, wire.points[-1]),
            ):
                x, y = corner.get(end[0], (0, 0))
                touched = {**at, **border}[end]
                assert point == Point(x + touched.x, y + touched.y)


def test_interfaces_of_the_membrane_are_beside_it_and_functional_ones_beside_the_content() -> None:
    for placed in both():
        assert placed.membrane is not None
        heights = {found.port.name: found.at.y for found in placed.ports}
        assert heights["stats"] < placed.membrane.content_top < heights["store"]
        assert {found.at.x for found in placed.ports} == {0}


def test_a_wider_content_makes_the_membrane_wider() -> None:
    wide = tuple(
        Box(f"{n}" * 30, (ScenePort("in", "server"), ScenePort("out", "client"))) for n in range(6)
    )
    links = tuple(SceneLink((wide[n].name, "out"), (wide[n + 1].name, "in")) for n in range(5))
    placed = place(Box("wide", (), wide, links, "composite", membrane=MEMBRANE))
    assert placed.membrane is not None
    assert placed.width == place(Box("wide", (), wide, links, "composite")).width
    stats = next(wire for wire in placed.membrane.wires if wire.link.client[0] == "this")
    assert stats.points[0].x < 100


def test_what_surrounds_a_component_reaches_the_interfaces_of_its_membrane() -> None:
    user = Box("user", (ScenePort("stats", "client"),))
    link = SceneLink(("user", "stats"), ("storage", "stats"))
    picture = draw(Scene(Box("app", (), (user, COMPOSITE), (link,), "composite")))
    assert "<title>/app/user.stats → /app/storage.stats</title>" in picture


def test_what_intercepts_is_written_at_the_interface_and_in_the_key() -> None:
    picture = draw(Scene(PRIMITIVE))
    assert ">store ◆ meter, Log</text>" in picture
    assert "intercepted by meter, Log" in picture
    assert ">◆ interceptors</text>" in picture
    assert ">membrane</text>" in picture


def test_the_controllers_in_a_membrane_are_drawn_without_being_asked_for() -> None:
    assert ">lifecycle-controller</text>" in draw(Scene(PRIMITIVE))


def test_faults_in_a_membrane_are_told() -> None:
    broken = Box("m", (), (METER,), (SceneLink(("meter", "alarm"), ("ghost", "x")),), "composite")
    with pytest.raises(SceneError, match="the membrane of /root names 'ghost', which is not there"):
        draw(Scene(Box("root", membrane=broken)))


def test_interfaces_of_a_membrane_and_bindings_to_them_are_drawn_whatever_their_names() -> None:
    nf = (ScenePort("nf-controller", "server"),)
    log = Box("log", nf)
    bound = (SceneLink(("this", "nf-controller"), ("log", "nf-controller")),)
    inside = Box("membrane", nf, (log,), bound, "composite")
    holder = Box("holder", (ScenePort("name-controller", "server"),), membrane=inside)
    user = Box("user", (ScenePort("nf-controller", "client"), ScenePort("x-controller", "client")))
    link = SceneLink(("user", "nf-controller"), ("holder", "nf-controller"))
    picture = draw(Scene(Box("app", (), (user, holder), (link,), "composite")))
    assert picture.count(">nf-controller</text>") == 3
    assert "<title>/app/user.nf-controller → /app/holder.nf-controller</title>" in picture
    assert ".nf-controller → /app/holder/log.nf-controller</title>" in picture
    assert ">name-controller</text>" not in picture
    assert ">x-controller</text>" not in picture


def test_a_binding_straight_through_a_membrane_runs_between_its_two_ports_only() -> None:
    ports = (ScenePort("all", "server"), ScenePort("part", "internal-client"))
    part = Box("part", (ScenePort("report", "server"),), kind="controller")
    through = SceneLink(("this", "all"), ("this", "part"))
    links = (through, SceneLink(("this", "part"), ("part", "report")))
    placed = place(Box("host", membrane=Box("membrane", ports, (part,), links, "composite")))
    assert placed.membrane is not None
    inner = {found.port.name: found.inner for found in placed.ports}
    wires = {wire.link: wire.points for wire in placed.membrane.wires}
    assert wires[through] == (inner["all"], inner["part"])
    assert {point.x for point in wires[through]} == {inner["part"].x}


def test_bindings_along_a_border_keep_apart_and_pass_beside_other_ports() -> None:
    ports = [Point(12, y) for y in (10, 30, 50, 70)]
    ways = along_border([(ports[0], ports[2]), (ports[1], ports[3]), (ports[0], ports[1])], ports)
    assert [sorted({point.x for point in way})[0] for way in ways] == [9, 6, 12]


def test_what_is_bound_to_the_membrane_of_a_shared_component_is_drawn_in_each_of_its_homes() -> (
    None
):
    notes = ScenePort("notes-controller", "server")
    user = Box("user", (ScenePort("notes", "client"),))
    link = SceneLink(("user", "notes"), ("kept", "notes-controller"))
    second_home = Box("kept", (STORE, notes), shared=True)
    placed = place(Box("other", (), (second_home, user), (link,), "composite"))
    assert [wire.link for wire in placed.wires] == [link]
    own = ScenePort("name-controller", "server", control=True)
    unbound = Box("other", (), (Box("kept", (STORE, notes, own), shared=True),), (), "composite")
    (child,) = place(unbound).children
    assert [one.port.name for one in child.ports] == ["store"]
