"""A language of documents as a table: its elements, their attributes, and the records they make.

A row says everything about an attribute: what its text has to look like, what it means, what counts
without it, and which field of the record it fills. Checks, schemas, references and readers follow
from the rows, so that an attribute is added in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from enum import EnumType
from typing import Any

from gcm.documents.location import Location
from gcm.documents.reader import XmlNode
from gcm.records import dataclass


@dataclass(frozen=True, slots=True)
class ValueFault:
    """The error in a value: the text to add to the name of its attribute, and the cure."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What the text of an attribute has to look like, and the value that it stands for.

    `word` names the kind in a reference. `fault` returns what is wrong with a text that is not
    blank, or None. `value` gets only texts without fault, and an empty one where nothing is
    written and the row has no default. `needs_text`: a blank text is an error; elsewhere it means
    the same as no attribute. `pattern` is what all its texts match, as a regular expression that
    Python and XML Schema both understand.
    """

    word: str
    value: Callable[[str], Any] = str
    fault: Callable[[Attribute, str, ElementType], ValueFault | None] = lambda *_: None
    needs_text: bool = False
    pattern: str = ""


TEXT = ValueKind("text")
"""Any text."""

FILLED = ValueKind("text", needs_text=True)
"""Any text that is not blank."""


SAME = "="
"""The field of a record that is called like its attribute, with `_` for `-`."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an element: a row of the table.

    `to` turns the value of its kind into that of the `field` of the record, which by default is
    called like the attribute; "" means that the row alone fills none. An enumeration as `to` has
    the `choices`. `find` does so with the help of the context that `CheckedElement.record` gets: it
    is called with the value, the element and the context. `blank` says whether the text may be
    blank, if not as its kind has it.
    """

    name: str
    kind: ValueKind = TEXT
    meaning: str = ""
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    field: str = SAME
    to: Callable[[Any], Any] | None = None
    find: Callable[[Any, CheckedElement, Any], Any] | None = None
    blank: bool | None = None

    def __post_init__(self) -> None:
        """Name the field and the choices that follow from other columns."""
        if self.field == SAME:
            object.__setattr__(self, "field", self.name.replace("-", "_"))
        if not self.choices and isinstance(self.to, EnumType):
            object.__setattr__(self, "choices", tuple(map(str, self.to)))

    @property
    def needs_text(self) -> bool:
        """Whether it may not be blank; elsewhere blank means the same as left out."""
        return (self.required or self.kind.needs_text) if self.blank is None else not self.blank

    def value(self, text: str) -> Any:
        """Return the value of a text without fault."""
        found = self.kind.value(text)
        return found if self.to is None else self.to(found)


@dataclass(frozen=True, slots=True)
class ChildRule:
    """How often an element may stand inside another; `most` None means without limit.

    With a `field` its records become that field: a tuple of them, or the only one.
    """

    name: str
    least: int = 0
    most: int | None = None
    field: str = ""


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element: its meaning, attributes and children. The order of children is free.

    `record` is called with the fields that the rows fill, and with `location` unless the record
    is not `located`. `text` is the field for the text between its tags; without one there may be
    none.
    """

    name: str
    meaning: str = ""
    attributes: tuple[Attribute, ...] = ()
    children: tuple[ChildRule, ...] = ()
    record: Callable[..., Any] = dict
    located: bool = True
    text: str = ""

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute of that name, or None."""
        return next((found for found in self.attributes if found.name == name), None)

    def child(self, name: str) -> ChildRule | None:
        """Return the child of that name, or None."""
        return next((found for found in self.children if found.name == name), None)


@dataclass(frozen=True, slots=True)
class Grammar:
    """A whole language: its root and its elements by name."""

    root: str
    elements: Mapping[str, ElementType]

    @classmethod
    def of(cls, root: str, elements: Iterable[ElementType]) -> Grammar:
        """Return the language of some elements."""
        return cls(root, {one.name: one for one in elements})

    def checked(self, node: XmlNode) -> CheckedElement:
        """Return the view of an element that a `DocumentCheck` has returned."""
        return CheckedElement(self.elements[node.tag], node, self)

    def record(self, node: XmlNode, context: Any, fields: dict[str, Any]) -> Any:
        """Return the record of an element, some of whose fields are known; they are added to."""
        element, texts = self.elements[node.tag], node.attributes
        for row in element.attributes:
            if (name := row.field) and name not in fields:
                value = row.value(texts.get(row.name, row.default))
                if row.find is not None:
                    value = row.find(value, self.checked(node), context)
                fields[name] = value
        if node.children:
            by_tag: dict[str, list[XmlNode]] = {}
            for child in node.children:
                by_tag.setdefault(child.tag, []).append(child)
            for rule in element.children:
                if (name := rule.field) and name not in fields and rule.name in by_tag:
                    made = [self.record(one, context, {}) for one in by_tag[rule.name]]
                    fields[name] = made[0] if rule.most == 1 else tuple(made)
        if element.text:
            fields[element.text] = node.text
        if element.located:
            fields["location"] = node.location
        return element.record(**fields)


@dataclass(frozen=True, slots=True)
class CheckedElement:
    """One element of a checked document: its attributes hold only values that fit their kinds."""

    type: ElementType
    node: XmlNode
    grammar: Grammar
    _by_tag: dict[str, list[CheckedElement]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def location(self) -> Location:
        """Where it is written."""
        return self.node.location

    @property
    def incomplete(self) -> bool:
        """Whether faulty parts were left out, so that what is missing may have been intended."""
        return self.node.incomplete

    def has(self, name: str) -> bool:
        """Return whether an attribute was written with a valid value."""
        return name in self.node.attributes

    def __getitem__(self, name: str) -> Any:
        """Return the value of an attribute, or its default; raises KeyError for an unknown one."""
        row = self.type.attribute(name)
        if row is None:
            raise KeyError(f"<{self.type.name}> has no row '{name}'")
        return row.value(self.node.attributes.get(name, row.default))

    def each(self, tag: str) -> Sequence[CheckedElement]:
        """Return the children of one element type, in order.

        All are sorted once: a grid is asked for its defaults by each of its clusters.
        """
        if not self._by_tag:
            for one in self.node.children:
                self._by_tag.setdefault(one.tag, []).append(self.grammar.checked(one))
        return self._by_tag.get(tag, ())

    def only(self, tag: str) -> CheckedElement | None:
        """Return the first child of one element type, or None."""
        return next(iter(self.each(tag)), None)

    def given(self) -> dict[str, Any]:
        """Return the fields that are written, without those of defaults and of children."""
        rows = {one.name: one for one in self.type.attributes if one.field}
        texts = self.node.attributes
        return {rows[one].field: rows[one].value(text) for one, text in texts.items()}

    def record(self, context: Any = None, **relations: Any) -> Any:
        """Return the record of the element and of those inside it.

        `relations` are fields that follow from more than one row; they replace what a row says.
        """
        return self.grammar.record(self.node, context, relations)
