"""The rows of a language check its documents and make its records."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from gcm.adl.definitions.grammar import GRAMMAR
from gcm.documents import (
    FILLED,
    TEXT,
    Attribute,
    CheckedElement,
    ChildRule,
    Diagnostics,
    DocumentCheck,
    ElementType,
    Grammar,
    Location,
    ValueFault,
    ValueKind,
    read_document,
)
from runtime.deployment.language.table import LANGUAGE


@dataclass
class Wheel:
    size: int
    is_spare: bool
    where: str


@dataclass
class Car:
    name: str
    colour: str
    location: Location
    wheels: tuple[Wheel, ...] = ()
    engine: str | None = None
    note: str = ""


def _number(row: Attribute, text: str, _: ElementType) -> ValueFault | None:
    return None if text.isdigit() and int(text) >= row.least else ValueFault("bad", "is no number")


NUMBER = ValueKind("number", lambda text: int(text or 0), _number)
CARS = Grammar.of(
    "car",
    (
        ElementType(
            "car",
            attributes=(
                Attribute("name", FILLED, required=True),
                Attribute("colour", default="grey", to=str.upper),
            ),
            children=(
                ChildRule("wheel", least=1, field="wheels"),
                ChildRule("engine", most=1, field="engine"),
            ),
            record=Car,
            text="note",
        ),
        ElementType(
            "wheel",
            attributes=(
                Attribute("size", NUMBER, least=3, required=True),
                Attribute("spare", field="is_spare", to="yes".__eq__),
                Attribute("where", find=lambda text, entry, yard: f"{yard}/{text}/{entry['size']}"),
            ),
            record=Wheel,
            located=False,
        ),
        ElementType(
            "engine",
            attributes=(Attribute("power", TEXT, field="power"),),
            record=lambda power: power,
            located=False,
        ),
    ),
)


def read(text: str) -> tuple[CheckedElement | None, list[str]]:
    found = Diagnostics()
    root = read_document(text.encode(), name="c", diagnostics=found)
    assert root is not None
    right = DocumentCheck(CARS, found).document(root)
    told = [f"{one.location.line} {one.code}: {one.message}" for one in found]
    return None if right is None else CARS.checked(right), told


def test_rows_make_the_record_of_an_element_and_of_those_inside() -> None:
    entry, told = read(
        '<car name="a">old\n<wheel size="4" where="left"/><wheel size="3" spare="yes"/>'
        '<engine power="9"/></car>'
    )
    assert told == []
    assert entry is not None
    assert entry.record("yard") == Car(
        name="a",
        colour="GREY",
        location=Location("c", 1),
        wheels=(Wheel(4, False, "yard/left/4"), Wheel(3, True, "yard//3")),
        engine="9",
        note="old",
    )


def test_a_relation_replaces_what_a_row_says_and_what_is_given_is_what_is_written() -> None:
    entry, _ = read('<car name="a"><wheel size="4"/></car>')
    assert entry is not None
    assert entry.record("yard", colour="red", wheels=()).wheels == ()
    assert entry.record("yard", colour="red").colour == "red"
    assert entry.given() == {"name": "a"}
    assert (entry["colour"], entry.has("colour"), entry.only("engine")) == ("GREY", False, None)
    with pytest.raises(KeyError, match="<car> has no row 'doors'"):
        entry["doors"]


def test_all_faults_are_told_at_once_and_what_is_right_is_kept() -> None:
    entry, told = read(
        '<car nam="a" doors="4">\n<wheel size="2"/>\n<wheell size="7"/>\n<name/>\n'
        '<engine power="1"/><engine/></car>'
    )
    assert told == [
        "1 unknown-xml-attribute: <car> has no attribute 'nam'",
        "1 unknown-xml-attribute: <car> has no attribute 'doors'",
        "3 unknown-element: <wheell> cannot stand in <car>",
        "4 unknown-element: <name> cannot stand in <car>",
        "5 repeated-element: <car> holds 2 <engine>, one is allowed",
        '2 bad: size="2" of <wheel> is no number',
    ]
    assert entry is not None
    assert entry.incomplete
    assert entry["name"] == "a"
    assert [one["size"] for one in entry.each("wheel")] == [7]


@pytest.mark.parametrize("language", [GRAMMAR, LANGUAGE, CARS])
def test_every_row_fills_a_field_that_its_record_has(language: Grammar) -> None:
    for element in language.elements.values():
        if element.record is dict:
            continue
        known = inspect.signature(element.record).parameters
        fields = [one.field for one in element.attributes if one.field]
        fields += [one.field for one in element.children if one.field]
        fields += ["location"] * element.located + [element.text] * bool(element.text)
        takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values())
        assert takes_any or set(fields) <= set(known), element.name
