from __future__ import annotations

import pytest

from gcm.drawing import Box, Scene, SceneError, SceneLink, ScenePort, draw
from gcm.drawing.scene import MAX_DEPTH, PortFinder, faults_of

RUN = ScenePort("run", "server")


def faults(root: Box) -> list[str]:
    return list(faults_of(Scene(root)))


def test_a_sound_scene_has_no_faults() -> None:
    child = Box("child", (RUN,))
    link = SceneLink(("this", "run"), ("child", "run"))
    assert faults(Box("root", (RUN,), (child,), (link,), "composite")) == []


def test_all_faults_are_told_at_once_with_their_places() -> None:
    child = Box(
        "child", (ScenePort("a", "peer"), ScenePort("b", "client", "many"), RUN, RUN), kind="odd"
    )
    links = (
        SceneLink(("nobody", "run"), ("child", "run")),
        SceneLink(("child", "go"), ("this", "run")),
    )
    root = Box("root", (), (child, Box("twin"), Box("twin"), Box("this")), links, "composite")
    assert faults(root) == [
        "/root has several children called 'twin'",
        "/root has a child called 'this', which links use for the composite itself",
        "a link in /root names 'nobody', which is not there",
        "a link in /root names 'child.go', which is not there",
        "a link in /root names 'this.run', which is not there",
        "/root/child is of the unknown kind 'odd' "
        "(known: composite, primitive, active, wrapper, clustering, "
        "controller)",
        "/root/child.a has the unknown role 'peer'",
        "/root/child.b has the unknown cardinality 'many'",
        "/root/child has several interfaces called 'run'",
    ]


def test_drawing_a_faulty_scene_raises_with_all_faults() -> None:
    with pytest.raises(SceneError) as caught:
        draw(Scene(Box("root", (ScenePort("a", "x"), ScenePort("b", "y")))))
    assert caught.value.faults == (
        "/root.a has the unknown role 'x'",
        "/root.b has the unknown role 'y'",
    )
    assert str(caught.value) == (
        "the scene cannot be drawn: /root.a has the unknown role 'x'; "
        "/root.b has the unknown role 'y'"
    )


def nested(levels: int) -> Box:
    box = Box("leaf")
    for level in range(levels - 1):
        box = Box(f"n{level}", (), (box,), kind="composite")
    return box


def test_the_deepest_allowed_scene_is_drawn_and_one_level_more_is_refused() -> None:
    assert draw(Scene(nested(MAX_DEPTH))).count('class="box ') == MAX_DEPTH
    found = faults(nested(MAX_DEPTH + 1))
    assert len(found) == 1
    assert found[0].endswith("is nested 200 levels deep, and still has children")


@pytest.mark.parametrize(
    ("name", "found"),
    [("disk", "disk"), ("disk7", "disk"), ("disk-b1", "disk-b"), ("dis", None), ("runs", None)],
)
def test_a_name_means_its_port_or_the_closest_collection_it_extends(
    name: str, found: str | None
) -> None:
    collections = [ScenePort(n, "client", "collection") for n in ("disk", "disk-b")]
    port = PortFinder([RUN, *collections]).find(name)
    assert (port.name if port else None) == found


@pytest.mark.parametrize(
    ("port", "is_control"),
    [
        (ScenePort("lifecycle-controller", "server"), True),
        (ScenePort("component", "server"), True),
        (ScenePort("monitor", "server", control=True), True),
        (ScenePort("controller", "server"), False),
    ],
)
def test_control_interfaces_are_known_by_flag_or_name(port: ScenePort, is_control: bool) -> None:
    assert port.is_control is is_control


@pytest.mark.parametrize(
    ("role", "on_left", "is_internal"),
    [
        ("server", True, False),
        ("client", False, False),
        ("internal-client", True, True),
        ("internal-server", False, True),
    ],
)
def test_calls_enter_on_the_left_and_leave_on_the_right(
    role: str, on_left: bool, is_internal: bool
) -> None:
    assert (ScenePort("p", role).on_left, ScenePort("p", role).is_internal) == (
        on_left,
        is_internal,
    )
