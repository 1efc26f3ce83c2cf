from __future__ import annotations

import pytest
from lxml import etree

from gcm.drawing import Box, Scene, SceneLink, ScenePort, draw
from gcm.drawing.metrics import MAX_TEXT, shortened, text_width
from gcm.drawing.routing import Point
from gcm.drawing.shapes import inner_face, outer_face
from gcm.drawing.svg import escape, rounded

SVG = "{http://www.w3.org/2000/svg}"
LIFECYCLE = ScenePort("lifecycle-controller", "server")
SERVER = Box(
    "server", (ScenePort("greeter", "server"), LIFECYCLE), kind="active", note="demo.Server"
)
CLIENT = Box("client", (ScenePort("run", "server"), ScenePort("greeter", "client", optional=True)))
HELLO = Box(
    "hello",
    (ScenePort("run", "server"),),
    (CLIENT, SERVER),
    (
        SceneLink(("this", "run"), ("client", "run")),
        SceneLink(("client", "greeter"), ("server", "greeter")),
    ),
    "composite",
)


def parsed(root: Box, *, title: str = "", controls: bool = False) -> etree._Element:
    return etree.fromstring(draw(Scene(root), title=title, controls=controls).encode())


def texts(picture: etree._Element, tag: str, css: str = "") -> list[str]:
    found = [e for e in picture.iter(SVG + tag) if not css or e.get("class") == css]
    return [element.text or "" for element in found]


def test_names_notes_and_interfaces_are_written() -> None:
    picture = parsed(HELLO)
    assert texts(picture, "text", "name") == ["hello", "client", "server"]
    assert texts(picture, "text", "note") == ["demo.Server"]
    assert texts(picture, "text", "label") == ["run", "greeter", "greeter", "run"]


def test_tooltips_tell_full_paths() -> None:
    assert texts(parsed(HELLO), "title") == [
        "hello",
        "/hello: composite",
        "/hello.run → /hello/client.run",
        "/hello/client.greeter → /hello/server.greeter",
        "/hello/client: primitive",
        "/hello/client.run: server interface",
        "/hello/client.greeter: client interface, optional",
        "/hello/server: active, demo.Server",
        "/hello/server.greeter: server interface",
        "/hello.run: server interface",
    ]


def test_the_picture_tells_screen_readers_what_it_is() -> None:
    picture = parsed(HELLO, title="A greeting")
    assert picture.get("role") == "img"
    assert picture[0].text == "A greeting"
    assert texts(picture, "desc") == ["The component hello: 3 components on 2 levels, 2 bindings."]
    assert texts(picture, "text", "heading") == ["A greeting"]


def test_a_single_component_is_described_in_the_singular() -> None:
    picture = parsed(Box("alone"))
    assert texts(picture, "desc") == ["The component alone: 1 component on 1 level, 0 bindings."]
    assert texts(picture, "text", "heading") == []


def test_control_interfaces_are_drawn_only_when_asked_for() -> None:
    assert "lifecycle-controller" not in draw(Scene(HELLO))
    picture = parsed(HELLO, controls=True)
    assert "lifecycle-controller" in texts(picture, "text", "label")
    tip = "/hello/server.lifecycle-controller: server interface, control"
    assert tip in texts(picture, "title")
    assert "control interface" in texts(picture, "text", "key")


def test_a_binding_of_a_hidden_interface_is_hidden_with_it() -> None:
    hub = Box("hub", (ScenePort("lifecycle-controller", "client"),))
    link = SceneLink(("hub", "lifecycle-controller"), ("server", "lifecycle-controller"))
    root = Box("root", (), (hub, SERVER), (link,), "composite")
    assert 'class="wire' not in draw(Scene(root))
    assert draw(Scene(root), controls=True).count('class="wire') == 1


def test_the_legend_shows_only_what_is_used() -> None:
    assert texts(parsed(HELLO), "text", "key") == [
        "server interface",
        "client interface",
        "optional",
        "active",
    ]
    ports = (
        ScenePort("a", "server", "gathercast"),
        ScenePort("b", "client", "multicast"),
        ScenePort("c", "client", "collection"),
    )
    picture = parsed(Box("x", ports, kind="wrapper", shared=True))
    assert texts(picture, "text", "key") == [
        "server interface",
        "client interface",
        "multicast",
        "gathercast",
        "collection",
        "wrapper",
        "shared component",
    ]


def test_dark_colours_are_used_where_the_reader_prefers_them() -> None:
    assert draw(Scene(HELLO)).count("@media (prefers-color-scheme:dark){") == 1


