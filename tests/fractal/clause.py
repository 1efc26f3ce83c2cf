"""A clause of the Fractal specification: what it says, and a check of what this framework does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

CONFORMS, DIFFERS = "conforms", "differs"

Check = Callable[[], None]


@dataclass(frozen=True)
class Clause:
    """One rule of the specification, version 2.0-3.

    The check raises where the rule does not hold. Where the framework does something else on
    purpose, `instead` says what and why, and that is what is checked.
    """

    section: str
    rule: str
    check: Check
    instead: str = ""

    @property
    def verdict(self) -> str:
        return DIFFERS if self.instead else CONFORMS

    @property
    def name(self) -> str:
        return self.check.__name__


class Topic:
    """The clauses about one subject, in the order in which they are written."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.clauses: list[Clause] = []

    def __iter__(self) -> Iterator[Clause]:
        return iter(self.clauses)

    def rule(self, section: str, text: str, *, instead: str = "") -> Callable[[Check], Check]:
        """Note the decorated function as the check of a rule."""

        def decorate(check: Check) -> Check:
            self.clauses.append(Clause(section, text, check, instead))
            return check

        return decorate
