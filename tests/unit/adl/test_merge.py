"""Later definitions win over earlier ones, matched by name, attribute and client end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gcm.adl.definitions.merge import merge, merge_all
from gcm.adl.definitions.model import (
    EMPTY_BODY,
    AttributeNode,
    AttributesNode,
    BindingNode,
    Body,
    CommentNode,
    ComponentNode,
    ContentNode,
    ControllerNode,
    CoordinatesNode,
    ExportedVirtualNode,
    InterfaceNode,
    LoggerNode,
    VirtualNodeNode,
)
from gcm.documents import Location

EARLY, LATE = Location("early", 1), Location("late", 2)
FEW = st.sampled_from("abc")
BODIES = st.builds(
    Body,
    components=st.lists(
        st.builds(ComponentNode, FEW, FEW | st.just("")), unique_by=lambda one: one.name
    ).map(tuple),
    interfaces=st.lists(
        st.builds(InterfaceNode, FEW, FEW | st.just("")), unique_by=lambda one: one.name
    ).map(tuple),
    bindings=st.lists(st.builds(BindingNode, FEW, FEW)).map(tuple),
    content=st.none() | st.builds(ContentNode, FEW),
)


def test_interfaces_are_merged_attribute_by_attribute() -> None:
    earlier = InterfaceNode("a", "client", "x.A", "optional", "multicast", "i", location=EARLY)
    later = InterfaceNode("a", "server", "", "mandatory", location=LATE)
    merged = merge(Body(interfaces=(earlier,)), Body(interfaces=(later,)))
    assert merged.interfaces == (
        InterfaceNode("a", "server", "x.A", "mandatory", "multicast", "i", location=LATE),
    )


def test_what_is_new_comes_behind_what_was_there() -> None:
    a, b, c = (InterfaceNode(name) for name in "abc")
    assert merge(Body(interfaces=(a, b)), Body(interfaces=(c, a))).interfaces == (a, b, c)


def test_components_are_merged_by_name() -> None:
    earlier = ComponentNode("c", "A", Body(content=ContentNode("x.A")), EARLY)
    later = ComponentNode("c", "", Body(logger=LoggerNode("log")), LATE)
    (merged,) = merge(Body(components=(earlier,)), Body(components=(later,))).components
    body = Body(content=ContentNode("x.A"), logger=LoggerNode("log"))
    assert merged == ComponentNode("c", "A", body, EARLY)


def test_a_later_reference_brings_its_place_along() -> None:
    earlier = ComponentNode("c", "A", EMPTY_BODY, EARLY)
    later = ComponentNode("c", "B", EMPTY_BODY, LATE)
    (merged,) = merge(Body(components=(earlier,)), Body(components=(later,))).components
    assert merged == later


def test_later_bindings_replace_all_of_the_same_client_end() -> None:
    one, two, other = BindingNode("a.x", "1"), BindingNode("a.x", "2"), BindingNode("b.x", "1")
    three, four = BindingNode("a.x", "3"), BindingNode("a.x", "4")
    merged = merge(Body(bindings=(one, two, other)), Body(bindings=(three, four)))
    assert merged.bindings == (other, three, four)


def test_attributes_are_merged_by_name() -> None:
    earlier = AttributesNode("S", (AttributeNode("a", "1"), AttributeNode("b", "2")), EARLY)
    later = AttributesNode("", (AttributeNode("b", "3"), AttributeNode("c", "4")), LATE)
    merged = merge(Body(attributes=earlier), Body(attributes=later)).attributes
    assert merged == AttributesNode(
        "S", (AttributeNode("a", "1"), AttributeNode("b", "3"), AttributeNode("c", "4")), LATE
    )
    override = AttributesNode("T")
    changed = merge(Body(attributes=earlier), Body(attributes=override)).attributes
    assert changed is not None
    assert changed.signature == "T"


def test_attributes_and_membranes_of_one_side_alone_are_kept() -> None:
    attributes = AttributesNode("S", (AttributeNode("a", "1"),), EARLY)
    controller = ControllerNode("active", (), (), (), EARLY)
    full = Body(attributes=attributes, controller=controller)
    assert merge(full, EMPTY_BODY) == full
    assert merge(EMPTY_BODY, full) == full
    assert merge(Body(attributes=attributes), Body(controller=controller)) == full


def test_membranes_are_merged_like_composites() -> None:
    earlier = ControllerNode(
        "active", (InterfaceNode("a"),), (ComponentNode("c"),), (BindingNode("x", "1"),), EARLY
    )
    later = ControllerNode(
        "", (InterfaceNode("b"),), (ComponentNode("d"),), (BindingNode("x", "2"),), LATE
    )
    assert merge(Body(controller=earlier), Body(controller=later)).controller == ControllerNode(
        "active",
        (InterfaceNode("a"), InterfaceNode("b")),
        (ComponentNode("c"), ComponentNode("d")),
        (BindingNode("x", "2"),),
        LATE,
    )
    named = merge(Body(controller=earlier), Body(controller=ControllerNode("composite")))
    assert named.controller is not None
    assert named.controller.desc == "composite"


def test_the_rest_is_replaced_or_kept() -> None:
    full = Body(
        comments=(CommentNode("one"),),
        exported_virtual_nodes=(ExportedVirtualNode("e", (), EARLY),),
        content=ContentNode("x.A"),
        logger=LoggerNode("a"),
        virtual_node=VirtualNodeNode("v"),
        coordinates=(CoordinatesNode((("name", "a"),)),),
    )
    assert merge(full, Body(interfaces=(InterfaceNode("i"),))) == Body(
        comments=full.comments,
        interfaces=(InterfaceNode("i"),),
        exported_virtual_nodes=full.exported_virtual_nodes,
        content=full.content,
        logger=full.logger,
        virtual_node=full.virtual_node,
        coordinates=full.coordinates,
    )
    later = Body(
        comments=(CommentNode("two"),),
        exported_virtual_nodes=(ExportedVirtualNode("e", (), LATE),),
        content=ContentNode("x.B"),
        logger=LoggerNode("b"),
        virtual_node=VirtualNodeNode("w"),
        coordinates=(CoordinatesNode((("name", "b"),)),),
    )
    assert merge(full, later) == Body(
        comments=(CommentNode("one"), CommentNode("two")),
        exported_virtual_nodes=later.exported_virtual_nodes,
        content=later.content,
        logger=later.logger,
        virtual_node=later.virtual_node,
        coordinates=later.coordinates,
    )


def test_a_body_alone_is_kept_as_it_is() -> None:
    body = Body(content=ContentNode("x.A"))
    assert merge_all([body]) is body
    assert merge(body, EMPTY_BODY) is body
    assert merge_all([]) is EMPTY_BODY


@given(BODIES)
def test_merging_with_itself_changes_nothing(body: Body) -> None:
    assert merge(body, body) == body


@given(BODIES, BODIES, BODIES)
def test_merging_is_associative(one: Body, two: Body, three: Body) -> None:
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@given(BODIES, BODIES)
def test_no_name_is_lost_and_none_is_doubled(one: Body, two: Body) -> None:
    merged = [component.name for component in merge(one, two).components]
    given_names = [component.name for component in (*one.components, *two.components)]
    assert merged == list(dict.fromkeys(given_names))
