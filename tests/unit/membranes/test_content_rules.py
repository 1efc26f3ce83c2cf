"""What a composite may hold, and when that may change."""

from __future__ import annotations

from typing import Annotated

import pytest

from gcm import (
    Component,
    ComponentType,
    Composite,
    InterfaceType,
    Role,
    composite,
    primitive,
    requires,
)
from gcm.errors import IllegalContentError, IllegalLifeCycleError
from gcm.membranes.content import ContentController
from tests.unit.parts import Echo
from tests.unit.parts import Speaker as PlainSpeaker


class Speaker(PlainSpeaker):
    next: Annotated[Echo, requires(optional=True)]


def content_of(box: Component) -> ContentController:
    return box.controller(ContentController)


def box_of(name: str, *parts: Component) -> Composite:
    box = composite(
        name, ComponentType((InterfaceType("in", Echo), InterfaceType("out", Echo, Role.CLIENT)))
    )
    for part in parts:
        content_of(box).add(part)
    return box


def test_parts_keep_the_order_in_which_they_were_added() -> None:
    parts = [primitive(Speaker, name) for name in "cab"]
    box = box_of("box", *parts)
    assert box.children == tuple(parts)
    assert content_of(box).names() == ["c", "a", "b"]
    assert [part.parents for part in parts] == [(box,)] * 3


def test_a_removed_part_is_free_again() -> None:
    parts = [primitive(Speaker, name) for name in "abc"]
    box = box_of("box", *parts)
    content_of(box).remove(parts[1])
    assert content_of(box).names() == ["a", "c"]
    assert parts[1].parents == ()
    assert box.child("b") is None
    content_of(box).add(parts[1])
    assert content_of(box).names() == ["a", "c", "b"]


def refused(box: Component, child: Component) -> str:
    with pytest.raises(IllegalContentError) as caught:
        content_of(box).add(child)
    return str(caught.value)


def test_a_composite_does_not_contain_itself() -> None:
    box = box_of("box")
    assert "itself [component /box, state stopped]" in refused(box, box)
    assert box.children == ()


def test_a_part_is_added_once() -> None:
    part = primitive(Speaker)
    box = box_of("box", part)
    assert refused(box, part).startswith(
        "'speaker' is a sub-component already [component /box, state stopped]. "
    )
    assert part.parents == (box,)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_adding_a_composite_to_its_own_inside_makes_no_cycle(depth: int) -> None:
    outer = inner = box_of("outer")
    for number in range(depth):
        deeper = box_of(f"b{number}")
        content_of(inner).add(deeper)
        inner = deeper
    assert "'outer' contains this composite, so adding it would make a cycle" in refused(
        inner, outer
    )
    assert inner.children == ()


def test_two_parts_have_two_names() -> None:
    box = box_of("box", primitive(Speaker))
    assert refused(box, primitive(Speaker)).startswith(
        "there is another sub-component named 'speaker' [component /box, state stopped]. "
    )


def test_an_ended_component_is_not_added() -> None:
    part = primitive(Speaker)
    part.terminate()
    with pytest.raises(IllegalLifeCycleError) as caught:
        content_of(box_of("box")).add(part)
    assert str(caught.value) == (
        "'speaker' has ended and cannot be added [component /box]. Make a new component"
    )


def test_content_changes_only_while_the_composite_is_stopped() -> None:
    part = primitive(Speaker)
    box = composite("box")
    content_of(box).add(part)
    box.start()
    with pytest.raises(IllegalLifeCycleError) as caught:
        content_of(box).add(primitive(Speaker, "other"))
    assert str(caught.value) == (
        "content changes only while the composite is stopped [component /box, state started]. "
        "Stop it, add the sub-component, and start it again"
    )
    with pytest.raises(IllegalLifeCycleError, match="Stop it, remove the sub-component, and start"):
        content_of(box).remove(part)
    assert box.children == (part,)


def test_what_is_no_part_cannot_be_removed() -> None:
    box = box_of("box", primitive(Speaker))
    with pytest.raises(IllegalContentError) as caught:
        content_of(box).remove(primitive(Speaker))
    assert str(caught.value) == (
        "'speaker' is not a sub-component [component /box]. There is: speaker"
    )
    with pytest.raises(IllegalContentError, match="There is: none"):
        content_of(box_of("empty")).remove(primitive(Speaker))


def still_bound(box: Component, part: Component) -> str:
    with pytest.raises(IllegalContentError) as caught:
        content_of(box).remove(part)
    assert part in box.children
    return str(caught.value)


def test_a_part_is_not_removed_while_it_is_bound_to_a_sibling_or_a_sibling_to_it() -> None:
    first, second = primitive(Speaker, "first"), primitive(Speaker, "second")
    box = box_of("box", first, second)
    first.bind("next", second.server("echo"))
    assert still_bound(box, first) == (
        "'first' cannot be removed while it is bound: /box/first.next -> /box/second.echo "
        "[component /box]. Unbind these first"
    )
    assert "/box/first.next -> /box/second.echo" in still_bound(box, second)
    first.unbind("next")
    content_of(box).remove(first)
    content_of(box).remove(second)
    assert box.children == ()


def test_a_part_is_not_removed_while_the_composite_is_bound_to_it_or_it_to_the_composite() -> None:
    served, serving = primitive(Speaker, "served"), primitive(Speaker, "serving")
    box = box_of("box", served, serving)
    box.bind("in", serving.server("echo"))
    served.bind("next", box.inner_server("out"))
    assert "/box.in -> /box/serving.echo" in still_bound(box, serving)
    assert "/box/served.next -> /box.out" in still_bound(box, served)


def test_a_part_is_not_removed_while_it_is_bound_to_something_that_is_nowhere_yet() -> None:
    part, free = primitive(Speaker), primitive(Speaker, "free")
    part.bind("next", free.server("echo"))
    box = box_of("box", part)
    assert "/box/speaker.next -> /free.echo" in still_bound(box, part)


def test_a_binding_to_oneself_is_told_once() -> None:
    part = primitive(Speaker)
    box = box_of("box", part)
    part.bind("next", part.server("echo"))
    assert still_bound(box, part).count("->") == 1


def test_a_shared_part_leaves_one_composite_with_its_bindings_in_the_other() -> None:
    shared, sibling = primitive(Speaker, "shared"), primitive(Speaker, "sibling")
    left, right = box_of("left", shared, sibling), box_of("right", shared)
    shared.bind("next", sibling.server("echo"))
    sibling.bind("next", shared.server("echo"))
    content_of(right).remove(shared)
    assert shared.parents == (left,)
    content_of(right).add(shared)
    told = still_bound(left, shared)
    assert "/left/shared.next -> /left/sibling.echo" in told
    assert "/left/sibling.next -> /left/shared.echo" in told


def test_a_shared_part_is_named_by_its_first_composite_and_found_in_each() -> None:
    shared = primitive(Speaker, "shared")
    left, right = box_of("left", shared), box_of("right", shared)
    assert shared.path == "/left/shared"
    assert left.find("shared") is right.find("shared") is shared


def test_a_primitive_has_no_content_controller() -> None:
    assert "content" not in primitive(Speaker).membrane
