"""What holds for every picture, whatever the scene."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from gcm.drawing import Box, Scene, SceneLink, ScenePort, draw
from gcm.drawing.geometry import DrawnWire, PlacedBox
from gcm.drawing.metrics import LABEL_SIZE, NOTE_SIZE, STEM, TITLE_SIZE, text_width
from gcm.drawing.placing import place
from gcm.drawing.routing import Point
from gcm.drawing.scene import CARDINALITIES, KINDS, THIS, PortFinder

LEAF_KINDS = tuple(kind for kind in KINDS if kind != "composite")
LETTERS = "abWi-é漢<&\"'"


def some_names(chance: Random, most: int) -> list[str]:
    names = {
        "".join(chance.choices(LETTERS, k=chance.randint(1, 12)))
        for _ in range(chance.randint(0, most))
    }
    return sorted(names)


def some_ports(chance: Random, *roles: str) -> tuple[ScenePort, ...]:
    return tuple(
        ScenePort(
            name,
            chance.choice(roles),
            chance.choice(CARDINALITIES),
            optional=chance.random() < 0.5,
            control=chance.random() < 0.3,
        )
        for name in some_names(chance, 4)
    )


def some_box(chance: Random, name: str = "root", levels: int = 3) -> Box:
    note = chance.choice(("", "package.module.Class"))
    shared = chance.random() < 0.5
    if levels == 1 or chance.random() < 0.2:
        own = some_ports(chance, "client", "server")
        return Box(name, own, kind=chance.choice(LEAF_KINDS), note=note, shared=shared)
    own = some_ports(chance, "client", "server", "internal-client", "internal-server")
    children = tuple(some_box(chance, child, levels - 1) for child in some_names(chance, 8))
    ends = [(THIS, port.name) for port in own]
    ends += [(child.name, port.name) for child in children for port in child.ports]
    links = []
    if len(ends) > 1:
        pairs = [chance.sample(ends, 2) for _ in range(chance.randint(0, 12))]
        links = [SceneLink(client, server) for client, server in pairs]
    return Box(name, own, children, tuple(links), "composite", note, shared)


# Drawn from a seed: hypothesis would spend minutes on shrinking so large a value.
boxes = st.integers(0, 2**32).map(lambda seed: some_box(Random(seed)))


def everything_in(root: PlacedBox) -> Iterator[PlacedBox]:
    yield root
    for child in root.children:
        yield from everything_in(child)


def overlap(one: PlacedBox, other: PlacedBox) -> bool:
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def runs_through(start: Point, end: Point, box: PlacedBox) -> bool:
    left, right = sorted((start.x, end.x))
    top, bottom = sorted((start.y, end.y))
    return (
        left < box.x + box.width
        and box.x < right + (left == right)
        and top < box.y + box.height
        and box.y < bottom + (top == bottom)
    )


@given(boxes, st.booleans())
@settings(max_examples=60)
def test_no_two_siblings_overlap(box: Box, controls: bool) -> None:
    for placed in everything_in(place(box, controls=controls)):
        for one, other in combinations(placed.children, 2):
            assert not overlap(one, other), (one.box.name, other.box.name)


@given(boxes, st.booleans())
@settings(max_examples=60)
def test_children_with_their_ports_are_inside_their_parent(box: Box, controls: bool) -> None:
    for placed in everything_in(place(box, controls=controls)):
        for child in placed.children:
            assert child.x - STEM > 0
            assert child.x + child.width + STEM < placed.width
            assert child.y > 0
            assert child.y + child.height < placed.height


@given(boxes, st.booleans())
@settings(max_examples=60)
def test_ports_sit_apart_from_each_other_on_their_border(box: Box, controls: bool) -> None:
    for placed in everything_in(place(box, controls=controls)):
        everything = controls or placed.box.kind == "controller"
        shown = {port for port in placed.box.ports if everything or not port.is_control}
        assert {found.port for found in placed.ports} == shown
        for found in placed.ports:
            assert found.at.x == (0 if found.port.on_left else placed.width)
            assert 0 < found.at.y < placed.height
        for one, other in combinations(placed.ports, 2):
            assert one.at.x != other.at.x or abs(one.at.y - other.at.y) >= LABEL_SIZE


def touching(placed: PlacedBox, end: tuple[str, str]) -> Point:
    component, interface = end
    if component == THIS:
        owner, corner = placed, Point(0, 0)
    else:
        owner = next(child for child in placed.children if child.box.name == component)
        corner = Point(owner.x, owner.y)
    port = PortFinder(owner.box.ports).find(interface)
    found = next(found for found in owner.ports if found.port == port)
    at = found.inner if component == THIS else found.outer
    return Point(corner.x + at.x, corner.y + at.y)


@given(boxes)
@settings(max_examples=60)
def test_every_wire_runs_orthogonally_from_its_client_to_its_server(box: Box) -> None:
    for placed in everything_in(place(box, controls=True)):
        assert [wire.link for wire in placed.wires] == list(placed.box.links)
        for wire in placed.wires:
            assert wire.points[0] == touching(placed, wire.link.client)
            assert wire.points[-1] == touching(placed, wire.link.server)
            for start, end in pairwise(wire.points):
                assert (start.x == end.x) != (start.y == end.y)


@given(boxes)
@settings(max_examples=60)
def test_no_wire_runs_through_a_box_or_leaves_its_composite(box: Box) -> None:
    def check(wire: DrawnWire, placed: PlacedBox) -> None:
        for start, end in pairwise(wire.points):
            assert 0 < start.x < placed.width
            assert 0 < start.y < placed.height
            for child in placed.children:
                assert not runs_through(start, end, child), (wire, child.box.name)

    for placed in everything_in(place(box, controls=True)):
        for wire in placed.wires:
            check(wire, placed)


@given(boxes)
@settings(max_examples=60)
def test_no_text_is_wider_than_its_box(box: Box) -> None:
    for placed in everything_in(place(box, controls=True)):
        assert text_width(placed.label, TITLE_SIZE, bold=True) < placed.width
        assert text_width(placed.note, NOTE_SIZE) < placed.width
        sides = [
            max(
                (
                    text_width(found.label, LABEL_SIZE)
                    for found in placed.ports
                    if found.port.on_left == on_left
                ),
                default=0,
            )
            for on_left in (True, False)
        ]
        assert sum(sides) < placed.width


@given(boxes, st.text(max_size=20))
@settings(max_examples=60)
def test_the_picture_is_well_formed_and_always_the_same(box: Box, title: str) -> None:
    picture = draw(Scene(box), title=title, controls=True)
    assert picture == draw(Scene(box), title=title, controls=True)
    root = etree.fromstring(picture.encode())
    groups = root.iterfind(".//{*}rect")
    assert sum(1 for rect in groups if rect.get("class", "").startswith("box ")) >= 1
