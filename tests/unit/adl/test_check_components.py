"""Each rule about single components has a document that breaks it and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from gcm.adl.plan import MembraneKind
from gcm.adl.structure import MissingClasses
from gcm.interfaces.types import Cardinality, Contingency, Role

Check = Any  # the fixture of conftest, which tests cannot import


def primitive(*lines: str, content: str = "lib.Server") -> str:
    return "\n".join(
        ['<definition name="app">', *lines, f'<content class="{content}"/>', "</definition>"]
    )


def test_interfaces_come_from_the_content_class(check: Check) -> None:
    (declared,) = check(primitive()).root.component_type.interfaces
    assert (declared.name, declared.role, declared.signature.__name__) == (
        "greeter",
        Role.SERVER,
        "Greeter",
    )


def test_the_document_completes_what_the_class_declares(check: Check) -> None:
    done = check(
        primitive(
            '<interface name="greeter" contingency="optional"/>',
            '<interface name="clock" role="client" signature="lib.Clock"'
            ' cardinality="collection"/>',
        )
    )
    greeter, clock = done.root.component_type.interfaces
    assert greeter.contingency is Contingency.OPTIONAL
    assert (clock.role, clock.cardinality) == (Role.CLIENT, Cardinality.COLLECTION)


@pytest.mark.parametrize(
    ("attributes", "code", "hint"),
    [
        ('role="clent" signature="lib.Clock"', "unknown-role", "did you mean 'client'?"),
        ('signature="lib.Clock"', "missing-role", "write one of: client, server,"),
        ('role="client"', "missing-signature", 'write signature="module.Protocol"'),
        ('role="client" signature="lib.Nope"', "missing-class", "add it"),
        ('role="client" signature="lib.five"', "not-a-class", "name a typing.Protocol"),
        (
            'role="client" signature="lib.Clock" cardinality="many"',
            "unknown-cardinality",
            "write one of: singleton,",
        ),
        (
            'role="client" signature="lib.Clock" contingency="optinal"',
            "unknown-contingency",
            "did you mean 'optional'?",
        ),
        (
            'role="server" signature="lib.AllGreeters" cardinality="multicast"',
            "composite-only",
            "make it multicast at the client",
        ),
        (
            'role="client" signature="lib.Greeter" cardinality="gathercast"',
            "composite-only",
            "make it gathercast at the server",
        ),
        (
            'role="client" signature="lib.Greeter" contingency="optional" timeout="3s"',
            "no-rounds",
            'only a server interface with cardinality="gathercast" has rounds',
        ),
        ('role="internal-client" signature="lib.Clock"', "composite-only", "only a composite"),
        ('role="internal-server" signature="lib.Clock"', "composite-only", "only a composite"),
    ],
)
def test_a_faulty_interface_gives_one_diagnostic(
    check: Check, attributes: str, code: str, hint: str
) -> None:
    done = check(primitive(f'<interface name="extra" {attributes}/>'))
    assert (done.only.code, done.only.location.line) == (code, 2)
    assert done.only.hint.startswith(hint)
    assert done.only.path == "/app"
    assert done.plan is None


def test_all_that_is_wrong_with_the_rounds_of_a_gathercast_is_told(check: Check) -> None:
    done = check(
        '<definition name="app">'
        '<interface name="in" role="server" signature="lib.Greeter" cardinality="gathercast" '
        'contingency="optional" timeout="soon" when-left="refuze" wait-for-all="perhaps"/>'
        "</definition>"
    )
    assert [one.message for one in done.found if one.code == "bad-rounds"] == [
        "interface 'in': timeout 'soon' is not a duration",
        "interface 'in': when-left 'refuze' is no such word",
        "interface 'in': wait-for-all 'perhaps' is neither true nor false",
    ]
    assert [one.hint for one in done.found if one.code == "bad-rounds"] == [
        "write it as 60s, 5min or 2h",
        "did you mean 'refuse'?",
        "write false to make a call of each",
    ]


@pytest.mark.parametrize("name", ["1a", "a b", "a/b", "-a"])
def test_an_interface_needs_a_proper_name(check: Check, name: str) -> None:
    done = check(primitive(f'<interface name="{name}" role="client" signature="lib.Clock"/>'))
    assert done.codes == ["2 illegal-type"]


def test_a_name_may_not_begin_with_a_collections_name(check: Check) -> None:
    done = check(
        primitive(
            '<interface name="a" role="client" signature="lib.Clock" cardinality="collection"/>',
            '<interface name="ab" role="client" signature="lib.Clock"/>',
        )
    )
    assert [one.code for one in done.found] == ["illegal-type"]
    assert "collection 'a'" in done.only.message


def test_the_class_must_serve_its_interfaces_and_every_mismatch_is_told(check: Check) -> None:
    done = check(
        primitive(
            '<interface name="loud" role="server" signature="lib.LoudGreeter"/>',
            content="lib.Wrong",
        )
    )
    assert (done.only.code, done.only.location.line) == ("content-mismatch", 3)
    assert "Wrong.greet takes int for 'name'" in done.only.message
    assert "Wrong has no operation 'shout'" in done.only.message


def test_the_traceback_of_a_class_goes_into_the_detail(check: Check) -> None:
    done = check(primitive(content="lib.Nope"))
    assert (done.only.code, done.only.detail) == ("missing-class", "its traceback")


def test_the_content_must_be_a_class(check: Check) -> None:
    assert check(primitive(content="lib.five")).codes == ["2 not-a-class"]


def test_attributes_are_converted(check: Check) -> None:
    done = check(
        primitive(
            "<attributes>",
            '<attribute name="count" value="7"/>',
            '<attribute name="prefix" value=""/>',
            '<attribute name="sizes" value="1, 2"/>',
            "</attributes>",
        )
    )
    assert done.root.attributes == (("count", 7), ("prefix", ""), ("sizes", [1, 2]))


def test_faulty_attributes_are_all_told(check: Check) -> None:
    done = check(
        primitive(
            "<attributes>",
            '<attribute name="cuont" value="7"/>',
            '<attribute name="count" value="x"/>',
            "</attributes>",
        )
    )
    assert [(one.code, one.message, one.hint) for one in done.found] == [
        ("unknown-attribute", "there is no attribute 'cuont'", "did you mean 'count'?"),
        ("bad-value", "attribute 'count': 'x' is not an int", "write an int"),
    ]


def test_a_signature_types_the_attributes(check: Check) -> None:
    text = '<attributes signature="lib.{}"><attribute name="count" value="2"/></attributes>'
    (attribute,) = check(primitive(text.format("Settings"))).root.attributes
    assert (attribute, type(attribute[1])) == (("count", 2.0), float)
    assert check(primitive(text.format("Nope"))).codes == ["2 missing-class"]
    assert check(primitive(text.format("five"))).codes == ["2 not-a-class"]


EXPLICIT = '<interface name="attribute-controller" role="server" signature="lib.{}"/>'


@pytest.mark.parametrize("signature", ["", ' signature="lib.Settings"'])
def test_an_interface_attribute_controller_names_the_signature_of_the_attributes(
    check: Check, signature: str
) -> None:
    text = f'<attributes{signature}><attribute name="count" value="2"/></attributes>'
    done = check(primitive(EXPLICIT.format("Settings"), text))
    (attribute,) = done.root.attributes
    assert (attribute, type(attribute[1])) == (("count", 2.0), float)
    assert [one.name for one in done.root.component_type.interfaces] == ["greeter"]


def test_the_type_may_name_the_signature_of_attributes_that_are_set_elsewhere(check: Check) -> None:
    kind = f'<definition name="Kind">{EXPLICIT.format("Settings")}</definition>'
    done = check(
        """
        <definition name="app" extends="Kind"><content class="lib.Server"/>
          <attributes><attribute name="count" value="2"/></attributes>
        </definition>
        """,
        Kind=kind,
    )
    assert (done.codes, [type(value) for _, value in done.root.attributes]) == ([], [float])


def test_two_signatures_of_the_attributes_of_one_component_are_a_fault(check: Check) -> None:
    text = '<attributes signature="lib.Settings"><attribute name="count" value="2"/></attributes>'
    done = check(primitive(EXPLICIT.format("Clock"), text))
    assert done.codes == ["2 attribute-signature"]
    assert done.only.message == (
        "interface 'attribute-controller' has the signature 'lib.Clock', and <attributes>"
        " in line 3 has 'lib.Settings'"
    )


def test_the_content_has_to_declare_the_attributes_of_a_signature(check: Check) -> None:
    text = '<attributes signature="lib.Settings"><attribute name="speed" value="2"/></attributes>'
    (found,) = check(primitive(text)).found
    assert (found.code, found.message, found.hint) == (
        "unknown-attribute",
        "the content 'Server' does not declare the attribute 'speed' of the signature",
        "declare it in the content class: name: Annotated[int, attribute()]",
    )


@pytest.mark.parametrize("signature", ["", ' signature="lib.Settings"'])
def test_a_composite_has_no_attributes_of_its_own(check: Check, signature: str) -> None:
    done = check(
        f"""
        <definition name="app">
          <component name="s"><content class="lib.Server"/></component>
          <attributes{signature}><attribute name="speed" value="1"/></attributes>
        </definition>"""
    )
    assert done.codes == ["3 attributes-without-content"]


@pytest.mark.parametrize("kind", ["primitive", "active", "parametric"])
def test_a_membrane_is_named(check: Check, kind: str) -> None:
    assert check(primitive(f'<controller desc="{kind}"/>')).root.membrane.kind == kind


def test_a_membrane_is_implied_by_the_content(check: Check) -> None:
    assert check(primitive()).root.membrane.kind == "primitive"


def test_a_membrane_may_be_a_python_name(check: Check) -> None:
    done = check(primitive('<controller desc="lib.COUNTED"/>'))
    assert done.root.membrane.kind == "primitive"
    assert done.root.membrane.description.name == "counted"


def test_a_membrane_that_is_no_description_is_told(check: Check) -> None:
    done = check(primitive('<controller desc="lib.Watch"/>'))
    assert done.codes == ["2 not-a-membrane"]
    assert done.only.message == "'lib.Watch' does not describe a membrane"


def test_a_controller_in_the_place_of_a_membrane_is_told_how_to_make_one(check: Check) -> None:
    done = check(primitive('<controller desc="lib.Count"/>'))
    assert done.codes == ["2 not-a-membrane"]
    assert done.only.hint == (
        "it is a controller: write COUNT = PRIMITIVE.including(Count) below it, "
        "and name 'lib.COUNT'"
    )


def test_an_unknown_membrane_is_told_with_the_nearest(check: Check) -> None:
    done = check(primitive('<controller desc="primitve"/>'))
    assert (done.only.code, done.only.hint) == ("unknown-controller", "did you mean 'primitive'?")


INSIDE = '<component name="s"><content class="lib.Server"/></component>'


@pytest.mark.parametrize("desc", ["", "composite", "parametricComposite"])
def test_the_content_of_a_composite_has_its_attributes(check: Check, desc: str) -> None:
    controller = f'<controller desc="{desc}"/>' if desc else ""
    attributes = '<attributes><attribute name="count" value="3"/></attributes>'
    done = check(primitive(INSIDE, attributes, controller))
    assert done.root.membrane.kind is MembraneKind.PARAMETRIC_COMPOSITE
    assert done.root.attributes == (("count", 3),)
    assert done.root.component_type.interfaces == ()


def test_content_in_a_composite_needs_an_attribute_controller(check: Check) -> None:
    done = check(primitive(INSIDE, '<controller desc="lib.COUNTED"/>'))
    assert done.codes == ["4 content-in-composite"]


@pytest.mark.parametrize("desc", ["primitive", "flatPrimitive", "parametricPrimitive"])
def test_a_primitive_cannot_have_components(check: Check, desc: str) -> None:
    done = check(primitive(INSIDE, f'<controller desc="{desc}"/>'))
    assert done.codes == ["1 components-in-primitive"]


def test_a_component_that_is_made_needs_content(check: Check) -> None:
    assert check('<definition name="app"><logger name="x"/></definition>').codes == [
        "1 missing-content"
    ]


def test_an_abstract_definition_is_a_fault_wherever_it_is_made(check: Check) -> None:
    done = check(
        """
        <definition name="app">
          <component name="one" definition="Kind"/>
          <component name="two" definition="Kind"><content class="lib.Server"/></component>
          <component name="three" definition="Kind"/>
        </definition>
        """,
        Kind='<definition name="Kind">'
        '<interface name="greeter" role="server" signature="lib.Greeter"/></definition>',
    )
    assert [(one.code, one.location.line, one.path) for one in done.found] == [
        ("missing-content", 2, "/app/one"),
        ("missing-content", 4, "/app/three"),
    ]


def test_a_declared_composite_may_be_empty(check: Check) -> None:
    done = check('<definition name="app"><controller desc="composite"/></definition>')
    assert done.codes == []


@pytest.mark.parametrize("name", ["this", "a.b", "a/b", "a:b"])
def test_a_component_needs_a_proper_name(check: Check, name: str) -> None:
    done = check(
        f'<definition name="app"><component name="{name}">'
        '<content class="lib.Server"/></component></definition>'
    )
    assert done.codes == ["1 bad-component-name"]


def test_a_membrane_holds_an_assembly(check: Check) -> None:
    done = check(
        primitive(
            '<interface name="greeter" interceptors="watch, lib.Sentry"/>',
            "<controller>",
            '<interface name="nf" role="server" signature="lib.Greeter"/>',
            '<component name="watch"><content class="lib.Sentry"/></component>',
            '<component name="user"><content class="lib.Client"/></component>',
            '<binding client="user.greeter" server="watch.greeter"/>',
            '<binding client="this.nf" server="watch.greeter"/>',
            "</controller>",
        )
    )
    membrane = done.root.membrane
    assert [one.name for one in membrane.component_type.interfaces] == ["nf"]
    assert [one.path for one in membrane.components] == [
        "/app/controller/watch",
        "/app/controller/user",
    ]
    assert [one.client for one in membrane.bindings] == [("user", "greeter"), ("this", "nf")]
    first, second = done.root.interceptors
    assert (first.interface, first.end, first.factory) == ("greeter", "watch.hook", None)
    assert (second.component, second.factory.__name__) == ("", "Sentry")
    assert done.plan.count == 3


def test_the_membrane_is_checked_like_a_composite(check: Check) -> None:
    done = check(
        primitive(
            "<controller>",
            '<component name="user"><content class="lib.Client"/></component>',
            "</controller>",
        )
    )
    assert (done.only.code, done.only.path) == ("unbound-interface", "/app/controller/user")


def test_an_unknown_interceptor_is_told(check: Check) -> None:
    done = check(
        primitive(
            '<interface name="greeter" interceptors="wach"/>',
            '<controller><component name="watch"><content class="lib.Server"/></component>',
            "</controller>",
        )
    )
    assert (done.only.code, done.only.hint) == ("unknown-interceptor", "did you mean 'watch'?")


def test_a_virtual_node_is_single_unless_said_otherwise(check: Check) -> None:
    node = check(primitive('<virtual-node name="n"/>')).root.notes.virtual_node
    assert (node.name, node.cardinality) == ("n", "single")
    node = check(
        primitive('<virtual-node name="n" cardinality="multiple"/>')
    ).root.notes.virtual_node
    assert node.cardinality == "multiple"
    done = check(primitive('<virtual-node name="n" cardinality="multipel"/>'))
    assert (done.only.code, done.only.hint) == ("unknown-cardinality", "did you mean 'multiple'?")


EXPORTING = """
<definition name="app">
  <exportedVirtualNodes><exportedVirtualNode name="all"><composedFrom>
    <composingVirtualNode component="{}" name="{}"/>
  </composedFrom></exportedVirtualNode></exportedVirtualNodes>
  <component name="s"><content class="lib.Server"/><virtual-node name="n"/></component>
  <virtual-node name="own"/>
