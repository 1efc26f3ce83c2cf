"""How the values of a descriptor become fields of records with the help of its context.

Each is a `find` of a row: it gets the value, the element, and the `Reading`, reports what cannot
be, and returns what a later check may go on with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gcm.documents import CheckedElement
from runtime.deployment.context import Reading
from runtime.deployment.language.ssh_options import ssh_settings
from runtime.deployment.model import NodeAddress, Position


def here(written: str, _entry: CheckedElement, reading: Reading) -> str:
    """Return the full path of a file of this machine."""
    return reading.path(written)


def existing(what: str) -> Callable[[str, CheckedElement, Reading], str]:
    """Return what gives the full path of a file of this machine, and reports that it is missing."""
    return lambda written, entry, reading: reading.existing(written, what, entry.location)


def clusters(names: Sequence[str], entry: CheckedElement, reading: Reading) -> tuple[Position, ...]:
    """Return the clusters of some paths; all of them where none are written."""
    if not entry.has("clusters"):
        return reading.places.everywhere()
    return reading.places.clusters(names, entry.location, reading)


def cluster(name: str, entry: CheckedElement, reading: Reading) -> Position | None:
    """Return the one cluster of a path; None without one."""
    return reading.places.cluster(name, entry.location, reading) if entry.has("on") else None


def nodes(names: Sequence[str], entry: CheckedElement, reading: Reading) -> tuple[NodeAddress, ...]:
    """Return the nodes of some paths."""
    return reading.places.nodes(names, entry.location, reading)


def settings(words: Sequence[str], entry: CheckedElement, reading: Reading) -> dict[str, str]:
    """Return the values of `name=value` words."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            reading.fault(
                "bad-words",
                f"'{word}' in arguments of <{entry.type.name}> is not name=value",
                entry.location,
            )
        found[name] = value
    return found


def ssh_options(
    options: tuple[str, ...], entry: CheckedElement, reading: Reading
) -> tuple[str, ...]:
    """Return options that are for `ssh`, or none after reporting bad ones.

    The helper processes that something else than `ssh` starts have options of their own.
    """
    if entry.type.attribute("kind") is not None and entry["kind"] != "ssh":
        return options
    try:
        ssh_settings(options, [one.name for one in entry.type.attributes])
    except ValueError as fault:
        written = entry.node.attributes["options"]
        reading.fault(
            "bad-ssh-option",
            f'options="{written}" of <{entry.type.name}> cannot be used: {fault}',
            entry.location,
            hint="what else is needed can be in your own ssh configuration, under that host",
        )
        return ()
    return options
