"""The vocabulary of the grammar table: kinds of values, attributes, elements."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from gcm.records import dataclass

NAME_PATTERN = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
"""What a name looks like, as a regular expression that Python and XML Schema both understand."""

NUMBER_PATTERN = "[0-9]{1,9}"
"""What a number looks like."""

DURATION_PATTERN = r"([1-9][0-9]{0,5}(\.[0-9]{1,3})?|0\.0{0,2}[1-9][0-9]{0,2})(s|min|h)?"
"""What a duration looks like; without a unit it is in seconds."""


class ValueKind(StrEnum):
    """What the text of an attribute has to look like once its variables are replaced."""

    TEXT = "text"
    NAME = "name"
    NUMBER = "number"
    CHOICE = "choice"
    DURATION = "duration"
    WORDS = "words"
    """A command line: words separated by blanks, quoted as in a shell."""
    LIST = "list"
    """Names with ranges, such as `lyon/rhone[1-4]`."""
    HOSTS = "hosts"
    """Hosts with ranges, such as `node[01-16,20] master`."""
    HOST = "host"
    """The name or address of one host."""
    USER = "user"
    """A login."""
    COMMAND = "command"
    """A program to start: its name or its path."""
    RAW = "raw"
    """Text whose variables are replaced where it is used, not where it is written."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of an element, with its meaning and its default."""

    name: str
    kind: ValueKind
    meaning: str
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None

    @property
    def needs_text(self) -> bool:
        """Return whether it may not be blank; elsewhere blank means the same as left out."""
        if self.kind is ValueKind.COMMAND and self.default:
            return True
        return self.required or self.kind in (ValueKind.LIST, ValueKind.HOSTS)


@dataclass(frozen=True, slots=True)
class ChildRule:
    """How often an element may stand inside another; `most` None means without limit."""

    name: str
    least: int = 0
    most: int | None = None


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element: its meaning, attributes and children. The order of children is free."""

    name: str
    meaning: str
    attributes: tuple[Attribute, ...] = ()
    children: tuple[ChildRule, ...] = ()

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
