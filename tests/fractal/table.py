"""The whole table: every clause, by subject, and how it is written and judged."""

from __future__ import annotations

from collections.abc import Iterator

from tests.fractal import (
    bindings,
    contents,
    factories,
    introspection,
    lives,
    names,
    templates,
    typing_rules,
)
from tests.fractal.clause import Clause, Topic

TOPICS: tuple[Topic, ...] = (
    introspection.TOPIC,
    typing_rules.TOPIC,
    factories.TOPIC,
    templates.TOPIC,
    bindings.TOPIC,
    contents.TOPIC,
    contents.SHARING,
    contents.PARENTS,
    lives.TOPIC,
    names.NAMES,
    names.ATTRIBUTES,
)


def clauses() -> Iterator[tuple[Topic, Clause]]:
    """Yield every clause with its subject."""
    for topic in TOPICS:
        for clause in topic:
            yield topic, clause


def in_markdown() -> str:
    """Return what stands in `docs/fractal.md`: clauses by subject, and those that differ."""
    lines = ["| subject | clauses | differ |", "|---|---|---|"]
    for topic in TOPICS:
        differing = sum(bool(one.instead) for one in topic)
        lines.append(f"| {topic.title} | {len(topic.clauses)} | {differing} |")
    lines += ["", "| § | the specification | here |", "|---|---|---|"]
    lines += [
        f"| {one.section} | {one.rule} | {one.instead} |" for _, one in clauses() if one.instead
    ]
    return "\n".join(lines) + "\n"
