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
    """Return the table as it stands in `docs/fractal.md`."""
    lines = []
    for topic in TOPICS:
        lines += ["", f"### {topic.title}", "", "| § | the specification | here | check |"]
        lines.append("|---|---|---|---|")
        for one in topic:
            here = f"{one.verdict}: {one.instead}" if one.instead else one.verdict
            lines.append(f"| {one.section} | {one.rule} | {here} | `{one.name}` |")
    return "\n".join(lines).strip() + "\n"
