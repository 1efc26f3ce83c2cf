"""Small promises of a picture: its shapes, its colours, and room for all that it shows."""

from __future__ import annotations

import re

import pytest
from lxml import etree

from gcm.drawing import Box, Scene, ScenePort, draw
from gcm.drawing.legend import legend
from gcm.drawing.metrics import FRAME
from gcm.drawing.placing import place
from gcm.drawing.shapes import icon, outer_face, port_class
from gcm.drawing.style import stylesheet


@pytest.mark.parametrize("kind", ["primitive", "composite", "unknown"])
def test_plain_kinds_have_no_sign(kind: str) -> None:
    assert icon(kind) == ""


@pytest.mark.parametrize(
    ("role", "cardinality", "path"),
    [
        ("server", "singleton", "M0 0H-12M-12 -5V5"),
        ("client", "singleton", "M0 0H12M12 -5V5"),
        ("server", "collection", "M0 0H-12M-12 -5V5M-8 -5V5"),
        ("client", "collection", "M0 0H12M12 -5V5M8 -5V5"),
        ("client", "multicast", "M0 0L12 -6M0 0L12 0M0 0L12 6"),
        ("server", "gathercast", "M-12 -6L0 0L-12 6Z"),
        ("client", "gathercast", "M0 -6L12 0L0 6Z"),
    ],
)
def test_the_shape_of_a_port_tells_its_role_and_cardinality(
    role: str, cardinality: str, path: str
) -> None:
    port = ScenePort("p", role, cardinality)
    assert outer_face(port, composite=False) == (path, path.endswith("Z"))
    assert port_class(port) == f"port {role}"


def test_every_colour_is_one_and_belongs_to_something_that_is_painted() -> None:
    rules = re.findall(r"^([^{@\n]+)\{([\w-]+):(#\w+)\}$", stylesheet(), re.MULTILINE)
    light, dark = rules[: len(rules) // 2], rules[len(rules) // 2 :]
    assert [rule[:2] for rule in light] == [rule[:2] for rule in dark]
    assert {what for _, what, _ in rules} == {"fill", "stroke"}
    assert all(re.fullmatch("#[0-9a-f]{6}", colour) for *_, colour in rules)
    assert len({rule[:2] for rule in light}) == len(light) == 29


def test_the_legend_is_broken_into_rows_that_fit() -> None:
    ports = [
        ScenePort("a", "server"),
        ScenePort("b", "client"),
        ScenePort("c", "client", "multicast"),
    ]
    placed = place(Box("x", tuple(ports), kind="active"))
    wide, low = legend(placed, width=10_000)
    narrow, high = legend(placed, width=1)
    assert {key.y for key in wide} == {0}
    assert [key.text for key in wide] == [key.text for key in narrow]
    assert [key.x for key in narrow] == [0] * len(narrow)
    assert len({key.y for key in narrow}) == len(narrow) == 4
    assert (low, high) == (narrow[1].y, 4 * narrow[1].y)
    exact = wide[1].x
    rows, _ = legend(placed, width=wide[2].x)
    assert [key.y for key in rows[:3]] == [0, 0, low]
    assert exact == rows[1].x


def test_the_ground_has_a_frame_around_everything_that_is_drawn() -> None:
    picture = etree.fromstring(draw(Scene(Box("x", (ScenePort("a", "server"),)))).encode())
    height, width = int(picture.get("height", "")), int(picture.get("width", ""))
    placed = place(Box("x", (ScenePort("a", "server"),)))
    _, keys = legend(placed, width=420)
    assert height == FRAME + placed.height + FRAME + keys + FRAME // 2
    assert width >= placed.width + 2 * FRAME
    assert picture.get("viewBox") == f"0 0 {width} {height}"


def test_leaves_of_one_composite_are_equally_wide() -> None:
    box = Box("box", (), (Box("a"), Box("with-more")), kind="composite")
    assert len({child.width for child in place(box).children}) == 1