def test_markup_and_illegal_characters_in_names_are_harmless() -> None:
    assert escape('<a & "b">\x00\ud800') == "&lt;a &amp; &quot;b&quot;&gt;\ufffd\ufffd"
    name = "<script>&\"'\x07"
    picture = parsed(Box(name, (ScenePort(name, "server"),), note=name), title=name)
    assert texts(picture, "text", "name") == ["<script>&\"'\ufffd"]
    assert not list(picture.iter(SVG + "script"))


def test_a_shared_component_is_marked() -> None:
    assert '"box primitive shared"' in draw(Scene(Box("x", shared=True)))
    assert '"box primitive"' in draw(Scene(Box("x")))


def test_corners_are_rounded_by_no_more_than_half_a_short_piece() -> None:
    points = (Point(0, 0), Point(20, 0), Point(20, -4), Point(60, -4))
    assert rounded(points) == "M0 0L18 0Q20 0 20 -2L20 -2Q20 -4 22 -4L60 -4"


@pytest.mark.parametrize(
    ("port", "outer", "inner"),
    [
        (ScenePort("p", "server"), "M0 0H-12M-12 -5V5", "M0 0H12M12 -5V5"),
        (ScenePort("p", "client"), "M0 0H12M12 -5V5", "M0 0H-12M-12 -5V5"),
        (
            ScenePort("p", "client", "collection"),
            "M0 0H12M12 -5V5M8 -5V5",
            "M0 0H-12M-12 -5V5M-8 -5V5",
        ),
        (
            ScenePort("p", "client", "multicast"),
            "M0 0L12 -6M0 0L12 0M0 0L12 6",
            "M0 0H-12M-12 -5V5",
        ),
        (
            ScenePort("p", "server", "multicast"),
            "M0 0H-12M-12 -5V5",
            "M0 0L12 -6M0 0L12 0M0 0L12 6",
        ),
        (ScenePort("p", "server", "gathercast"), "M-12 -6L0 0L-12 6Z", "M0 0H12M12 -5V5"),
        (ScenePort("p", "client", "gathercast"), "M0 0H12M12 -5V5", "M-12 -6L0 0L-12 6Z"),
    ],
)
def test_the_faces_of_a_composite_port_show_where_calls_spread_and_gather(
    port: ScenePort, outer: str, inner: str
) -> None:
    assert outer_face(port, composite=True) == (outer, outer.endswith("Z"))
    assert inner_face(port) == (inner, inner.endswith("Z"))


def test_a_primitive_shows_its_cardinality_outside() -> None:
    fan = "M-12 0L0 -6M-12 0L0 0M-12 0L0 6"
    assert outer_face(ScenePort("p", "server", "multicast"), composite=False) == (fan, False)


def test_an_internal_interface_has_only_an_inner_face() -> None:
    root = Box("x", (ScenePort("p", "internal-client"),), (Box("y"),), kind="composite")
    assert draw(Scene(root)).count('<path class="port server') == 2  # one of them in the legend


def test_long_names_are_cut_and_whole_in_the_tooltip() -> None:
    name = "n" * 200
    picture = parsed(Box(name))
    (written,) = texts(picture, "text", "name")
    assert written.endswith("n…")
    assert text_width(written, 13, bold=True) <= MAX_TEXT
    assert text_width(written.replace("…", "n…"), 13, bold=True) > MAX_TEXT
    assert f"/{name}: primitive" in texts(picture, "title")


def test_a_text_that_just_fits_is_not_cut() -> None:
    width = text_width("exact", 11)
    assert shortened("exact", 11, limit=width) == "exact"
    assert shortened("exact", 11, limit=width - 1) == "ex…"


def test_wide_and_combining_characters_are_measured() -> None:
    assert text_width("漢", 100) == 106
    assert text_width("e\u0301", 100) == text_width("e", 100) == 71
    assert text_width("Ж", 100) == 86
    assert text_width("M", 100, bold=True) == 115


def test_a_large_flat_farm_is_drawn_as_a_block() -> None:
    workers = tuple(Box(f"worker-{n}", (ScenePort("work", "server"),)) for n in range(48))
    links = tuple(SceneLink(("this", "run"), (worker.name, "work")) for worker in workers)
    root = Box("farm", (ScenePort("run", "server", "multicast"),), workers, links, "composite")
    for scene in (root, Box("farm", (), workers, (), "composite")):
        picture = parsed(scene)
        width, height = int(picture.get("width", "0")), int(picture.get("height", "0"))
        assert 0.5 < width / height < 2.5
        assert max(width, height) < 1300
