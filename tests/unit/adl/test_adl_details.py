"""Small promises of the ADL: words of findings, what follows from a fault, what is left alone."""

from __future__ import annotations

import string
from typing import Annotated, Any, Protocol

import numpy as np
import pytest

from gcm import Cardinality, MembraneDescription, composite, primitive
from gcm.adl import Assembly, describe, scene_of
from gcm.adl.classes import ClassFault
from gcm.adl.definitions.model import InterfaceNode
from gcm.adl.definitions.references import absolute
from gcm.adl.drafts import Traits
from gcm.adl.writing.wording import written
from gcm.components.declarations import provides, requires
from gcm.interfaces.distribution import redistribute
from gcm.membranes.content import ContentController
from gcm.membranes.descriptions import PRIMITIVE
from gcm.membranes.interceptor import InterceptorController
from gcm.membranes.membrane_controller import MembraneController

Check = Any  # the fixture of conftest, which tests cannot import


class Field(Protocol):
    def put(self, field: Annotated[np.ndarray, redistribute]) -> np.ndarray: ...


@provides("field", Field)
class Taker:
    def put(self, field: np.ndarray) -> np.ndarray:
        return field


@provides("field", Field)
class Giver:
    out: Annotated[Field, requires()]

    def put(self, field: np.ndarray) -> np.ndarray:
        return self.out.put(field)


def app(*lines: str, more: str = "") -> str:
    return "\n".join([f'<definition name="app"{more}>', *lines, "</definition>"])


def test_exchanged_ends_and_attributes_without_content_are_told_in_full(check: Check) -> None:
    done = check(
        app(
            '<component name="server"><content class="lib.Server"/></component>',
            '<component name="client"><content class="lib.Client"/></component>',
            '<binding client="server.greeter" server="client.greeter"/>',
            '<attributes><attribute name="count" value="1"/></attributes>',
        )
    )
    assert [(one.code, one.hint, one.detail) for one in done.found] == [
        ("wrong-role", 'write client="client.greeter" server="server.greeter"', ""),
        (
            "attributes-without-content",
            'add <content class="module.Class"/>, the class that declares them',
            "",
        ),
    ]


def test_members_that_exchange_blocks_are_compared_call_by_call() -> None:
    made = Assembly("app")
    left = made.composite("left").needs("out", Field, cardinality=Cardinality.MULTICAST)
    left.primitive("giver", Giver)
    left.bind("giver.out", "this.out")
    right = made.composite("right").serves("field", Field, cardinality=Cardinality.GATHERCAST)
    right.primitive("taker", Taker)
    right.bind("this.field", "taker.field")
    made.bind("left.out", "right.field")
    assert made.assemble().find("right/taker").state == "stopped"


PLAIN = MembraneDescription(
    "plain",
    tuple(one for one in PRIMITIVE.controllers if one is not InterceptorController),
)


def test_a_membrane_without_interceptors_is_described() -> None:
    plain = primitive(Taker, "plain", controllers=PLAIN)
    (interface,) = describe(plain).body.interfaces
    assert (interface.name, interface.interceptors) == ("field", "")


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("Dividing", "division by zero", ""),
        (
            "Misspelt",
            "an annotation of the class Misspelt cannot be resolved: name 'Clok' is not defined",
            "Import the name in the module itself, not under TYPE_CHECKING",
        ),
    ],
)
def test_a_class_whose_declarations_cannot_be_read_brings_on_nothing_else(
    check: Check, content: str, message: str, hint: str
) -> None:
    done = check(
        app(
            '<component name="c">',
            '<interface name="go" role="server" signature="lib.Runnable"/>',
            f'<content class="lib.{content}"/></component>',
            '<interface name="run" role="server" signature="lib.Runnable"/>',
            '<binding client="this.run" server="c.run"/>',
        )
    )
    assert (done.only.code, done.only.hint) == ("illegal-declaration", hint)
    assert done.only.message == f"what the class '{content}' declares cannot be read: {message}"


def test_an_illegal_interface_is_not_also_unknown_to_its_bindings(check: Check) -> None:
    done = check(
        app(
            '<component name="c">',
            '<interface name="1st" role="server" signature="lib.Runnable"/>',
            '<content class="lib.Watch"/></component>',
            '<interface name="run" role="server" signature="lib.Runnable"/>',
            '<binding client="this.run" server="c.1st"/>',
        )
    )
    assert done.codes == ["3 illegal-type"]


def test_coordinates_have_four_numbers_and_a_colour(check: Check) -> None:
    corners = 'x0="0" y0="0.1" x1="0.2" y1="0.3" color="4"'
    done = check(app(f'<coordinates name="app" {corners}/>', '<content class="lib.Watch"/>'))
    assert done.codes == []


def test_a_box_lists_who_watches() -> None:
    host = primitive(Taker, "host")
    for name in ("one", "two"):
        host.controller(MembraneController).add(primitive(Taker, name))
    box = composite("box")
    box.controller(ContentController).add(host)
    (shown,) = scene_of(box).root.children
    assert shown.note == "Taker"
    assert shown.membrane
    assert [one.name for one in shown.membrane.children] == ["one", "two"]


def test_empty_steps_of_a_path_lead_nowhere() -> None:
    assert absolute(".//a//./b", "/app/c") == "/app/c/a/b"


def test_a_cycle_of_definitions_tells_its_whole_chain_and_a_way_out(check: Check) -> None:
    done = check(
        app('<component name="b" definition="B,Empty"/>'),
        B='<definition name="B"><component name="c" definition="C,Empty"/></definition>',
        C='<definition name="C"><component name="b" definition="B,Empty"/></definition>',
        Empty='<definition name="Empty"/>',
    )
    assert done.only.code == "definition-cycle"
    assert done.only.message == "B contains C contains B"
    assert done.only.hint == "take one of these references out"


def test_the_depth_limit_of_extends_is_inclusive(check: Check) -> None:
    def chain(length: int) -> dict[str, str]:
        links = {
            f"D{n}": f'<definition name="D{n}" extends="D{n + 1}"/>' for n in range(length - 1)
        }
        last = f'<definition name="D{length - 1}"><content class="lib.Watch"/></definition>'
        return {**links, f"D{length - 1}": last}

    extending = app(more=' extends="D0"')
    assert check(extending, **chain(63)).codes == []
    assert check(extending, **chain(64)).only.code == "too-deep"


def test_only_what_separates_or_encloses_is_quoted_in_lists() -> None:
    separating = set(",'\"()[]{}")
    plain = [one for one in string.punctuation if one not in separating]
    assert written(plain, list[str]) == ", ".join(plain)


def test_what_is_left_out_is_empty() -> None:
    assert InterfaceNode("port") == InterfaceNode("port", "", "", "", "", "", "", "", "")
    fault = ClassFault("missing-class", "there is none")
    assert (fault.hint, fault.detail) == ("", "")
    assert (Traits().broken, Traits().incomplete) == (frozenset(), False)