</definition>"""


@pytest.mark.parametrize(("component", "name"), [("s", "n"), ("this", "own")])
def test_virtual_nodes_are_exported(check: Check, component: str, name: str) -> None:
    (exported,) = check(EXPORTING.format(component, name)).root.notes.exported_nodes
    assert (exported.name, exported.composed_from) == ("all", ((component, name),))


def test_several_compositions_make_one_exported_virtual_node(check: Check) -> None:
    second = '</composedFrom><composedFrom><composingVirtualNode component="this" name="own"/>'
    both = EXPORTING.format("s", "n").replace("</composedFrom>", second + "</composedFrom>", 1)
    (exported,) = check(both).root.notes.exported_nodes
    assert exported.composed_from == (("s", "n"), ("this", "own"))


@pytest.mark.parametrize(
    ("component", "name", "code"),
    [
        ("t", "n", "unknown-component"),
        ("s", "m", "unknown-virtual-node"),
        ("this", "all", "unknown-virtual-node"),
    ],
)
def test_exported_nodes_are_made_of_what_exists(
    check: Check, component: str, name: str, code: str
) -> None:
    assert check(EXPORTING.format(component, name)).codes == [f"3 {code}"]


def test_the_logger_is_planned(check: Check) -> None:
    assert check(primitive('<logger name="x.y"/>')).root.notes.logger == "x.y"


def membrane(name: str, role: str = "server") -> str:
    return (
        f'<controller><interface name="{name}" role="{role}" signature="lib.Greeter"/>'
        '<component name="in"><content class="lib.Server"/></component>'
        f'<binding client="this.{name}" server="in.greeter"/></controller>'
    )


@pytest.mark.parametrize(
    ("inside", "known"),
    [
        (membrane("greeter"), "a functional interface named 'greeter'"),
        (membrane("lifecycle-controller"), "a control interface named 'lifecycle-controller'"),
        (
            '<interface name="lifecycle-controller" role="server" signature="lib.Greeter"/>',
            "a control interface named 'lifecycle-controller'",
        ),
        (
            '<interface name="log" role="client" cardinality="collection" contingency="optional"'
            ' signature="lib.Greeter"/>' + membrane("logger"),
            "a functional collection 'log', which 'logger' is in",
        ),
    ],
)
def test_no_interface_has_the_name_of_another_one_of_the_component(
    check: Check, inside: str, known: str
) -> None:
    (found,) = check(primitive("", inside)).found
    assert (found.code, found.message, found.location.line) == (
        "duplicate-name",
        f"component 'app' has {known} already",
        3,
    )


def test_a_membrane_may_name_its_own_interfaces_like_control_interfaces(check: Check) -> None:
    assert check(primitive(membrane("report-controller"))).codes == []
    assert check(primitive(membrane("content-controller"))).codes == []  # a primitive has none


@pytest.mark.parametrize(
    ("inside", "hint"),
    [
        ('<content class="lib.Server"/>', "write primitiveTemplate or parametricPrimitiveTemplate"),
        (
            '<component name="s"><content class="lib.Server"/></component>',
            "write compositeTemplate or parametricCompositeTemplate",
        ),
    ],
)
def test_a_template_that_is_none_is_told_with_the_documented_words(
    check: Check, inside: str, hint: str
) -> None:
    text = f'<definition name="app">{inside}<template-controller desc="x"/></definition>'
    (found, *_) = (one for one in check(text).found if one.code == "unknown-controller")
    assert found.hint == hint


def test_a_class_that_is_not_there_is_known_without_the_space_around_its_name() -> None:
    missing = MissingClasses()
    assert missing.stand_in(" j.Spaces ") is missing.stand_in("j.Spaces")
    assert list(missing.stand_ins) == ["j.Spaces"]
