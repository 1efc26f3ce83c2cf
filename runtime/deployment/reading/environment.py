"""Reads the environment that a descriptor gives to a program."""

from __future__ import annotations

from runtime.deployment.environment import is_name, is_pattern, matching
from runtime.deployment.reading.structure import CheckedElement
from runtime.deployment.surroundings import Reading, distinct


def read_environment(entry: CheckedElement, reading: Reading) -> dict[str, str]:
    """Return the variables of the <environment> elements of an entry.

    Those without a value have the caller's; one written with a value wins over a pattern.
    """
    children = [child for child in entry.each("environment") if child.has("name")]
    named = ((child.text("name"), child.location) for child in children)
    distinct(reading, "environment variable", named)
    found: dict[str, str] = {}
    for child in children:
        if not is_name(child.text("name"), or_pattern=not child.has("value")):
            reading.fault(
                "bad-variable-name",
                f"'{child.text('name')}' is not the name of an environment variable",
                child.location,
                hint="use letters, digits and '_', and '*' only where there is no value",
            )
        elif not child.has("value") and not child.incomplete:
            found |= _callers(child, reading)
    return found | {one.text("name"): one.text("value") for one in children if one.has("value")}


def _callers(entry: CheckedElement, reading: Reading) -> dict[str, str]:
    """Return the caller's values for an <environment> element that has none of its own."""
    name = entry.text("name")
    found = matching(name, reading.surroundings.environment)
    if not found:
        none = f"none is like '{name}'" if is_pattern(name) else f"there is no '{name}'"
        reading.fault(
            "no-such-variable",
            f'<environment name="{name}"/> has no value, and {none} in the environment',
            entry.location,
            hint='set it before the start, or write value="..."; value="" is an empty one',
        )
    return found
