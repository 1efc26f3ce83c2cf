"""`gcm show`: the tree of components of an assembly, for people or for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from gcm.adl import MissingClasses
from gcm.adl.plan import BindingPlan, ComponentPlan, MembranePlan, parts_of_exported
from gcm.adl.writing import text_of
from gcm.cli.load import Settings, load_plan
from gcm.cli.output import Paint, counted, write_json
from gcm.cli.plan_dict import component_as_dict
from gcm.interfaces.types import Cardinality, InterfaceType

_THIS = "this"
Targets = dict[str, list[str]]
"""What each client interface is bound to; by its own name or by that of a collection's member."""


def show(
    file: str,
    settings: Settings,
    roots: Sequence[str],
    style: str,
    missing: MissingClasses | None = None,
) -> int:
    """Write the tree of the assembly of a document; return 1 if the document has faults."""
    plan = load_plan(file, settings, roots, missing)
    if plan is None:
        return 1
    if style == "json":
        write_json(component_as_dict(plan.root))
        return 0
    for line in _Tree(Paint.on(sys.stdout)).lines(plan.root):
        print(line)
    print(counted(plan.count, "component"))
    return 0


class _Tree:
    """Renders a tree with lines of text; colours only where `paint` has some."""

    def __init__(self, paint: Paint) -> None:
        self._paint = paint

    def lines(self, plan: ComponentPlan, bound: Targets | None = None) -> Iterator[str]:
        """Yield the lines of a component, the first one with its name."""
        yield self._head(plan)
        targets = {**(bound or {}), **_targets(plan.bindings, _THIS)}
        branches = [*self._facts(plan, targets)]
        branches += [[self._label("membrane"), *self._inside(plan.membrane)]] * bool(
            plan.membrane.has_assembly
        )
        for child in plan.components:
            branches.append([*self.lines(child, _targets(plan.bindings, child.name))])
        for shared in plan.shared:
            branches.append([f"{self._paint(shared.name, 'bold')}  shared: {shared.target}"])
        yield from _joined(branches)

    def _inside(self, membrane: MembranePlan) -> Iterator[str]:
        exports = _targets(membrane.bindings, _THIS)
        branches = [
            [self._interface(one, exports, ())] for one in membrane.component_type.interfaces
        ]
        for part in membrane.components:
            branches.append([*self.lines(part, _targets(membrane.bindings, part.name))])
        inside = {_THIS, *(part.name for part in membrane.components)}
        for binding in membrane.bindings:
            if binding.client[0] not in inside:  # of a sub-component
                ends = f"{'.'.join(binding.client)} → {'.'.join(binding.server)}"
                branches.append([f"{self._label('binding')} {ends}"])
        yield from _joined(branches)

    def _head(self, plan: ComponentPlan) -> str:
        words = [self._paint(plan.name, "bold"), self._paint(_kind(plan), "faint")]
        if plan.content is not None:
            dotted = f"{plan.content.__module__}.{plan.content.__qualname__}"
            words.append(self._paint(dotted.removeprefix("."), "cyan"))
        if (node := plan.notes.virtual_node) is not None:
            words.append(f"on {node.name} ({node.cardinality})")
        return "  ".join(words)

    def _facts(self, plan: ComponentPlan, targets: Targets) -> Iterator[list[str]]:
        for one in plan.component_type.interfaces:
            interceptors = [
                planned.end or getattr(planned.factory, "__name__", "?")
                for planned in plan.interceptors
                if planned.interface == one.name
            ]
            yield [self._interface(one, targets, interceptors)]
        for name, value in plan.attributes:
            yield [f"{self._label('attribute')} {name} = {_shown(value)}"]
        for node in plan.notes.exported_nodes:
            yield [
                f"{self._label('virtual node')} {node.name} = {', '.join(parts_of_exported(node))}"
            ]
        if plan.notes.logger:
            yield [f"{self._label('logger')} {plan.notes.logger}"]
        for comment in plan.notes.comments:
            yield [f"{self._label('comment')} {comment.text}"]

    def _interface(
        self, declared: InterfaceType, targets: Targets, interceptors: Iterable[str]
    ) -> str:
        notes = []
        if declared.cardinality is not Cardinality.SINGLETON:
            notes.append(declared.cardinality.value)
        if not declared.is_mandatory:
            notes.append("optional")
        notes += [f"intercepted by {one}" for one in interceptors]
        text = f"{self._label(declared.role.value)} {declared.name}: "
        text += declared.signature.__qualname__ + (f" ({', '.join(notes)})" if notes else "")
        found = _bound(declared, targets)
        return f"{text} → {', '.join(found)}" if found else text

    def _label(self, text: str) -> str:
        return self._paint(text, "green")


def _shown(value: object) -> str:
    """Return a value as it is written in a document, or in quotes where that could not be seen."""
    text = text_of(value)
    return text if text.isprintable() and text == text.strip() and text else repr(text)


def _kind(plan: ComponentPlan) -> str:
    description = plan.membrane.description
    return plan.membrane.kind.value if description is None else getattr(description, "name", "")


def _targets(bindings: Iterable[BindingPlan], owner: str) -> Targets:
    found: Targets = {}
    for binding in bindings:
        name, interface = binding.client
        if name == owner:
            server = binding.server
            text = server if isinstance(server, str) else ".".join(server)
            found.setdefault(interface, []).append(text)
    return found


def _bound(declared: InterfaceType, targets: Targets) -> list[str]:
    if not declared.is_collection:
        return targets.get(declared.name, [])
    return [
        f"{member} {target}"
        for member, servers in targets.items()
        if member.startswith(declared.name)
        for target in servers
    ]


def _joined(branches: Sequence[Sequence[str]]) -> Iterator[str]:
    """Put the branches of a tree below each other, with the lines that lead to them."""
    for number, branch in enumerate(branches, 1):
        first, others = ("├─ ", "│  ") if number < len(branches) else ("└─ ", "   ")
        for line_number, line in enumerate(branch):
            yield (others if line_number else first) + line
